"""Reads what a node of a node-link file says of its work: operations, bytes, data type, phase, and passed-on memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from engine.clusters.device_kinds import DEVICE_CLASSES, FLOAT_TYPES, FloatType
from engine.costs.costs import ANY_KIND
from engine.errors import CostError, GraphError, shortened
from engine.events import Json
from engine.formats.node_link.values import (
    MOST_BYTES,
    NodeJson,
    optional_text,
    read_bytes,
    read_integer,
    read_times_us,
    wrong,
)
from engine.graphs.graph import PHASES

MOST_FLOPS = 10**18
FLOAT_TYPE_OF: Mapping[str, FloatType] = {
    **{str(float_type): float_type for float_type in FloatType},
    "float8": FloatType.FLOAT16,
    "int8": FloatType.FLOAT16,
}
"""`dtype` → the type at whose peak it runs; kinds that are faster with a byte an element have no figures for it yet"""
PERSISTENT: Final = "persistent"
WHOLE_STEP: Final = "step"
Buffer: TypeAlias = Literal["persistent", "step"] | tuple[str, int] | None
"""of an output: its op's persistent memory, memory of its own that is there the whole step, the output of an op that it
passes on, or None: memory of its own"""


@dataclass(frozen=True, slots=True)
class NodeWork:
    """What an op does in one execution."""

    flops: int | None
    """None where nothing is known of them"""
    bytes_accessed: int
    float_type: int
    """an index of `FLOAT_TYPES`"""
    measured_us: Mapping[str, float]
    """device class → a time that the file gives"""


def has_work(node: Json) -> bool:
    """Whether the node says what it does; then its file gives no times by kind."""
    return isinstance(node, dict) and "flops" in node


def read_work(node: NodeJson, where: str) -> NodeWork:
    """The work of a node in a file of ops with work. Raises CostError, GraphError."""
    measured_us = _measured_us(node, where)
    if "flops" not in node and set(measured_us) != set(DEVICE_CLASSES):
        what = "neither flops nor a time on both GPUs and CPUs"
        raise CostError(what, where=where, allowed="flops and bytes_accessed, or time_us", field="file")
    flops = node.get("flops", 0)
    return NodeWork(
        flops=None if flops is None else read_integer(flops, f"{where}, flops", MOST_FLOPS),
        bytes_accessed=read_bytes(node.get("bytes_accessed", 0 if "flops" not in node else None), _accessed(where)),
        float_type=_float_type(node, where),
        measured_us=measured_us,
    )


def _accessed(where: str) -> str:
    return f"{where}, bytes_accessed"


def _measured_us(node: NodeJson, where: str) -> dict[str, float]:
    if "time_us" not in node:
        return {}
    times_us = read_times_us(node, where)
    if not times_us.keys() <= {ANY_KIND, *DEVICE_CLASSES}:
        what = "a time for a kind, in a file whose ops have flops"
        raise CostError(what, where=f"{where}, time_us", allowed="a number, or one for GPU, CPU or both", field="file")
    return {
        each: times_us.get(each, times_us.get(ANY_KIND, 0.0))
        for each in DEVICE_CLASSES
        if each in times_us or ANY_KIND in times_us
    }


def _float_type(node: NodeJson, where: str) -> int:
    name = optional_text(node, where, "dtype") or str(FloatType.FLOAT32)
    if name not in FLOAT_TYPE_OF:
        raise CostError(
            f"{shortened(name)} is no type of arithmetic",
            where=f"{where}, dtype",
            allowed=", ".join(FLOAT_TYPE_OF),
            field="file",
        )
    return FLOAT_TYPES.index(FLOAT_TYPE_OF[name])


def read_phase(node: NodeJson, where: str) -> int:
    """The index of the op's phase in `PHASES`. Raises GraphError."""
    phase = optional_text(node, where, "phase")
    if phase not in PHASES:
        raise wrong(phase, f"{where}, phase", ", ".join(PHASES[1:]))
    return PHASES.index(phase)


def read_parameters(node: NodeJson, where: str) -> int:
    """How many parameters of the model the op holds. Raises CostError."""
    return read_integer(node.get("parameters", 0), f"{where}, parameters", MOST_BYTES)


def read_buffers(node: NodeJson, where: str, outputs: int) -> tuple[Buffer, ...]:
    """One entry an output; empty where each has memory of its own. Raises GraphError."""
    value = node.get("buffers")
    if value is None:
        return ()
    where = f"{where}, buffers"
    if not isinstance(value, list) or len(value) != outputs:
        raise wrong(value, where, f"a list of {outputs}, one an output")
    found = tuple(_buffer(entry, f"{where}[{output}]") for output, entry in enumerate(value))
    return found if any(found) else ()


def _buffer(value: Json, where: str) -> Buffer:
    if value is None or value in (PERSISTENT, WHOLE_STEP):
        return cast(Buffer, value)
    is_pair = isinstance(value, list) and len(value) == len(("id", "output"))
    if not is_pair or not isinstance(cast(list[Json], value)[0], str | int):
        raise wrong(value, where, 'null, "persistent", "step" or [id, output]')
    source, output = cast(list[Json], value)
    if isinstance(output, bool) or not isinstance(output, int) or output < 0:
        raise GraphError("no such output", where=where, allowed="[id, output] of an input of the op", field="file")
    return str(source), output
