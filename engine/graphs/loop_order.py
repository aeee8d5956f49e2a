"""The order that while loops bring, beside the edges of their graph.

A graph holds a loop's body once, and the edge from a variable's NextIteration back to its Merge belongs to the next
trip, so it is no edge of the graph. Without it an Exit would leave the loop before the body runs, and an op that needs
the trip before it would run all its trips as soon as the first can begin. What follows from the back edges is written
as control edges:

- **Ends.** An Exit fires in the last trip, when the condition is false. So it waits for the last NextIteration of its
  own variable, whose value it passes on, and of each variable that the condition looks at. A variable that the
  condition does not need, and its Exit, wait for nothing else: two layers in one loop may end one after the other.
- **Starts.** Ops in a cycle of the loop need each other's earlier trips. So the Enters of a cycle wait for everything
  that any op of the cycle takes from outside: what one of them waits for, all wait for from the second trip on.
  Where an Enter serves other ops too, the Merges wait in its place.

Source: Yu et al., Dynamic Control Flow in Large-Scale Machine Learning (EuroSys 2018), section 4.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import CONTROL, ComputationGraph, with_edges
from engine.graphs.ordering import adjacency, strong_components
from engine.graphs.tensorflow.op_types import ENTERS, EXITS, MERGES, SWITCHES

LOOP_CONDITION = "LoopCond"
MOST_PAIRED = 8
"""NextIterations that each of several Exits waits for by itself; of more, one Exit waits for all, the others for it"""
MOST_LEVELS = 64
"""loops inside each other whose cycles are ordered; deeper ones have their ends alone, as no model needs them"""
ENDS_OF_ORDER = ENTERS | MERGES | EXITS
"""types of the ops that wait for the order"""


def with_loop_order(graph: ComputationGraph) -> ComputationGraph:
    """`graph` with the control edges that its loops' back edges stand for, where it lacks them."""
    if not len(graph.back_edges):
        return graph
    graph = _with_control_edges(graph, _end_edges(graph))
    depth = _depths(graph)
    back_depth = depth[graph.back_edges[:, 1]]
    levels = np.unique(back_depth)
    for level in levels[levels <= MOST_LEVELS][::-1].tolist():  # what an inner loop waits for, the one around it knows
        closing = graph.back_edges[back_depth == level]
        graph = _with_control_edges(graph, _start_edges(graph, closing, np.flatnonzero(depth >= level)))
    return graph


def _with_control_edges(graph: ComputationGraph, pairs: Iterable[tuple[int, int]]) -> ComputationGraph:
    known = set(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True))
    return with_edges(graph, [(*pair, CONTROL) for pair in dict.fromkeys(pairs) if pair not in known])


@dataclass(slots=True)
class _Ends:
    """The ends of one loop, which one LoopCond closes."""

    nexts_of_merge: dict[int, list[int]] = field(default_factory=dict)
    """the Merge of each variable → its NextIterations"""
    exits_of_merge: dict[int, list[int]] = field(default_factory=dict)
    """the Merge of each variable → its Exits"""
    switches: set[int] = field(default_factory=set)
    """the Switches of the variables; a condition may have others"""


def _end_edges(graph: ComputationGraph) -> Iterator[tuple[int, int]]:
    """(op, Exit that waits for it) of all loops."""
    source, target = _edges_without_order(graph)
    consumers, producers = adjacency(source, target, graph.op_count), adjacency(target, source, graph.op_count)
    loops = _ends_of_loops(graph.op_types, consumers, producers, graph.back_edges)
    for last, merge in graph.back_edges.tolist():
        consumers[last].append(merge)
        producers[merge].append(last)
    for condition, ends in loops.items():
        tested = _tested_by(condition, consumers, producers, ends)
        for merge, exits in ends.exits_of_merge.items():
            yield from _all_wait(ends.nexts_of_merge[merge], exits)
        last_of_condition = [each for merge in tested for each in ends.nexts_of_merge[merge]]
        yield from _all_wait(last_of_condition, [each for exits in ends.exits_of_merge.values() for each in exits])


def _all_wait(lasts: Sequence[int], exits: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs by which all `exits` wait for all `lasts`, few of them even where both are many."""
    paired, others = (exits, ()) if len(lasts) <= MOST_PAIRED else (exits[:1], exits[1:])
    yield from ((last, leaving) for leaving in paired for last in lasts)
    yield from ((exits[0], leaving) for leaving in others)


def _ends_of_loops(
    op_types: Sequence[str],
    consumers: Sequence[Sequence[int]],
    producers: Sequence[Sequence[int]],
    back_edges: NDArray[np.int32],
) -> dict[int, _Ends]:
    """LoopCond → the ends of its loop, found from the back edges: Merge, then Switch, then Exit."""
    loops: dict[int, _Ends] = {}
    nexts_of_merge: dict[int, list[int]] = {}
    for last, merge in back_edges.tolist():
        nexts_of_merge.setdefault(merge, []).append(last)
    for merge, nexts in nexts_of_merge.items():
        switches_of: dict[int, list[int]] = {}
        for switch in dict.fromkeys(op for op in consumers[merge] if op_types[op] in SWITCHES):
            for condition in {op for op in producers[switch] if op_types[op] == LOOP_CONDITION}:
                switches_of.setdefault(condition, []).append(switch)
        for condition, switches in switches_of.items():
            ends = loops.setdefault(condition, _Ends())
            ends.switches.update(switches)
            ends.nexts_of_merge[merge] = nexts
            leaving = {op for switch in switches for op in consumers[switch] if op_types[op] in EXITS}
            ends.exits_of_merge[merge] = sorted(leaving)
    return loops


def _tested_by(
    condition: int, consumers: Sequence[Sequence[int]], producers: Sequence[Sequence[int]], ends: _Ends
) -> list[int]:
    """The variables, by their Merge, that a LoopCond looks at, through any ops and loops of the condition.

    `consumers` and `producers` [ops] go along back edges too; those of the loop itself lie behind its Switches.
    """
    of_condition = _reached_from(
        ends.nexts_of_merge, lambda op: [each for each in consumers[op] if each not in ends.switches]
    )
    seen = _reached_from([condition], lambda op: [each for each in producers[op] if each in of_condition])
    return sorted(seen & ends.nexts_of_merge.keys())


def _reached_from(starts: Iterable[int], neighbours: Callable[[int], Sequence[int]]) -> set[int]:
    """The ops that are reached from `starts`, these included."""
    seen = set(starts)
    waiting = list(seen)
    while waiting:
        new = set(neighbours(waiting.pop())) - seen
        seen |= new
        waiting += new
    return seen


def _start_edges(
    graph: ComputationGraph, closing: NDArray[np.int32], inside: NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """(op, entry that waits for it) of the cycles that the back edges `closing` close among the ops `inside`.

    The first variable of a cycle enters after all that comes from outside, the cycle's other variables after it.
    """
    within = np.stack([graph.edge_source, graph.edge_target], axis=1)
    edges = np.concatenate((within, closing))
    cycle = _cycles(edges, inside, graph.op_count)
    merges = np.unique(closing[:, 1])
    entry = _entries(graph, merges, cycle)
    _, first_of_cycle = np.unique(cycle[merges], return_index=True)
    hub_of_cycle = np.full(int(cycle.max()) + 2, -1)
    hub_of_cycle[cycle[merges[first_of_cycle]]] = entry[first_of_cycle]
    hubs = hub_of_cycle[cycle[merges]]
    yield from _apart(hubs, entry)
    by_target = within[np.argsort(within[:, 1], kind="stable")]
    begin, beyond = (np.searchsorted(by_target[:, 1], entry, side) for side in ("left", "right"))
    for hub, first, last in zip(hubs.tolist(), begin.tolist(), beyond.tolist(), strict=True):
        yield from ((source, hub) for source in by_target[first:last, 0].tolist() if source != hub)
    into = cycle[edges[:, 1]]
    of_own_entry = np.isin(into * graph.op_count + edges[:, 0], cycle[merges] * graph.op_count + entry)
    entering = (cycle[edges[:, 0]] != into) & (hub_of_cycle[into] >= 0) & ~of_own_entry
    yield from _apart(edges[entering, 0], hub_of_cycle[into[entering]])


def _apart(sources: NDArray[np.integer], targets: NDArray[np.integer]) -> Iterator[tuple[int, int]]:
    """The pairs of two ops."""
    apart = sources != targets
    yield from zip(sources[apart].tolist(), targets[apart].tolist(), strict=True)


def _cycles(edges: NDArray[np.int32], inside: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """[count] the cycle of each op `inside`, an op in none is alone; -1 for other ops."""
    number = np.full(count, -1)
    number[inside] = np.arange(len(inside))
    pairs = number[edges]
    cycle = np.full(count, -1)
    cycle[inside] = strong_components(pairs[(pairs >= 0).all(axis=1)], len(inside))
    return cycle


def _entries(graph: ComputationGraph, merges: NDArray[np.int32], cycle: NDArray[np.int64]) -> NDArray[np.int64]:
    """[merges] the op where each variable enters, for the `cycle` of each op [ops]: its Enter that serves nothing else.

    If a variable of a cycle has no such Enter, its value could be needed by what the cycle waits for: then the Merges
    of all variables of the cycle are their entries.
    """
    is_enter = np.array([op_type in ENTERS for op_type in graph.op_types])
    is_control = graph.edge_output == CONTROL
    begins = is_enter[graph.edge_source] & ~is_control
    enter_of = np.full(graph.op_count, -1)
    enter_of[graph.edge_target[begins]] = graph.edge_source[begins]
    served = graph.edge_source[~(is_control & is_enter[graph.edge_target])]
    serves_one = np.bincount(served, minlength=graph.op_count) == 1
    enters = enter_of[merges]
    lacks = (enters < 0) | ~serves_one[enters]
    return np.where(np.isin(cycle[merges], cycle[merges[lacks]]), merges, enters)


def _edges_without_order(graph: ComputationGraph) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Source and target [edges] of the graph's edges without those that `with_loop_order` adds."""
    is_end = np.array([op_type in ENDS_OF_ORDER for op_type in graph.op_types])
    counts = (graph.edge_output != CONTROL) | ~is_end[graph.edge_target]
    return graph.edge_source[counts], graph.edge_target[counts]


def _depths(graph: ComputationGraph) -> NDArray[np.int64]:
    """[ops] the number of loops around each op; an Enter and an Exit count as outside their own loop.

    The order itself does not count: by it an Enter waits for ops of its own loop.
    """
    source, target = _edges_without_order(graph)
    consumers = adjacency(source, target, graph.op_count)
    waits_for = np.bincount(target, minlength=graph.op_count).tolist()
    around = [0] * graph.op_count
    order = [op for op in range(graph.op_count) if waits_for[op] == 0]
    for op in order:  # it grows while it is walked
        op_type = graph.op_types[op]
        if op_type in EXITS:
            around[op] = max(around[op] - 1, 0)
        given = around[op] + (op_type in ENTERS)
        for consumer in consumers[op]:
            around[consumer] = max(around[consumer], given)
            waits_for[consumer] -= 1
            if waits_for[consumer] == 0:
                order.append(consumer)
    return np.array(around, dtype=np.int64)


def outermost_loops(graph: ComputationGraph) -> NDArray[np.int64]:
    """[ops] the outermost loop around each op, numbered from 0, or -1; an Enter and an Exit are outside their loop."""
    inside = _depths(graph) > 0
    joined = inside[graph.edge_source] & inside[graph.edge_target]
    pairs = np.stack([graph.edge_source[joined], graph.edge_target[joined]], axis=1)
    both_ways = np.concatenate((pairs, pairs[:, ::-1], graph.back_edges, graph.back_edges[:, ::-1]))
    component = strong_components(both_ways, graph.op_count)
    loop_of_op = np.full(graph.op_count, -1)
    loop_of_op[inside] = np.unique(component[inside], return_inverse=True)[1]
    return loop_of_op
