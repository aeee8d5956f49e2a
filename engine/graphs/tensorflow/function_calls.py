"""Finds the ops of a GraphDef that call functions which can be inlined, and checks the size after inlining.

Runs in the child, before TensorFlow gets the graph: its inliner has no limits.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from engine.errors import GraphError, LimitError, shortened
from engine.graphs.tensorflow.compiled_calls import is_compiled_as_one
from engine.graphs.tensorflow.graphdef_messages import GraphMessages, place_of
from engine.graphs.tensorflow.messages import Message, load_messages
from engine.graphs.tensorflow.op_table import registered_ops
from engine.graphs.tensorflow.op_types import INVALID, REFS_FROM, RUN_FUNCTIONS
from engine.graphs.tensorflow.pruning import functions_of
from engine.graphs.tensorflow.text_messages import MOST_OPS

CYCLE_SHOWN = 5
_SIDES = ("then_branch", "else_branch")
FUNCTIONS_OF = {
    "While": ("cond", "body"),
    "StatelessWhile": ("cond", "body"),
    "If": _SIDES,
    "StatelessIf": _SIDES,
}
"""type of a loop or condition → its attributes that name functions"""
PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
"""types of ops for which the inliner makes a tensor"""


def is_call(node: Message, functions: Mapping[str, Message]) -> bool:
    """Whether TensorFlow's inliner replaces `node` by its function's ops."""
    if node.op not in RUN_FUNCTIONS and node.op not in functions:
        return False
    return bool(functions_of(node, functions)) and not is_compiled_as_one(node)


def calls_of(messages: GraphMessages) -> list[Message]:
    """The ops of the graph whose functions can be inlined."""
    functions = _functions(messages)
    return [node for node in messages.nodes if is_call(node, functions)]


def require_callable(messages: GraphMessages) -> None:
    """Check that TensorFlow can inline the graph's functions. Raises GraphError, LimitError.

    Each function must exist once and not call itself, all op types must be TensorFlow's own, and the inlined graph must
    have at most `MOST_OPS` ops.
    """
    functions = _functions(messages)
    if len(functions) < len(messages.rest.library.function):
        counted = Counter(function.signature.name for function in messages.rest.library.function)
        twice = next(name for name, count in counted.items() if count > 1)
        raise GraphError("two functions have this name", where=shortened(twice), allowed="unique names", field="file")
    for index, node in enumerate(messages.nodes):
        missing = _missing(node, functions)
        if missing is not None:
            what = f"it calls {shortened(missing)}, which is not in the function library"
            raise GraphError(what, where=place_of(node, index), allowed="a function of the library", field="file")
    _require_known_types(messages, functions)
    _require_typed_inputs(messages)
    sizes = _sizes(functions)
    _require_whole_control_flow(messages, functions)
    ops = sum(_size(node, functions, sizes) for node in messages.nodes)
    if ops > MOST_OPS:
        what = f"with its functions inlined the graph has {ops} ops"
        raise LimitError(what, allowed=f"at most {MOST_OPS} ops", field="file")


def _require_known_types(messages: GraphMessages, functions: Mapping[str, Message]) -> None:
    """Raise GraphError for an op type that TensorFlow does not know: it inlines no graph with such an op."""
    known = registered_ops().keys() | functions.keys()
    for place, body in _bodies(messages, functions):
        for index, node in enumerate(body):
            if node.op not in known:
                what = f"its type {shortened(node.op)} is not TensorFlow's own, so functions cannot be inlined"
                where = place_of(node, index) + place
                raise GraphError(what, where=where, allowed="ops that TensorFlow knows, or no functions", field="file")


def _require_whole_control_flow(messages: GraphMessages, functions: Mapping[str, Message]) -> None:
    """Raise GraphError for a loop or condition that lacks a function: TensorFlow's inliner ends its process there."""
    for place, body in _bodies(messages, functions):
        for index, node in enumerate(body):
            for key in FUNCTIONS_OF.get(node.op, ()):
                if key not in node.attr or not node.attr[key].func.name:
                    what = f"its attribute {key} names no function"
                    where = place_of(node, index) + place
                    raise GraphError(what, where=where, allowed="a function of the library", field="file")


def _bodies(messages: GraphMessages, functions: Mapping[str, Message]) -> list[tuple[str, Sequence[Message]]]:
    """(place for an error, nodes) of the graph and of each function."""
    of_functions = [(f" of function {shortened(name)}", of.node_def) for name, of in functions.items()]
    return [("", messages.nodes), *of_functions]


def _require_typed_inputs(messages: GraphMessages) -> None:
    """Raise GraphError for an input of a type that does not exist: TensorFlow's inliner ends its process there."""
    types = load_messages("tensorflow.core.framework.types_pb2").DataType.values()
    for index, node in enumerate(messages.nodes):
        if node.op in PLACEHOLDERS and "dtype" in node.attr:
            number = node.attr["dtype"].type
            if number not in types or not INVALID < number < REFS_FROM:
                allowed = "the number of a type of TensorFlow's"
                raise GraphError(f"its dtype is {number}", where=place_of(node, index), allowed=allowed, field="file")


def _functions(messages: GraphMessages) -> dict[str, Message]:
    return {function.signature.name: function for function in messages.rest.library.function}


def _missing(node: Message, functions: Mapping[str, Message]) -> str | None:
    """The name of a function that the node calls and the library lacks; else None."""
    if node.op not in RUN_FUNCTIONS:
        return None
    for value in node.attr.values():
        for named in [value.func] if value.HasField("func") else value.list.func:
            if named.name not in functions:
                return str(named.name)
    return None


def _size(node: Message, functions: Mapping[str, Message], sizes: Mapping[str, int]) -> int:
    """The approximate number of ops of the node after inlining."""
    if not is_call(node, functions):
        return 1
    return 1 + sum(sizes[name] for name in functions_of(node, functions))


def _sizes(functions: Mapping[str, Message]) -> dict[str, int]:
    """Function → number of its ops after inlining, maybe huge. Raises GraphError for a function that calls itself."""
    inner = {
        name: sorted({called for node in function.node_def for called in functions_of(node, functions)})
        for name, function in functions.items()
    }
    sizes: dict[str, int] = {}
    for start in inner:
        path = [start]
        while path:
            name = path[-1]
            waiting = next((each for each in inner[name] if each not in sizes), None)
            if name in sizes or waiting is None:
                sizes[path.pop()] = sum(_size(node, functions, sizes) for node in functions[name].node_def)
            elif waiting in path:
                raise _calls_itself(path[path.index(waiting) :])
            else:
                path.append(waiting)
    return sizes


def _calls_itself(cycle: Sequence[str]) -> GraphError:
    shown = [shortened(name) for name in cycle[:CYCLE_SHOWN]] + ["…"] * (len(cycle) > CYCLE_SHOWN)
    what = f"a function calls itself: {' → '.join([*shown, shortened(cycle[0])])}"
    return GraphError(what, where=shortened(cycle[0]), allowed="functions without recursion", field="file")
