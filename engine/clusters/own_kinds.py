"""The kinds that a cluster describes itself: `"kinds": {NAME: {"class", "peak_gflops", ...}}` in its JSON."""

import re
from collections.abc import Collection, Mapping, Sequence

from engine.clusters.cluster import LONGEST_US, MOST_DEVICES, MOST_MEMORY_BYTES
from engine.clusters.device_kinds import DEVICE_CLASSES, KINDS, OP_REST_US, DeviceKind, FloatType
from engine.clusters.json_fields import number_of, object_of, text_of
from engine.clusters.shares import Efficiency
from engine.errors import ClusterError, shortened
from engine.events import Json
from engine.files.json_text import shown

FIELDS = ("class", "peak_gflops", "memory_bandwidth_bytes_per_us", "memory_bytes", "efficiency", "op_rest_us")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,39}")
_NAMED = "letters, digits and -, at most 40, a letter first; no name of a known kind; each once, in any case"
_PEAKS = (1e-3, 1e12)
"""from a million operations a second"""
_BANDWIDTHS = (1e-3, 1e12)
_EFFICIENCIES = (1e-6, 1.0)
EFFICIENCIES_OF_TYPES = (1e-6, 100.0)
"""of single op types"""
ANY_TYPE = "*"
"""in an object of efficiencies: op types that it leaves out"""
MOST_OP_TYPES = 500
_OP_TYPE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_TAKEN = frozenset(kind.lower() for kind in KINDS)


def own_kinds_of_json(value: Json) -> dict[str, DeviceKind]:
    """Name in small letters → kind. Raises ClusterError."""
    if not isinstance(value, dict) or len(value) > MOST_DEVICES:
        what = f"{len(value)} kinds" if isinstance(value, dict) else shown(value)
        allowed = f"an object with at most {MOST_DEVICES} kinds"
        raise ClusterError(what, where="kinds", allowed=allowed, field="cluster")
    kinds: dict[str, DeviceKind] = {}
    for name, item in value.items():
        key = name.lower()
        if not _NAME.fullmatch(name) or key in _TAKEN or key in kinds:
            raise ClusterError(
                "this is no name for a kind", where=f"kinds.{shortened(name)}", allowed=_NAMED, field="cluster"
            )
        kinds[key] = _kind(name, item)
    return kinds


def require_used(kinds: Mapping[str, DeviceKind], used: Collection[str]) -> None:
    """Raise ClusterError for a kind of which the cluster has no device."""
    for kind in kinds.values():
        if kind.name not in used:
            allowed = "kinds of the cluster's devices"
            raise ClusterError(
                "no device is of this kind", where=f"kinds.{kind.name}", allowed=allowed, field="cluster"
            )


def own_kinds_to_json(kinds: Sequence[DeviceKind]) -> dict[str, Json]:
    """`{"kinds": ...}`, the inverse of `own_kinds_of_json`; nothing without kinds."""
    rows: dict[str, Json] = {kind.name: _row(kind) for kind in kinds}
    return {"kinds": rows} if rows else {}


def _row(kind: DeviceKind) -> Json:
    others = {str(float_type): peak for float_type, peak in kind.peak_gflops_by_type.items()}
    peaks: Json = {str(FloatType.FLOAT32): kind.peak_gflops, **others} if others else kind.peak_gflops
    of_types = {op_type: _efficiency_to_json(each) for op_type, each in kind.efficiency_by_op_type.items()}
    return {
        "class": kind.device_class,
        "peak_gflops": peaks,
        "memory_bandwidth_bytes_per_us": kind.memory_bandwidth_bytes_per_us,
        "memory_bytes": kind.memory_bytes,
        "efficiency": {ANY_TYPE: kind.efficiency, **of_types} if of_types else kind.efficiency,
        "op_rest_us": kind.op_rest_us,
    }


def _kind(name: str, value: Json) -> DeviceKind:
    where = f"kinds.{name}"
    fields = object_of(value, where, FIELDS)
    device_class = text_of(fields, where, "class")
    if device_class not in DEVICE_CLASSES:
        allowed = ", ".join(DEVICE_CLASSES)
        raise ClusterError(shortened(device_class), where=f"{where}.class", allowed=allowed, field="cluster")
    peaks = _peaks(fields, where)
    efficiency, of_types = _efficiencies(fields, where)
    memory_bytes = _required(fields, where, "memory_bytes", (1, MOST_MEMORY_BYTES))
    if memory_bytes != int(memory_bytes):
        raise ClusterError(f"{memory_bytes}", where=f"{where}.memory_bytes", allowed="an integer", field="cluster")
    return DeviceKind(
        name=name,
        device_class=device_class,
        memory_bytes=int(memory_bytes),
        peak_gflops=peaks.pop(FloatType.FLOAT32),
        memory_bandwidth_bytes_per_us=_required(fields, where, "memory_bandwidth_bytes_per_us", _BANDWIDTHS),
        source="described in the cluster",
        peak_gflops_by_type=peaks,
        efficiency=efficiency,
        efficiency_by_op_type=of_types,
        op_rest_us=number_of(fields, where, "op_rest_us", (0.0, LONGEST_US), OP_REST_US),
    )


def _peaks(fields: dict[str, Json], where: str) -> dict[FloatType, float]:
    """Peaks by type, of float32 always: of one number for all types, or an object with some. Raises ClusterError."""
    if not isinstance(fields.get("peak_gflops"), dict):
        return {FloatType.FLOAT32: _required(fields, where, "peak_gflops", _PEAKS)}
    where = f"{where}.peak_gflops"
    given = object_of(fields["peak_gflops"], where, tuple(FloatType))
    peaks = {FloatType.FLOAT32: _required(given, where, FloatType.FLOAT32, _PEAKS)}
    return peaks | {FloatType(name): _required(given, where, name, _PEAKS) for name in given}


def _efficiency_to_json(efficiency: Efficiency) -> Json:
    if efficiency.peak == efficiency.bandwidth:
        return efficiency.peak
    return {"peak": efficiency.peak, "bandwidth": efficiency.bandwidth}


def _efficiencies(fields: dict[str, Json], where: str) -> tuple[float, dict[str, Efficiency]]:
    """The efficiency of ops, and that of some types: one number for all, or an object. Raises ClusterError."""
    given = fields.get("efficiency")
    if not isinstance(given, dict):
        return number_of(fields, where, "efficiency", _EFFICIENCIES, 1.0), {}
    where = f"{where}.efficiency"
    if len(given) > MOST_OP_TYPES:
        allowed = f"an object with at most {MOST_OP_TYPES} op types"
        raise ClusterError(f"{len(given)} op types", where=where, allowed=allowed, field="cluster")
    of_types = {}
    for name in given:
        if name != ANY_TYPE:
            if not _OP_TYPE.fullmatch(name):
                what, allowed = f"the key {shortened(name)} is no op type", f"{ANY_TYPE}, or types such as MatMul"
                raise ClusterError(what, where=where, allowed=allowed, field="cluster")
            of_types[name] = _efficiency(given, where, name)
    return number_of(given, where, ANY_TYPE, _EFFICIENCIES, 1.0), of_types


def _efficiency(given: dict[str, Json], where: str, op_type: str) -> Efficiency:
    """The efficiency of `op_type`: one number for both shares, or an object with each. Raises ClusterError."""
    if not isinstance(given[op_type], dict):
        return Efficiency.of_both(number_of(given, where, op_type, EFFICIENCIES_OF_TYPES, 1.0))
    where = f"{where}.{op_type}"
    shares = object_of(given[op_type], where, Efficiency._fields)
    return Efficiency(*(_required(shares, where, share, EFFICIENCIES_OF_TYPES) for share in Efficiency._fields))


def _required(fields: dict[str, Json], where: str, key: str, bounds: tuple[float, float]) -> float:
    """The number under `key`. Raises ClusterError where it is missing."""
    return number_of({key: fields.get(key)}, where, key, bounds, 0.0)
