"""Finds the ops of control flow that TensorFlow moves to another op's device when it partitions a graph. In the child.

- A Switch goes to the producer of its data, an Exit to its Switch.
- An Enter and a NextIteration go to their first consumer, which is the Merge of their loop variable, or, for an Enter
  of a value that stays the same in all trips, an op of the body.
So a loop variable's Enters, Merge, Switch, Exit and NextIteration share a device, and no back edge crosses devices. All
other ops of a loop may be anywhere: TensorFlow gives each device of a loop its copy of the condition's value.
Source: tensorflow/core/graph/graph_partition.cc, OptimizeControlFlowColocation and AddControlFlow.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import ENTERS, EXITS, MERGES, NEXT_ITERATIONS

SWITCHES = frozenset({"Switch", "RefSwitch", "_SwitchN"})
FOLLOWERS = SWITCHES | EXITS | ENTERS | NEXT_ITERATIONS
"""types of the ops that TensorFlow moves"""
MOST_IN_ORDER = 8
"""consumers that TensorFlow keeps in their order; it goes through more of them by their addresses in memory.
Source: tensorflow/core/graph/edgeset.h"""


@dataclass(frozen=True, slots=True)
class ControlFlowTies:
    """The ops that share a device because of control flow."""

    pairs: list[tuple[int, int]]
    """in no particular order; a pair can occur twice"""
    wide_enters: tuple[int, ...]
    """the Enters with more than `MOST_IN_ORDER` consumers: TensorFlow runs such an Enter with any of them, so they stay
    together"""


def control_flow_ties(nodes: Sequence[Message], sources: Sequence[Sequence[int]]) -> ControlFlowTies:
    """The ties between these nodes; `sources` are the ops behind each node's inputs, data inputs first."""
    pairs = []
    consumers: dict[int, list[int]] = {
        index: [] for index, node in enumerate(nodes) if node.op == "Enter" or node.op in NEXT_ITERATIONS
    }
    """in the order of the file, an op once for each of its data inputs"""
    edges = dict.fromkeys(consumers, 0)
    for index, node in enumerate(nodes):
        if (node.op in SWITCHES or node.op in EXITS) and sources[index]:
            pairs.append((sources[index][0], index))
        for source, text in zip(sources[index], node.input, strict=True):
            if source in consumers:
                edges[source] += 1
                if not text.startswith("^"):
                    consumers[source].append(index)
            if node.op in MERGES and (nodes[source].op in ENTERS or source in consumers):
                pairs.append((source, index))
    several = {op: of for op, of in consumers.items() if len(set(of)) > 1}
    rank = _creation_ranks(nodes, sources) if several else []
    wide = tuple(op for op in several if edges[op] > MOST_IN_ORDER)
    for op, of in consumers.items():
        if op in several:
            of = of if edges[op] > MOST_IN_ORDER else [min(of, key=rank.__getitem__)]
        pairs += ((op, consumer) for consumer in of)
    return ControlFlowTies(pairs, wide)


def _creation_ranks(nodes: Sequence[Message], sources: Sequence[Sequence[int]]) -> list[int]:
    """[ops] the position of each op when TensorFlow makes the graph: of the ops that are ready, the file's first.

    A Merge with a back edge is ready when one of its data inputs is. Source:
    tensorflow/core/common_runtime/graph_constructor.cc.
    """
    consumers: list[list[int]] = [[] for _ in nodes]
    waits_for = []
    for index, node in enumerate(nodes):
        for source in sources[index]:
            consumers[source].append(index)
        controls = sum(text.startswith("^") for text in node.input)
        goes_back = node.op in MERGES and any(nodes[source].op in NEXT_ITERATIONS for source in sources[index])
        waits_for.append(controls + 1 if goes_back else len(sources[index]))
    ready = [index for index, count in enumerate(waits_for) if count == 0]
    rank = [len(nodes)] * len(nodes)
    position = 0
    while ready:
        op = heapq.heappop(ready)
        rank[op] = position
        position += 1
        for consumer in consumers[op]:
            waits_for[consumer] -= 1
            if waits_for[consumer] == 0:
                heapq.heappush(ready, consumer)
    return rank
