"""Reduces a GraphDef to the ops that some ops need, and its library to the called functions. Runs in the child."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from engine.errors import GraphError, shortened
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.graphdef_nodes import COLOCATION_PREFIX
from engine.graphs.tensorflow.messages import Message


def pruned(messages: GraphMessages, fetches: Sequence[str]) -> GraphMessages:
    """The ops that `fetches` need, in the order of the file, and the functions that these ops call.

    Ops co-located with a removed op still stay together. Raises GraphError for a missing fetch; the reader refuses a
    missing input.
    """
    node_of_name = {node.name: node for node in messages.nodes}
    for name in fetches:
        if name not in node_of_name:
            what = f"the step fetches {shortened(name)}, which is not in the graph"
            raise GraphError(what, allowed="the name of an op", field="file")
    needed: set[str] = set()
    waiting = list(fetches)
    while waiting:
        name = waiting.pop()
        if name in needed or name not in node_of_name:
            continue
        needed.add(name)
        waiting += (text.lstrip("^").partition(":")[0] for text in node_of_name[name].input)
    nodes = [node for node in messages.nodes if node.name in needed]
    keep_together(nodes, node_of_name.keys() - needed)
    return replace(messages, nodes=nodes, rest=with_called_functions(nodes, messages.rest))


def keep_together(nodes: Iterable[Message], gone: set[str]) -> None:
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
