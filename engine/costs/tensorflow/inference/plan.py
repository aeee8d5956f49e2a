"""Plans the walk over a graph: each op's inputs, the loops, and the order, with a loop's exits after its body."""

from collections.abc import Mapping, Sequence

from engine.costs.tensorflow.inference.loops import NEXTS, Loop, Path, frame_of_ops
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import ENTERS, MERGES

Inputs = list[list[tuple[int, int]]]
"""[ops] (op, output) of each input without those that close a loop; a control edge's output is -1"""


def plan_of(
    nodes: Sequence[Message], index_of_name: Mapping[str, int]
) -> tuple[Inputs, list[int], list[Path], dict[str, Loop]]:
    """Inputs, order, the loops around each op, all loops by frame."""
    inputs = [_inputs(node, nodes, index_of_name) for node in nodes]
    sources = [[source for source, _ in of_op] for of_op in inputs]
    order = _topological(sources)
    if not any(node.op in ENTERS for node in nodes):
        return inputs, order, [()] * len(nodes), {}
    frames, loops = frame_of_ops(nodes, order, sources, _nexts_of_merges(nodes, index_of_name))
    order = [op for op in _topological(_with_exits_last(sources, loops)) if op < len(nodes)]
    return inputs, order, frames, loops


def _inputs(node: Message, nodes: Sequence[Message], index_of_name: Mapping[str, int]) -> list[tuple[int, int]]:
    """(op, output) of each input, but for those that close a loop."""
    found: list[tuple[int, int]] = []
    for text in node.input:
        if text.startswith("^"):
            found.append((index_of_name[text[1:]], -1))
            continue
        name, _, output = text.partition(":")
        source = index_of_name[name]
        if not (node.op in MERGES and nodes[source].op in NEXTS):
            found.append((source, int(output or 0)))
    return found


def _nexts_of_merges(nodes: Sequence[Message], index_of_name: Mapping[str, int]) -> dict[int, list[int]]:
    """Merge of a loop's variable → its NextIterations."""
    found: dict[int, list[int]] = {}
    for op, node in enumerate(nodes):
        if node.op in MERGES:
            sources = [index_of_name[producer_of(text)] for text in node.input]
            found[op] = [source for source in sources if nodes[source].op in NEXTS]
    return found


def _with_exits_last(sources: Sequence[Sequence[int]], loops: Mapping[str, Loop]) -> list[list[int]]:
    """The ops that must come before each op, so that a loop's exits come after its body.

    After the ops the list has one more entry for each loop, its end.
    """
    before = [list(of_op) for of_op in sources]
    for loop in loops.values():
        before.append(list(loop.nexts))
        for op in loop.exits:
            before[op].append(len(before) - 1)
        if loop.condition >= 0:
            before[loop.condition] += loop.enters
    return before


def _topological(sources: Sequence[Sequence[int]]) -> list[int]:
    """The ops in topological order; those in a cycle are left out."""
    consumers: list[list[int]] = [[] for _ in sources]
    waiting = [len(of_op) for of_op in sources]
    for op, of_op in enumerate(sources):
        for source in of_op:
            consumers[source].append(op)
    ready = [op for op, count in enumerate(waiting) if count == 0]
    order: list[int] = []
    for op in ready:
        order.append(op)
        for consumer in consumers[op]:
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                ready.append(consumer)
    return order
