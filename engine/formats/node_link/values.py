"""Reads the values of a node-link file, each with a check: names, times, bytes, kinds."""

from typing import TypeAlias

from engine.clusters.device_kinds import KINDS
from engine.costs.costs import ANY_KIND
from engine.errors import CostError, GraphError, shortened
from engine.events import Json
from engine.files.json_text import shown
from engine.graphs.reading_options import MOST_TRIPS

NodeJson: TypeAlias = dict[str, Json]

LONGEST_NAME = 4096
LONGEST_TIME_US = 1e12
MOST_BYTES = 10**15
MOST_LAUNCHES = 10**6
"""bytes of one output or one op"""
MOST_BYTES_IN_ALL = 2**56
"""bytes of a whole graph: sums of copies on 64 devices still fit 64-bit integers"""


def place_of(index: int, name: str) -> str:
    """The place of a fault, for an error: the node's index and name."""
    return f"node {index} ({shortened(name)})"


def wrong(value: Json, where: str, allowed: str) -> GraphError:
    """The error for a value that the format does not allow."""
    return GraphError(shown(value), where=where, allowed=allowed, field="file")


def read_id(value: Json, where: str) -> str:
    """An op's name; an integer, which networkx also writes, becomes its digits. Raises GraphError."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        return str(value)
    if not isinstance(value, str) or not value:
        raise wrong(value, where, "a name or an integer")
    return _clean(value, where)


def optional_text(fields: NodeJson, where: str, key: str) -> str:
    """The text under `key`; empty where there is none. Raises GraphError."""
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong(value, f"{where}, {key}", "a text")
    return _clean(value, f"{where}, {key}")


def _clean(text: str, where: str) -> str:
    """`text`, unless it is too long or cannot be written as one line of UTF-8. Raises GraphError."""
    if len(text) > LONGEST_NAME:
        raise GraphError(f"{len(text)} characters", where=where, allowed=f"at most {LONGEST_NAME}", field="file")
    if any(character < " " or character == "\x7f" or "\ud800" <= character <= "\udfff" for character in text):
        raise wrong(text, where, "a text without control characters and half characters")
    return text


def read_times_us(node: NodeJson, where: str) -> dict[str, float]:
    """Kind → time; a bare number is the time on every kind. Raises CostError."""
    value = node.get("time_us")
    where = f"{where}, time_us"
    if not isinstance(value, dict):
        return {ANY_KIND: _time_us(value, where)}
    if not value:
        raise CostError("no time on any kind", where=where, allowed="a number or {kind: number}", field="file")
    return {_kind(kind, where): _time_us(time_us, f"{where}, {shortened(kind)}") for kind, time_us in value.items()}


def _time_us(value: Json, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_TIME_US:
        raise CostError(shown(value), where=where, allowed=f"a number from 0 to {LONGEST_TIME_US:g}", field="file")
    return float(value)


def read_kinds(node: NodeJson, where: str) -> list[str]:
    """The kinds on which the op can run; empty where the file leaves them open. Raises GraphError, CostError."""
    value = node.get("devices")
    where = f"{where}, devices"
    if value is None:
        return []
    if not isinstance(value, list) or not value:
        raise wrong(value, where, "a list of device kinds")
    kinds = [_kind(kind, where) for kind in value]
    return [] if ANY_KIND in kinds else kinds


def _kind(value: Json, where: str) -> str:
    if value == ANY_KIND:
        return ANY_KIND
    if not isinstance(value, str) or value not in KINDS:
        raise CostError(f"{shown(value)} is not a device kind", where=where, allowed=", ".join(KINDS), field="file")
    return value


def read_output_bytes(node: NodeJson, where: str) -> list[int]:
    """The bytes of each output. Raises CostError."""
    value = node.get("output_bytes")
    where = f"{where}, output_bytes"
    if not isinstance(value, list):
        raise CostError(shown(value), where=where, allowed="a list of integers, one an output", field="file")
    return [read_bytes(size, f"{where}[{output}]") for output, size in enumerate(value)]


def read_bytes(value: Json, where: str) -> int:
    """An integer from 0, also in the form 1e6 or 5.0. Raises CostError."""
    return read_integer(value, where, MOST_BYTES)


def read_trips(value: Json, where: str) -> int:
    """The executions of an op in a step, 0 in a branch not taken, also in the form 4e1 or 5.0. Raises CostError."""
    return read_integer(value, where, MOST_TRIPS)


def read_launches(value: Json, where: str) -> int:
    """The kernels that one execution of an op launches, 0 where another op launches them. Raises CostError."""
    return read_integer(value, where, MOST_LAUNCHES)


def read_integer(value: Json, where: str, most: int) -> int:
    """An integer from 0 to `most`, also in the form 1e6 or 5.0. Raises CostError."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most:
        number = int(value)
        if number == value:
            return number
    raise CostError(shown(value), where=where, allowed=f"an integer from 0 to {most}", field="file")
