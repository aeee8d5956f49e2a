"""Reads what a recording of PyTorch says of the calls of its ops and modules."""

from collections.abc import Sequence
from typing import cast

from engine.costs.pytorch.recorded_calls import RecordedCalls, TensorShapes
from engine.events import Json
from engine.formats.node_link.values import MOST_BYTES, NodeJson, optional_text, place_of, read_id, read_integer, wrong


def read_calls(about: NodeJson, nodes: Sequence[Json], names: Sequence[str]) -> RecordedCalls:
    """The calls; `about` is what the file says of the whole graph. Raises GraphError, CostError."""
    table = [_shapes(entry, number) for number, entry in enumerate(_list(about, "input_shapes"))]
    shapes = tuple(
        _shapes_of_node(cast(NodeJson, node), table, place_of(index, name))
        for index, (node, name) in enumerate(zip(nodes, names, strict=True))
    )
    return RecordedCalls(shapes, _modules(about))


def _list(fields: NodeJson, key: str) -> list[Json]:
    value = fields.get(key, [])
    if not isinstance(value, list):
        raise wrong(value, f"graph, {key}", "a list")
    return value


def _shapes(entry: Json, number: int) -> TensorShapes:
    where = f"graph, input_shapes[{number}]"
    if not isinstance(entry, list) or not all(isinstance(shape, list) for shape in entry):
        raise wrong(entry, where, "a list of shapes")
    return tuple(
        tuple(read_integer(length, where, MOST_BYTES) for length in shape) for shape in cast(list[list[Json]], entry)
    )


def _shapes_of_node(node: NodeJson, table: Sequence[TensorShapes], where: str) -> TensorShapes | None:
    number = node.get("input_shapes")
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(table):
        raise wrong(number, f"{where}, input_shapes", "the number of an entry of input_shapes of graph")
    return table[number]


def _modules(about: NodeJson) -> dict[str, str]:
    modules = about.get("modules", {})
    if not isinstance(modules, dict):
        raise wrong(modules, "graph, modules", "an object with the class of each path")
    return {
        path if not path else read_id(path, "graph, modules"): optional_text(modules, "graph, modules", path)
        for path in modules
    }
