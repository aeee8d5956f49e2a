"""Finds the ops of a TensorFlow graph that share a device whatever their device strings are. Runs in the child.

- Both ends of a ref or resource edge: TensorFlow's placer moves the consumer, silently: `devices_of_nodes`. The type
  that the consumer takes counts. Dataset ops count too, where a variant passes between them.
- Handles of one resource: two ops that name the same variable, table or queue.
- A Switch whose data is fed goes to the device on which feeds arrive, the first CPU: `cpu_reasons_of_feeds`.
- The ops of control flow that TensorFlow moves when it partitions the graph: `control_flow.py`. The rest of a loop's
  body may be on any devices: TensorFlow adds a loop of control to each.
Labels (`loc:@x`) are not repeated here. Source: tensorflow/core/common_runtime/colocation_graph.cc.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.graphs.tensorflow.compiled_calls import is_compiled_as_one
from engine.graphs.tensorflow.control_flow import SWITCHES, control_flow_ties
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import INVALID, REFS_FROM, RESOURCE, VARIANT

FREE_OF_INPUT_COLOCATION = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
"""they pass their resource inputs on to the ops of their functions, which TensorFlow places one by one, unless XLA
compiles the call: then TensorFlow refuses to run it with a variable on another device"""
NO_SHARED_NAME = b"cd2c89b7-88b7-44c8-ad83-06c2a9158347"
"""TensorFlow's name for a resource that is shared with no other node, even one of this name"""
SWITCHED_FEED = "TensorFlow moves it to the CPU, where fed data arrives"


@dataclass(frozen=True, slots=True)
class MustColocate:
    """The ops that share a device, and why."""

    resources: NDArray[np.int32]
    """[pairs, 2] both ends of ref and resource edges, handles of one resource"""
    control_flow: NDArray[np.int32]
    """[pairs, 2] the ops of `control_flow.py`"""
    wide_enters: tuple[int, ...]
    """the Enters whose consumers share a device because there are many: see `LoopTies`"""

    @property
    def pairs(self) -> NDArray[np.int32]:
        """[pairs, 2] sorted pairs of ops, each once"""
        return np.unique(np.concatenate([self.resources, self.control_flow]), axis=0)


def ops_that_must_colocate(
    nodes: Sequence[Message], types: NodeTypes, index_of_name: Mapping[str, int]
) -> MustColocate:
    """The nodes' inputs must have been checked."""
    sources = [[index_of_name[producer_of(text)] for text in node.input] for node in nodes]
    resources = {*(_pair(*edge) for edge in _ref_and_resource_edges(nodes, types, sources)), *_handle_pairs(nodes)}
    loops = control_flow_ties(nodes, sources)
    return MustColocate(_array(resources), _array({_pair(*pair) for pair in loops.pairs}), loops.wide_enters)


def _array(pairs: Collection[tuple[int, int]]) -> NDArray[np.int32]:
    return np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)


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


def cpu_reasons_of_feeds(nodes: Sequence[Message], index_of_name: Mapping[str, int]) -> dict[int, str]:
    """Op → why it is on a CPU, for each placeholder whose value a Switch takes, and for that Switch."""
    reasons: dict[int, str] = {}
    for index, node in enumerate(nodes):
        if node.op in SWITCHES and node.input:
            source = index_of_name[producer_of(node.input[0])]
            if nodes[source].op == "Placeholder":
                reasons[source] = reasons[index] = SWITCHED_FEED
    return reasons
