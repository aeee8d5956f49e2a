"""Finds the ops of a TensorFlow graph that share a device whatever their device strings are. Runs in the child.

- Both ends of a ref or resource edge: TensorFlow's placer moves the consumer, silently: `devices_of_nodes`. The type
  that the consumer takes counts. Dataset ops count too, where a variant passes between them.
- Handles of one resource: two ops that name the same variable, table or queue.
- A Switch and the producer of its data: TensorFlow moves the Switch when it partitions the graph. If the data is fed,
  the Switch goes to the device on which feeds arrive, the first CPU: `cpu_reasons_of_feeds`.
- A while loop's frame: it could run split, with a control loop on each device, but no placement gains by that.
Labels (`loc:@x`) are not repeated here. Sources: tensorflow/core/common_runtime/colocation_graph.cc;
tensorflow/core/graph/graph_partition.cc, OptimizeControlFlowColocation.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.graphs.colocation import DisjointSets
from engine.graphs.device_string import DeviceString, parse_device_string
from engine.graphs.tensorflow.compiled_calls import is_compiled_as_one
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import ENTERS, EXITS, INVALID, REFS_FROM, RESOURCE, VARIANT

FREE_OF_INPUT_COLOCATION = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
"""they pass their resource inputs on to the ops of their functions, which TensorFlow places one by one, unless XLA
compiles the call: then TensorFlow refuses to run it with a variable on another device"""
NO_SHARED_NAME = b"cd2c89b7-88b7-44c8-ad83-06c2a9158347"
"""TensorFlow's name for a resource that is shared with no other node, even one of this name"""
SWITCHES = frozenset({"Switch", "RefSwitch", "_SwitchN"})
SWITCHED_FEED = "TensorFlow moves it to the CPU, where fed data arrives"


def pairs_that_must_colocate(
    nodes: Sequence[Message], types: NodeTypes, index_of_name: Mapping[str, int], order: Sequence[int]
) -> NDArray[np.int32]:
    """[pairs, 2] sorted pairs of ops; `order` is a topological order. The nodes' inputs must have been checked."""
    sources = [[index_of_name[_source(text)] for text in node.input] for node in nodes]
    pairs = {
        *(_pair(*edge) for edge in _ref_and_resource_edges(nodes, types, sources)),
        *_handle_pairs(nodes),
        *_switch_pairs(nodes, sources),
        *_frame_pairs(nodes, sources, order),
    }
    return np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)


def devices_of_nodes(
    nodes: Sequence[Message], types: NodeTypes, index_of_name: Mapping[str, int], order: Sequence[int]
) -> list[str]:
    """[ops] the device that the file fixes for each op and that TensorFlow keeps.

    It is empty for an op that takes a resource of another device, such as a replica's update of a variable that the
    file holds once: TensorFlow runs it with the resource. A resource without a device is on the device of the first op
    that takes it and has one. Arguments as for `pairs_that_must_colocate`. Raises GraphError for a bad device string.
    """
    fixed = [str(node.device) for node in nodes]
    parsed = {text: parse_device_string(text, node.name) for node, text in zip(nodes, fixed, strict=True)}
    if len(parsed) == 1:
        return fixed
    sources = [[index_of_name[_source(text)] for text in node.input] for node in nodes]
    givers: dict[int, list[int]] = {}
    for source, target in _ref_and_resource_edges(nodes, types, sources):
        givers.setdefault(target, []).append(source)
    sets = DisjointSets(len(nodes))
    for one, other in _handle_pairs(nodes):
        sets.unite(one, other)
    home: dict[int, DeviceString] = {}
    """root of a set → its device, once one of its ops was visited; the source of a loop's back edge was not"""
    for op in order:
        around = home.get(sets.find(op), DeviceString())
        for source in givers.get(op, ()):
            if (of_source := home.get(sets.find(source), DeviceString())).agrees_with(around):
                around = around.joined_with(of_source)
                sets.unite(source, op)
        if not around.agrees_with(parsed[fixed[op]]):
            fixed[op] = ""
        home[sets.find(op)] = around.joined_with(parsed.get(fixed[op], DeviceString()))
    return fixed


def _source(text: str) -> str:
    """The op that the input `text` names."""
    return text.lstrip("^").partition(":")[0]


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def _ref_and_resource_edges(
    nodes: Sequence[Message], types: NodeTypes, sources: Sequence[Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """(source, target) of each edge whose consumer takes a ref, a resource or another op's dataset."""
    for target, node in enumerate(nodes):
        if node.op in FREE_OF_INPUT_COLOCATION and not is_compiled_as_one(node):
            continue
        taken = types.inputs[target]
        for position, source in enumerate(sources[target]):
            if node.input[position].startswith("^"):
                break
            number = taken[position] if taken is not None else INVALID
            if number == INVALID:
                number = _given(types.outputs[source], node.input[position])
            passes_dataset = number == VARIANT and "Dataset" in node.op and "Dataset" in nodes[source].op
            if number >= REFS_FROM or number == RESOURCE or passes_dataset:
                yield source, target


def _given(outputs: Sequence[int] | None, text: str) -> int:
    """The type of the output that the input `text` names, `INVALID` where unknown."""
    return INVALID if outputs is None else outputs[int(text.partition(":")[2] or 0)]


def _handle_pairs(nodes: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Each handle of a shared resource with the first one of the same name."""
    first: dict[tuple[str, bytes, bytes], int] = {}
    for index, node in enumerate(nodes):
        resource = shared_resource(node)
        if resource is not None and (known := first.setdefault(resource, index)) != index:
            yield _pair(known, index)


def shared_resource(node: Message) -> tuple[str, bytes, bytes] | None:
    """Type, container and name of the resource of handle `node`; None unless another node can name it too."""
    if node.input or "shared_name" not in node.attr:
        return None
    shared = node.attr["shared_name"].s
    if not shared or shared == NO_SHARED_NAME:
        return None
    return node.op, node.attr["container"].s if "container" in node.attr else b"", shared


def _switch_pairs(nodes: Sequence[Message], sources: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Each Switch with the producer of its data."""
    for index, node in enumerate(nodes):
        if node.op in SWITCHES and sources[index]:
            yield _pair(sources[index][0], index)


def cpu_reasons_of_feeds(nodes: Sequence[Message], index_of_name: Mapping[str, int]) -> dict[int, str]:
    """Op → why it is on a CPU, for each placeholder whose value a Switch takes, and for that Switch."""
    reasons: dict[int, str] = {}
    for index, node in enumerate(nodes):
        if node.op in SWITCHES and node.input:
            source = index_of_name[_source(node.input[0])]
            if nodes[source].op == "Placeholder":
                reasons[source] = reasons[index] = SWITCHED_FEED
    return reasons


def _frame_pairs(
    nodes: Sequence[Message], sources: Sequence[Sequence[int]], order: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Each op of an outermost while loop, paired with the loop's first op; consumers of an Exit are outside."""
    frames: dict[int, tuple[bytes, ...]] = {}
    first: dict[bytes, int] = {}
    for index in order:
        around = (_frame_after(nodes[source], frames.get(source, ())) for source in sources[index])
        frame = max(around, key=len, default=())
        if nodes[index].op in ENTERS:
            frame = (*frame, nodes[index].attr["frame_name"].s)
        if frame:
            frames[index] = frame
            known = first.setdefault(frame[0], index)
            if known != index:
                yield _pair(known, index)


def _frame_after(node: Message, frame: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The frames around `node`'s consumers, if `node` is in `frame`."""
    return frame[:-1] if node.op in EXITS else frame
