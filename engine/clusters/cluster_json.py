"""Reads and writes cluster JSON: `{"devices": [...], "kinds": {...}, "links": {...}, "op_rest_us", "memory_model"}`."""

import re
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.clusters.calibration import calibration_of_json, calibration_to_json
from engine.clusters.cluster import (
    LARGEST_BANDWIDTH_BYTES_PER_US,
    LARGEST_PRICE,
    LONGEST_US,
    MOST_DEVICES,
    MOST_MEMORY_BYTES,
    SMALLEST_BANDWIDTH_BYTES_PER_US,
    Cluster,
    Contention,
    Device,
    MemoryModel,
)
from engine.clusters.device_kinds import DeviceKind, canonical_kind, class_of_kind, default_memory_bytes
from engine.clusters.json_fields import number_of, object_of, text_of
from engine.clusters.own_kinds import own_kinds_of_json, own_kinds_to_json, require_used
from engine.clusters.usual_links import common_op_rest_us, usual_link_rest_us, usual_links, usual_op_rests_us
from engine.errors import ClusterError, shortened
from engine.events import Json
from engine.files.json_text import shown

_NUMBER = "(?:0|[1-9][0-9]{0,8})"
_DEVICE_NAME = re.compile(
    rf"(?P<machine>(?:/job:[A-Za-z][A-Za-z0-9_]{{0,99}}(?:/replica:{_NUMBER})?/task:{_NUMBER})?)"
    rf"/(?:device:)?(?P<class>GPU|CPU):(?P<number>{_NUMBER})"
)
_BANDWIDTHS = (SMALLEST_BANDWIDTH_BYTES_PER_US, LARGEST_BANDWIDTH_BYTES_PER_US)
MACHINE_BEFORE = "perhaps with a machine before it, such as /job:worker/task:0"
TIMES = (0.0, LONGEST_US)

Choice = TypeVar("Choice", bound=StrEnum)


def cluster_of_json(value: Json) -> Cluster:
    """The cluster that parsed JSON describes; links and rests that it leaves out are the usual ones of its devices.

    Raises ClusterError.
    """
    fields = object_of(value, "cluster", ("devices", "kinds", "links", "op_rest_us", "memory_model", "calibration"))
    own_kinds = own_kinds_of_json(fields.get("kinds", {}))
    devices = _devices(fields.get("devices"), own_kinds)
    require_used(own_kinds, {device.kind for device in devices})
    links = object_of(
        fields.get("links", {}), "links", ("contention", "bandwidth_bytes_per_us", "latency_us", "rest_us", "pairs")
    )
    bandwidths, latencies_us = usual_links(devices)
    if "bandwidth_bytes_per_us" in links:
        bandwidths[:] = number_of(links, "links", "bandwidth_bytes_per_us", _BANDWIDTHS, 0.0)
    if "latency_us" in links:
        latencies_us[:] = number_of(links, "links", "latency_us", TIMES, 0.0)
    _set_pairs(links.get("pairs", []), devices, bandwidths, latencies_us)
    op_rest_us, op_rest_of_kind = common_op_rest_us(_op_rests_us(fields, devices))
    return Cluster(
        devices=devices,
        contention=_choice(links, "links", "contention", Contention.BUS),
        bandwidth_bytes_per_us=bandwidths,
        latency_us=latencies_us,
        link_rest_us=number_of(links, "links", "rest_us", TIMES, usual_link_rest_us(devices)),
        op_rest_us=op_rest_us,
        op_rest_of_kind=op_rest_of_kind,
        memory_model=_choice(fields, "cluster", "memory_model", MemoryModel.FULL),
        calibration=calibration_of_json(fields["calibration"]) if "calibration" in fields else None,
    )


def cluster_to_json(cluster: Cluster) -> dict[str, Json]:
    """The inverse of `cluster_of_json`: the most frequent link is the default, the others are `pairs`."""
    count = cluster.device_count
    pairs = [(source, target) for source in range(count) for target in range(count) if source != target]
    links = [
        (float(cluster.bandwidth_bytes_per_us[pair]), float(cluster.latency_us[pair]))
        for pair in pairs or [(0, 0)]  # one device has no links but keeps its figures
    ]
    frequency = Counter(links)
    rule = min(frequency, key=lambda link: (-frequency[link], link))
    names = [device.name for device in cluster.devices]
    exceptions: list[Json] = [
        {
            "source": names[source],
            "target": names[target],
            "bandwidth_bytes_per_us": link[0],
            "latency_us": link[1],
        }
        for (source, target), link in zip(pairs, links, strict=False)
        if link != rule
    ]
    own_kinds = own_kinds_to_json([device.own for device in cluster.one_of_each_kind if device.own is not None])
    return {
        "devices": [_device_to_json(device) for device in cluster.devices],
        **own_kinds,
        "links": {
            "contention": cluster.contention.value,
            "bandwidth_bytes_per_us": rule[0],
            "latency_us": rule[1],
            "rest_us": cluster.link_rest_us,
            "pairs": exceptions,
        },
        "op_rest_us": _op_rests_to_json(cluster),
        "memory_model": cluster.memory_model.value,
        **({"calibration": calibration_to_json(cluster.calibration)} if cluster.calibration else {}),
    }


def _device_to_json(device: Device) -> dict[str, Json]:
    reserved: dict[str, Json] = {"reserved_bytes": device.reserved_bytes} if device.reserved_bytes else {}
    price: dict[str, Json] = {} if device.price_per_hour is None else {"price_per_hour": device.price_per_hour}
    return {"name": device.name, "kind": device.kind, "memory_bytes": device.memory_bytes, **reserved, **price}


def _devices(value: Json, own_kinds: Mapping[str, DeviceKind]) -> tuple[Device, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_DEVICES:
        what = f"{len(value)} devices" if isinstance(value, list) else shown(value)
        allowed = f"a list of 1 to {MOST_DEVICES} devices"
        raise ClusterError(what, where="devices", allowed=allowed, field="cluster")
    return tuple(_device(item, f"devices[{index}]", own_kinds) for index, item in enumerate(value))


def _device(value: Json, where: str, own_kinds: Mapping[str, DeviceKind]) -> Device:
    fields = object_of(value, where, ("name", "kind", "memory_bytes", "reserved_bytes", "price_per_hour"))
    written = text_of(fields, where, "kind")
    own = own_kinds.get(written.lower())
    kind = own.name if own else canonical_kind(written)
    name = text_of(fields, where, "name")
    match = _DEVICE_NAME.fullmatch(name)
    device_class = own.device_class if own else class_of_kind(kind)
    if match is None or match["class"] != device_class:
        allowed = f"/device:{device_class}:0, /device:{device_class}:1, ... for the kind {kind}, {MACHINE_BEFORE}"
        raise ClusterError(shortened(name), where=f"{where}.name", allowed=allowed, field="cluster")
    default = own.memory_bytes if own else default_memory_bytes(kind)
    memory_bytes = _bytes(fields, where, "memory_bytes", 1, default)
    reserved_bytes = _bytes(fields, where, "reserved_bytes", 0, 0)
    price = (
        number_of(fields, where, "price_per_hour", (0.0, LARGEST_PRICE), 0.0) if "price_per_hour" in fields else None
    )
    return Device(_one_spelling(match), kind, memory_bytes, own, reserved_bytes, price)


def _bytes(fields: dict[str, Json], where: str, key: str, least: int, default: int) -> int:
    number = number_of(fields, where, key, (least, MOST_MEMORY_BYTES), default)
    if number != int(number):
        allowed = f"an integer from {least} to {MOST_MEMORY_BYTES}"
        raise ClusterError(f"{number}", where=f"{where}.{key}", allowed=allowed, field="cluster")
    return int(number)


def _one_spelling(match: re.Match[str]) -> str:
    """TensorFlow's short form /GPU:0 is the same device; one spelling keeps names unique and comparable."""
    return f"{match['machine']}/device:{match['class']}:{match['number']}"


def _op_rests_us(fields: dict[str, Json], devices: tuple[Device, ...]) -> dict[str, float]:
    """Kind → rest after an op: of one number for all, of an object with some kinds, else the kinds' own.

    Raises ClusterError.
    """
    usual = usual_op_rests_us(devices)
    if not isinstance(fields.get("op_rest_us", {}), dict):
        return dict.fromkeys(usual, number_of(fields, "cluster", "op_rest_us", TIMES, 0.0))
    given = object_of(fields.get("op_rest_us", {}), "cluster.op_rest_us", sorted(usual))
    return {kind: number_of(given, "cluster.op_rest_us", kind, TIMES, rest_us) for kind, rest_us in usual.items()}


def _op_rests_to_json(cluster: Cluster) -> Json:
    """One number, if all kinds have the same rest; else an object with each kind's."""
    if not cluster.op_rest_of_kind:
        return cluster.op_rest_us
    return {device.kind: cluster.op_rest_us_on(device.kind) for device in cluster.one_of_each_kind}


def _set_pairs(
    value: Json,
    devices: tuple[Device, ...],
    bandwidths: NDArray[np.float64],
    latencies_us: NDArray[np.float64],
) -> None:
    """Write the links in `pairs` into the two matrices [devices, devices]. Raises ClusterError."""
    if not isinstance(value, list):
        raise ClusterError(shown(value), where="links.pairs", allowed="a list of pairs", field="cluster")
    index_of = {device.name: index for index, device in enumerate(devices)}
    seen: set[tuple[int, int]] = set()
    for position, item in enumerate(value):
        where = f"links.pairs[{position}]"
        fields = object_of(item, where, ("source", "target", "bandwidth_bytes_per_us", "latency_us"))
        pair = (_end(fields, where, "source", index_of), _end(fields, where, "target", index_of))
        if pair[0] == pair[1] or pair in seen:
            what = "this pair is there twice" if pair in seen else "a device has no link to itself"
            allowed = "each ordered pair of two devices once"
            raise ClusterError(what, where=where, allowed=allowed, field="cluster")
        seen.add(pair)
        bandwidths[pair] = number_of(fields, where, "bandwidth_bytes_per_us", _BANDWIDTHS, float(bandwidths[pair]))
        latencies_us[pair] = number_of(fields, where, "latency_us", TIMES, float(latencies_us[pair]))


def _end(fields: dict[str, Json], where: str, key: str, index_of: dict[str, int]) -> int:
    name = text_of(fields, where, key)
    match = _DEVICE_NAME.fullmatch(name)
    canonical = _one_spelling(match) if match else ""
    if canonical not in index_of:
        raise ClusterError(
            f"{shortened(name)} is not a device of the cluster",
            where=f"{where}.{key}",
            allowed=", ".join(index_of),
            field="cluster",
        )
    return index_of[canonical]


def _choice(fields: dict[str, Json], where: str, key: str, default: Choice) -> Choice:
    value = fields.get(key, default.value)
    choices = [choice.value for choice in type(default)]
    if value not in choices:
        raise ClusterError(shown(value), where=f"{where}.{key}", allowed=", ".join(choices), field="cluster")
    return type(default)(value)
