"""Reduces a GraphDef to the ops that some ops need, and its library to the called functions. Runs in the child."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from engine.errors import GraphError, shortened
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.graphdef_nodes import COLOCATION_PREFIX
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message


def pruned(messages: GraphMessages, fetches: Sequence[str]) -> GraphMessages:
    """The ops that `fetches` need, in the order of the file, and the functions that these ops call.

    Ops co-located with a removed op still stay together. Raises GraphError for a missing fetch; the reader refuses a
    missing input.
    """
    require_fetched(messages, fetches)
    node_of_name = {node.name: node for node in messages.nodes}
    needed: set[str] = set()
    waiting = list(fetches)
    while waiting:
        name = waiting.pop()
        if name in needed or name not in node_of_name:
            continue
        needed.add(name)
        waiting += (producer_of(text) for text in node_of_name[name].input)
    return reduced(messages, needed)


def require_fetched(messages: GraphMessages, fetches: Sequence[str]) -> None:
    """Raise GraphError for a fetch of the file's own that is not in the graph."""
    names = {node.name for node in messages.nodes}
    for name in fetches:
        if name not in names:
            what = f"the step fetches {shortened(name)}, which is not in the graph"
            raise GraphError(what, allowed="the name of an op", field="file")


def reduced(messages: GraphMessages, needed: Set[str]) -> GraphMessages:
    """The ops of these names, in the order of the file, and the functions that they call; `messages` stay as they are.

    Ops co-located with a removed op still stay together.
    """
    gone = {node.name for node in messages.nodes} - needed
    nodes = [_own_if_tied(node, gone) for node in messages.nodes if node.name in needed]
    keep_together(nodes, gone)
    return replace(messages, nodes=nodes, rest=with_called_functions(nodes, messages.rest))


def _own_if_tied(node: Message, gone: Set[str]) -> Message:
    """The node; a copy if it is co-located with an op in `gone`."""
    labels = node.attr["_class"].list.s if "_class" in node.attr else ()
    if not any(label.removeprefix(COLOCATION_PREFIX).decode("utf-8", "replace") in gone for label in labels):
        return node
    copy = type(node)()
    copy.CopyFrom(node)
    return copy


def keep_together(nodes: Iterable[Message], gone: Set[str]) -> None:
    """Co-locate the ops that were co-located with an op in `gone` with the first of them instead."""
    first: dict[bytes, bytes] = {}
    absent = {COLOCATION_PREFIX + name.encode() for name in gone}
    for node in nodes:
        if "_class" not in node.attr or absent.isdisjoint(node.attr["_class"].list.s):
            continue
        itself = COLOCATION_PREFIX + node.name.encode()
        labels = [first.setdefault(label, itself) if label in absent else label for label in node.attr["_class"].list.s]
        del node.attr["_class"].list.s[:]
        node.attr["_class"].list.s.extend(dict.fromkeys(label for label in labels if label != itself))
        if not node.attr["_class"].list.s:
            del node.attr["_class"]


def with_called_functions(nodes: Iterable[Message], rest: Message) -> Message:
    """`rest` of a GraphDef with only the functions that `nodes` or their functions call."""
    functions = {function.signature.name: function for function in rest.library.function}
    gradients = {gradient.function_name: gradient.gradient_func for gradient in rest.library.gradient}
    called: set[str] = set()
    waiting = [name for node in nodes for name in functions_of(node, functions)]
    while waiting:
        name = waiting.pop()
        if name in called:
            continue
        called.add(name)
        waiting += (inner for node in functions[name].node_def for inner in functions_of(node, functions))
        if gradients.get(name) in functions:
            waiting.append(gradients[name])
    kept = type(rest)(versions=rest.versions, version=rest.version)
    kept.library.function.extend(each for each in rest.library.function if each.signature.name in called)
    kept.library.gradient.extend(each for each in rest.library.gradient if each.function_name in called)
    kept.library.registered_gradients.extend(rest.library.registered_gradients)
    if not called:
        kept.ClearField("library")
    return kept


def functions_of(node: Message, functions: Mapping[str, Message]) -> list[str]:
    """The functions of the library that a node names: as its type, or anywhere in its attributes."""
    found = [node.op] if node.op in functions else []
    waiting = list(node.attr.values())
    while waiting:
        value = waiting.pop()
        for named in [value.func] if value.HasField("func") else value.list.func:
            if named.name in functions:
                found.append(named.name)
            waiting += named.attr.values()
    return found
