"""Replaces the calls of a model's own functions by the nodes in them, as a runtime does when it loads the model."""

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto
from onnx.inliner import inline_local_functions

from engine.errors import GraphError, shortened
from engine.graphs.onnx.model_messages import DEFAULT_DOMAINS
from engine.graphs.tensorflow.text_messages import MOST_OPS

MOST_DEPTH = 64
"""functions that call each other"""
FunctionKey = tuple[str, str, str]


def with_functions_inlined(model: ModelProto) -> ModelProto:
    """`model` itself where it has no functions. Raises GraphError."""
    if not model.functions:
        return model
    _require_bounded(model)
    try:
        return inline_local_functions(model)
    except Exception as fault:  # ONNX's errors have no common type
        what = f"ONNX cannot inline the functions: {shortened(str(fault), 200)}"
        raise GraphError(what, allowed="functions that can be inlined", field="file") from None


def _require_bounded(model: ModelProto) -> None:
    """Raise GraphError for functions that call themselves, or hold too many nodes once inlined."""
    functions = {_key(each): each for each in model.functions}
    if len(functions) != len(model.functions):
        raise GraphError("two functions have this name", where="functions", allowed="unique names", field="file")
    sizes: dict[FunctionKey, int] = {}
    waiting: list[FunctionKey] = []

    def size_of(key: FunctionKey) -> int:
        if key in sizes:
            return sizes[key]
        if key in waiting or len(waiting) >= MOST_DEPTH:
            what = "a function calls itself" if key in waiting else f"functions call each other {MOST_DEPTH} deep"
            raise GraphError(what, where=shortened(key[1]), allowed="functions without recursion", field="file")
        waiting.append(key)
        sizes[key] = sum(nodes_of(node) for node in functions[key].node)
        waiting.pop()
        return sizes[key]

    def nodes_of(node: NodeProto) -> int:
        inner = sum(nodes_of(each) for graph in _graphs(node) for each in graph.node)
        key = _called(node)
        return inner + (size_of(key) if key in functions else 1)

    if sum(nodes_of(node) for node in model.graph.node) > MOST_OPS:
        raise GraphError(f"more than {MOST_OPS} ops", allowed=f"at most {MOST_OPS} ops", field="file")


def _graphs(node: NodeProto):  # type: ignore[no-untyped-def]
    for each in node.attribute:
        if each.type == AttributeProto.GRAPH:
            yield each.g
        yield from each.graphs


def _domain(name: str) -> str:
    return "" if name in DEFAULT_DOMAINS else name


def _key(function: FunctionProto) -> FunctionKey:
    return _domain(function.domain), function.name, function.overload


def _called(node: NodeProto) -> FunctionKey:
    return _domain(node.domain), node.op_type, node.overload
