"""Selects the ops of a SavedModel that fill a placed graph's variables and tables. Runs in a child.

A SavedModel names two ops beside its signatures: one restores variables from their files, one initialises tables. The
ops behind these two, with functions inlined, that write to a resource of the placed graph are kept, with all ops that
they need. They get names in a separate scope and share the placed graph's handles. An op that fills a resource is on
the resource's device; the others, such as those that read the files, are on the first CPU.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from engine.errors import GraphError, PlacementError, shortened
from engine.formats.saved_model.captured_variables import restoring
from engine.formats.saved_model.restored_tensors import trim_restores
from engine.graphs.colocation import colocation_classes
from engine.graphs.tensorflow.function_calls import calls_of, require_callable
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.inlining import inlined_messages
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.must_colocate import shared_resource
from engine.graphs.tensorflow.op_types import REFS_FROM, RESOURCE
from engine.graphs.tensorflow.pruning import pruned, with_called_functions

HOST = "/device:CPU:0"
"""the device that reads files and gets fed data"""
CPU, GPU = "/device:CPU:", "/device:GPU:"
SCOPE = "filling"
MUST_BE_FILLED = frozenset({"VarHandleOp", "VariableV2", "Variable", "HashTable", "HashTableV2"})
"""types of ops whose resource is empty until it is filled"""
PASSING = frozenset({"Identity", "RefIdentity"})
ALLOWED = "a SavedModel that restores its variables and initialises its tables"
Resource = tuple[object, ...]
"""the key of a resource: its shared name, or the name of its op"""


@dataclass(frozen=True, slots=True)
class Filling:
    """The ops added to a placed graph to fill its resources."""

    nodes: list[Message]
    """NodeDef each, with devices"""
    rest: Message
    """GraphDef with only the functions that `nodes` call"""
    restores: tuple[str, ...]
    """names of the ops that fill resources from the variables' files"""
    initialises: tuple[str, ...]
    """names of the ops that fill resources from other sources"""
    name_of: Mapping[str, str]
    """op of the file → its new name, for the ops in `nodes` and those that they share with the placed graph"""
    scope: str
    """the scope of these ops' names, in which no other op is"""


def filling_of(
    original: GraphMessages, fill_ops: Sequence[str], filename: str, keys: Mapping[str, str], placed: GraphMessages
) -> Filling:
    """Select from `original` the ops behind its `fill_ops` that fill the resources of `placed`, made of `original`.

    The tensor `filename` takes the path of the variables' files. `keys`, handle's op → name in these files, are for
    variables that no `fill_ops` restore. Raises GraphError for a resource that nothing fills, PlacementError for one on
    a device that cannot be filled there.
    """
    part = _part(original, fill_ops)
    _restore_others(part, original, filename, keys, placed)
    in_placed = {node.name: node.op for node in placed.nodes}
    common = {node.name for node in part.nodes if in_placed.get(node.name) == node.op and not _data_inputs(node)}
    scope = free_scope(SCOPE, in_placed)
    writes = _writes(part)
    writers, needed = _needed(part, writes, {_resource(node) for node in placed.nodes})
    _require_filled(placed, {resource for name in writers for resource in writes[name]})
    from_files = _behind(part, producer_of(filename))
    nodes = [node for node in part.nodes if node.name in needed]
    nodes += trim_restores(nodes)
    nodes = [node for node in nodes if node.name not in common]
    name_of = {name: name for name in common} | {node.name: f"{scope}/{node.name}" for node in nodes}
    for node in nodes:
        _rename(node, name_of)
    rest = with_called_functions(nodes, part.rest)
    _put_on_devices(nodes, placed)
    return Filling(
        nodes,
        rest,
        tuple(name_of[name] for name in writers if name in from_files),
        tuple(name_of[name] for name in writers if name not in from_files),
        name_of,
        scope,
    )


def _part(original: GraphMessages, fill_ops: Sequence[str]) -> GraphMessages:
    """The ops that the `fill_ops` need, with functions inlined. Raises GraphError, LimitError."""
    if not fill_ops:
        return GraphMessages([], type(original.rest)(versions=original.rest.versions))
    names = {node.name for node in original.nodes}
    for name in fill_ops:
        if name not in names:
            what = f"its variables or tables are filled by {shortened(name)}, which is not in the graph"
            raise GraphError(what, where="saved_model.pb", allowed=ALLOWED, field="file")
    part = pruned(original, fill_ops)
    if not calls_of(part):
        return part
    require_callable(part)
    return inlined_messages(part, fill_ops)


def _restore_others(
    part: GraphMessages, original: GraphMessages, filename: str, keys: Mapping[str, str], placed: GraphMessages
) -> None:
    """Add to `part` ops that restore, by `keys`, the variables of `placed` that it does not fill."""
    filled = {resource for resources in _writes(part).values() for resource in resources}
    handles = [
        node
        for node in placed.nodes
        if node.op == "VarHandleOp" and node.name in keys and _resource(node) not in filled
    ]
    if handles and filename:
        taken = {producer_of(filename), *(node.name for node in handles)} - {node.name for node in part.nodes}
        part.nodes.extend(node for node in original.nodes if node.name in taken)
        part.nodes.extend(restoring(handles, [keys[node.name] for node in handles], filename))


def free_scope(scope: str, taken: Collection[str]) -> str:
    """The name `scope`, made longer until no op's name in `taken` begins with it."""
    while any(name.startswith(scope) for name in taken):
        scope += "_"
    return scope


def _data_inputs(node: Message) -> list[str]:
    return [text for text in node.input if not text.startswith("^")]


def _resource(node: Message) -> Resource:
    return shared_resource(node) or (node.name,)


def _writes(part: GraphMessages) -> dict[str, set[Resource]]:
    """Op → the resources that it fills; such an op takes their handles, and no op takes data from it."""
    types = NodeTypes(part.nodes, part.rest.library, part.definitions)
    node_of_name = {node.name: node for node in part.nodes}
    read = {producer_of(text) for node in part.nodes for text in _data_inputs(node)}
    found: dict[str, set[Resource]] = {}
    for node, taken in zip(part.nodes, types.inputs, strict=True):
        if node.op in PASSING or node.name in read or taken is None:
            continue
        handles = [
            text
            for text, number in zip(_data_inputs(node), taken, strict=False)
            if number == RESOURCE or number >= REFS_FROM
        ]
        if handles:
            found[node.name] = {_resource(_origin(node_of_name, text)) for text in handles}
    return found


def _origin(node_of_name: Mapping[str, Message], text: str) -> Message:
    """The op that makes the handle at the input `text`."""
    node = node_of_name[producer_of(text)]
    while node.op in PASSING:
        node = node_of_name[producer_of(node.input[0])]
    return node


def _needed(
    part: GraphMessages, writes: Mapping[str, set[Resource]], wanted: set[Resource]
) -> tuple[list[str], set[str]]:
    """The ops that fill the `wanted` resources and those that such ops need; and these ops with all that they need."""
    node_of_name = {node.name: node for node in part.nodes}
    writers: list[str] = []
    needed: set[str] = set()
    while more := [name for name in writes if name not in writers and not writes[name].isdisjoint(wanted)]:
        writers += more
        waiting = list(more)
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                waiting += map(producer_of, node_of_name[name].input)
        wanted = wanted | {_resource(node_of_name[name]) for name in needed}
    return sorted(writers), needed


def _behind(part: GraphMessages, source: str) -> set[str]:
    """The op `source` and all ops that depend on its data."""
    consumers: dict[str, list[str]] = {}
    for node in part.nodes:
        for text in _data_inputs(node):
            consumers.setdefault(producer_of(text), []).append(node.name)
    found: set[str] = set()
    waiting = [source]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += consumers.get(name, ())
    return found


def _require_filled(placed: GraphMessages, filled: set[Resource]) -> None:
    """Raise GraphError for a resource that no op fills."""
    for node in placed.nodes:
        if node.op in MUST_BE_FILLED and _resource(node) not in filled:
            what = f"the SavedModel has no op that fills this {node.op}, so only a placed GraphDef can be written"
            raise GraphError(what, where=shortened(node.name), allowed=ALLOWED, field="file")


def _rename(node: Message, name_of: Mapping[str, str]) -> None:
    """Give the node and its inputs their new names, and remove its device and co-location."""
    node.name = name_of[node.name]
    for position, text in enumerate(node.input):
        name = producer_of(text)
        node.input[position] = text.replace(name, name_of[name], 1)
    node.device = ""
    if "_class" in node.attr:
        del node.attr["_class"]


def _put_on_devices(nodes: Sequence[Message], placed: GraphMessages) -> None:
    """Set the device of each node: that of its co-located placed op, else the first CPU.

    Raises PlacementError for one on a GPU that needs a CPU, unless the placement has no CPU: TensorFlow then runs the
    resource itself with soft placement alone.
    """
    graph = graph_of_messages(GraphMessages([*placed.nodes, *nodes], placed.rest, placed.definitions), "graph")
    classes = colocation_classes(graph).tolist()
    device_of_class = {class_: node.device for class_, node in zip(classes, placed.nodes, strict=False)}
    has_cpu = any(CPU in device for device in device_of_class.values())
    start = len(placed.nodes)
    for node, class_, reason in zip(nodes, classes[start:], graph.cpu_reason[start:], strict=True):
        node.device = device_of_class.get(class_, HOST)
        if reason and has_cpu and GPU in node.device:
            what = f"a resource on {node.device} is filled there by an op of type {node.op}, and {reason}"
            raise PlacementError(what, where=shortened(node.name), allowed="a CPU")
