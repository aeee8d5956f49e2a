"""Loops: an Exit waits for the last trip, a cycle for all that it takes from outside; compared with the slow twin."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.clusters.cluster import Contention
from engine.graphs import loop_order
from engine.graphs.cycles import a_cycle
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.loop_order import with_loop_order
from engine.simulator import Simulator
from tests.engine.simulator.cases import cluster_of, make_graph
from tests.engine.simulator.drawn_loops import LoopDrawing
from tests.engine.simulator.loops_beside_twin import drawn_pair
from tests.engine.simulator.recurrent_layers import joined, recurrent_layer
from tests.engine.simulator.unrolled import LoopedGraph, LoopedOp

CASES = 200
LEAST_RATIO = 0.7
"""of a step with loops to the unrolled one; what lies below 1 comes from the order in which a device takes its ops"""


def step_us(graph: LoopedGraph, device_of_op: NDArray[np.int32]) -> float:
    """The simulated step with loops on two devices."""
    looped, costs = graph.as_loops()
    simulator = Simulator(with_loop_order(looped), costs, cluster_of(2, latency_us=1.0))
    return simulator.timeline(device_of_op).step_time_us


def by_layer(graph: LoopedGraph, device_of_layer: dict[str, int]) -> NDArray[np.int32]:
    return np.array([device_of_layer.get(op.name.partition("/")[0], 0) for op in graph.ops], dtype=np.int32)


def test_layers_that_wait_for_each_other_gain_nothing_on_two_devices() -> None:
    stack = joined(
        recurrent_layer("one", "start", 40),
        recurrent_layer("two", "one/exit", 64),
        recurrent_layer("three", "two/exit", 50),
    )
    together = step_us(stack, by_layer(stack, {}))
    apart = step_us(stack, by_layer(stack, {"two": 1}))
    assert together <= apart <= 1.01 * together


def test_two_directions_of_a_layer_overlap_on_two_devices() -> None:
    both = joined(recurrent_layer("forward", "start", 40), recurrent_layer("backward", "start", 40))
    together, apart = step_us(both, by_layer(both, {})), step_us(both, by_layer(both, {"backward": 1}))
    assert 0.5 <= apart / together <= 0.51


@pytest.mark.parametrize("trips", [0, 1, 2, 20])
def test_what_follows_an_exit_starts_after_the_last_trip(trips: int) -> None:
    layer = recurrent_layer("layer", "start", trips)
    looped, costs = joined(replace(layer, ops=[*layer.ops, LoopedOp("after", "MatMul", ("layer/exit",))])).as_loops()
    timeline = Simulator(with_loop_order(looped), costs, cluster_of(2)).timeline(
        np.array([name == "after" for name in looped.op_names], dtype=np.int32)
    )
    at = {name: index for index, name in enumerate(looped.op_names)}
    last_trip_us = timeline.end_us[at["layer/sum"]] if trips else timeline.end_us[at["layer/cond"]]
    assert timeline.start_us[at["after"]] >= timeline.start_us[at["layer/exit"]] >= last_trip_us


def test_an_exit_waits_for_its_own_variable_and_for_the_condition_alone() -> None:
    looped, _ = joined(recurrent_layer("layer", "start", 3)).as_loops()
    ordered = with_loop_order(looped)
    added = {
        (ordered.op_names[source], ordered.op_names[target])
        for source, target, output in zip(ordered.edge_source, ordered.edge_target, ordered.edge_output, strict=True)
        if output == CONTROL
    }
    assert {pair for pair in added if pair[1] == "layer/exit"} == {
        ("layer/next", "layer/exit"),
        ("layer/next_state", "layer/exit"),
    }
    waits = {source for source, target in added if target == "layer/merge_state"}
    assert {"layer/inputs", "layer/cond"} & waits <= waits, "its cycle takes the inputs and the condition from outside"
    assert not {source for source, target in added if target == "layer/merge"}, "the counter waits for nothing"


def shuffled(graph: ComputationGraph, rng: np.random.Generator) -> ComputationGraph:
    """The same graph with its ops in another order of the file."""
    place = rng.permutation(graph.op_count)
    op_at = np.argsort(place)
    edges = zip(place[graph.edge_target], place[graph.edge_source], graph.edge_output.tolist(), strict=True)
    return make_graph(
        tuple(graph.op_names[op] for op in op_at),
        [(int(source), int(target), output) for target, source, output in sorted(edges)],
        [graph.op_types[op] for op in op_at],
        place[graph.back_edges].tolist(),
    )


@pytest.mark.parametrize("seed", [*range(20), 268])
def test_the_order_is_added_once(seed: int) -> None:
    """A stored graph has its order already, and gets no other when it is loaded."""
    rng = np.random.default_rng(seed)
    drawn, _ = LoopDrawing(rng, deepest=3).graph.as_loops()
    ordered = with_loop_order(shuffled(drawn, rng))
    assert with_loop_order(ordered).edge_count == ordered.edge_count


def test_a_condition_of_many_variables_needs_few_edges() -> None:
    loop, looks = ("while",), frozenset({"while"})
    count = 60
    ops = [LoopedOp("start", "Const", ())]
    ops += [LoopedOp(f"enter{at}", "Enter", ("start",)) for at in range(count)]
    ops += [LoopedOp(f"merge{at}", "Merge", (f"enter{at}", f"next{at}"), loop, looks) for at in range(count)]
    ops.append(LoopedOp("cond", "LoopCond", tuple(f"merge{at}" for at in range(count)), loop, looks))
    ops += [LoopedOp(f"switch{at}", "Switch", (f"merge{at}", "cond"), loop, looks) for at in range(count)]
    ops += [LoopedOp(f"next{at}", "NextIteration", (f"switch{at}",), loop) for at in range(count)]
    ops += [LoopedOp(f"exit{at}", "Exit", (f"switch{at}",)) for at in range(count)]
    looped, costs = LoopedGraph(ops, {"while": 3}).as_loops()
    ordered = with_loop_order(looped)
    assert ordered.edge_count - looped.edge_count < 6 * count
    timeline = Simulator(ordered, costs, cluster_of(1)).timeline(np.zeros(len(ops), dtype=np.int32))
    assert timeline.step_time_us == 0


LOOP, LOOKS = ("while",), frozenset({"while"})
INNER, SEES = ("while", "inner"), frozenset({"while", "inner"})
SEEN_THROUGH = {
    "branch": [
        LoopedOp("which", "Const", ("^count/merge",), LOOP, LOOKS),
        LoopedOp("seen", "Switch", ("slow/merge", "which"), LOOP, LOOKS),
    ],
    "identity and branch": [
        LoopedOp("which", "Const", ("^count/merge",), LOOP, LOOKS),
        LoopedOp("same", "Identity", ("slow/merge",), LOOP, LOOKS),
        LoopedOp("seen", "Switch", ("same", "which"), LOOP, LOOKS),
    ],
    "body of a loop": [
        LoopedOp("zero", "Const", ("^count/merge",), LOOP, LOOKS),
        LoopedOp("inner/enter", "Enter", ("zero",), LOOP, LOOKS),
        LoopedOp("inner/constant", "Enter", ("slow/merge",), LOOP, LOOKS),
        LoopedOp("inner/merge", "Merge", ("inner/enter", "inner/next"), INNER, SEES),
        LoopedOp("inner/cond", "LoopCond", ("inner/merge",), INNER, SEES),
        LoopedOp("inner/switch", "Switch", ("inner/merge", "inner/cond"), INNER, SEES),
        LoopedOp("inner/add", "Add", ("inner/switch", "inner/constant"), INNER, LOOKS),
        LoopedOp("inner/next", "NextIteration", ("inner/add",), INNER, LOOKS),
        LoopedOp("seen", "Exit", ("inner/switch",), LOOP, LOOKS),
    ],
}
"""ways by which a condition looks at `slow/merge` other than straight, the last op named `seen`"""


@pytest.mark.parametrize("way", SEEN_THROUGH)
def test_an_exit_waits_for_each_variable_at_which_the_condition_looks(way: str) -> None:
    """A counter beside a slow variable, at which the condition looks in a branch or a loop of its own."""
    both = ("count", "slow")
    ops = [
        LoopedOp("start", "Const", ()),
        *(LoopedOp(f"{name}/enter", "Enter", ("start",)) for name in both),
        *(LoopedOp(f"{name}/merge", "Merge", (f"{name}/enter", f"{name}/next"), LOOP, LOOKS) for name in both),
        *SEEN_THROUGH[way],
        LoopedOp("test", "Less", ("seen",), LOOP, LOOKS, time_us=1.0),
        LoopedOp("cond", "LoopCond", ("test",), LOOP, LOOKS),
        *(LoopedOp(f"{name}/switch", "Switch", (f"{name}/merge", "cond"), LOOP, LOOKS) for name in both),
        LoopedOp("body", "MatMul", ("slow/switch",), LOOP, time_us=100.0),
        LoopedOp("count/next", "NextIteration", ("count/switch",), LOOP),
        LoopedOp("slow/next", "NextIteration", ("body",), LOOP),
        *(LoopedOp(f"{name}/exit", "Exit", (f"{name}/switch",)) for name in both),
        LoopedOp("after", "MatMul", ("count/exit",), time_us=1000.0),
    ]
    graph = LoopedGraph(ops, {"while": 3, "inner": 2})
    devices = np.array([op.name.startswith("count/") or op.name == "after" for op in ops], dtype=np.int32)
    looped, costs = graph.as_loops()
    cluster = cluster_of(2, link_rest_us=0, op_rest_us=0)
    assert Simulator(with_loop_order(looped), costs, cluster).timeline(devices).step_time_us == 3 * 100 + 4 + 1000
    unrolled, unrolled_costs, unrolled_devices = graph.unrolled(devices)
    assert Simulator(unrolled, unrolled_costs, cluster).timeline(unrolled_devices).step_time_us == 3 * 100 + 4 + 1000


def test_a_variable_that_follows_another_waits_for_it() -> None:
    """`after` is in each trip what `before` was in the trip before it; what uses it cannot run ahead."""
    both = ("before", "after")
    ops = [
        LoopedOp("start", "Const", ()),
        *(LoopedOp(f"{name}/enter", "Enter", ("start",)) for name in both),
        *(LoopedOp(f"{name}/merge", "Merge", (f"{name}/enter", f"{name}/next"), LOOP, LOOKS) for name in both),
        LoopedOp("cond", "LoopCond", ("before/merge",), LOOP, LOOKS),
        *(LoopedOp(f"{name}/switch", "Switch", (f"{name}/merge", "cond"), LOOP, LOOKS) for name in both),
        LoopedOp("slow", "MatMul", ("before/switch",), LOOP, time_us=100.0),
        LoopedOp("user", "MatMul", ("after/switch",), LOOP, time_us=10.0),
        LoopedOp("before/next", "NextIteration", ("slow",), LOOP),
        LoopedOp("after/next", "NextIteration", ("slow",), LOOP),
    ]
    looped, costs = LoopedGraph(ops, {"while": 4}).as_loops()
    devices = np.array([op.name == "user" for op in ops], dtype=np.int32)
    cluster = cluster_of(2, link_rest_us=0, op_rest_us=0)
    assert Simulator(with_loop_order(looped), costs, cluster).timeline(devices).step_time_us == 4 * 100 + 4 * 10


def entered(*ways: LoopedOp, body: tuple[str, ...], merged: str) -> LoopedGraph:
    """A loop of one variable, which enters by `ways` and whose Merge takes `merged`; `body` is what its body takes."""
    ops = [
        LoopedOp("start", "Const", ()),
        *ways,
        LoopedOp("merge", "Merge", (merged, "next"), LOOP, LOOKS),
        LoopedOp("cond", "LoopCond", ("merge",), LOOP, LOOKS, time_us=1.0),
        LoopedOp("switch", "Switch", ("merge", "cond"), LOOP, LOOKS),
        LoopedOp("body", "MatMul", ("switch", *body), LOOP, time_us=10.0),
        LoopedOp("next", "NextIteration", ("body",), LOOP),
        LoopedOp("exit", "Exit", ("switch",)),
    ]
    return LoopedGraph(ops, {"while": 5})


ENTER = LoopedOp("enter", "Enter", ("start",))
ODD_ENTRIES = {
    "an op between Enter and Merge": entered(
        ENTER, LoopedOp("between", "Identity", ("enter",)), body=(), merged="between"
    ),
    "an Enter that serves the body too": entered(
        ENTER, LoopedOp("beside", "Neg", ("enter",)), body=("beside",), merged="enter"
    ),
    "an Enter that the body waits for": entered(
        ENTER, LoopedOp("beside", "Const", ("^enter",)), body=("beside",), merged="enter"
    ),
    "no Enter": entered(body=(), merged="start"),
}


@pytest.mark.parametrize("entry", ODD_ENTRIES)
def test_however_a_variable_enters_its_loop_takes_all_trips(entry: str) -> None:
    looped, costs = ODD_ENTRIES[entry].as_loops()
    ordered = with_loop_order(looped)
    assert with_loop_order(ordered).edge_count == ordered.edge_count
    timeline = Simulator(ordered, costs, cluster_of(1, op_rest_us=0)).timeline(
        np.zeros(looped.op_count, dtype=np.int32)
    )
    assert timeline.start_us[-1] == 5 * 10 + 6


def test_very_deep_loops_are_ordered_in_few_walks_over_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 loops inside each other: each has an Enter, a Merge, a LoopCond, a Switch, a NextIteration and an Exit."""
    walks: list[int] = []

    def counted(*of_level: Any) -> Any:
        walks.append(len(of_level))
        return find_cycles(*of_level)

    find_cycles = loop_order._cycles
    monkeypatch.setattr(loop_order, "_cycles", counted)
    depth = 200
    down = [
        (f"{part}{at}", part, inputs)
        for at in range(depth)
        for part, inputs in (
            ("Enter", [f"Switch{at - 1}"] if at else []),
            ("Merge", [f"Enter{at}", f"NextIteration{at}"]),
            ("LoopCond", [f"Merge{at}"]),
            ("Switch", [f"Merge{at}", f"LoopCond{at}"]),
        )
    ]
    up = [
        (f"{part}{at}", part, inputs)
        for at in reversed(range(depth))
        for part, inputs in (
            ("NextIteration", [f"Exit{at + 1}" if at + 1 < depth else f"Switch{at}"]),
            ("Exit", [f"Switch{at}"]),
        )
    ]
    at = {name: index for index, (name, _, _) in enumerate(down + up)}
    edges = [(at[source], at[name], 0) for name, _, inputs in down + up for source in inputs if at[source] < at[name]]
    back = [(at[f"NextIteration{loop}"], at[f"Merge{loop}"]) for loop in range(depth)]
    graph = make_graph(tuple(at), edges, [op_type for _, op_type, _ in down + up], back)
    ordered = with_loop_order(graph)
    assert not a_cycle(np.stack([ordered.edge_source, ordered.edge_target], axis=1), ordered.op_count)
    assert ordered.edge_count - graph.edge_count == depth, "each Exit waits for its NextIteration"
    assert len(walks) == loop_order.MOST_LEVELS


@pytest.mark.parametrize("seed", range(40))
def test_on_one_device_a_loop_takes_as_long_as_its_trips_written_out(seed: int) -> None:
    pair = drawn_pair(seed, devices=1)
    assert pair.step_us == pytest.approx(pair.unrolled_us)


def test_drawn_loops_on_several_devices_stay_near_their_twin() -> None:
    """Never below 0.7 of it, and never above all its work one thing after the other; the order has no cycle."""
    for seed in range(CASES):
        pair = drawn_pair(seed, devices=2 + seed % 3)
        assert LEAST_RATIO * pair.unrolled_us <= pair.step_us, seed
        assert pair.step_us <= pair.one_after_the_other_us * (1 + 1e-9), seed
        assert pair.lower_bound_us <= pair.step_us * (1 + 1e-9), seed


@pytest.mark.parametrize("seed", range(60))
def test_the_order_of_loops_has_no_cycle(seed: int) -> None:
    graph, _ = LoopDrawing(np.random.default_rng(1000 + seed), deepest=3).graph.as_loops()
    ordered = with_loop_order(graph)
    assert not a_cycle(np.stack([ordered.edge_source, ordered.edge_target], axis=1), ordered.op_count)


@pytest.mark.parametrize("contention", list(Contention))
def test_a_body_that_is_a_chain_over_devices_is_exact(contention: Contention) -> None:
    rng = np.random.default_rng(7)
    for trips in (0, 1, 2, 5, 20):
        graph = chain(rng, trips)
        devices = rng.integers(0, 3, len(graph.ops), dtype=np.int32)
        unit = [index for index, op in enumerate(graph.ops) if op.type in ("Enter", "Merge", "Switch", "NextIteration")]
        devices[[*unit, len(graph.ops) - 2]] = devices[unit[0]]
        looped, costs = graph.as_loops()
        cluster = cluster_of(3, contention, latency_us=3, link_rest_us=0, op_rest_us=0)
        looped_us = Simulator(with_loop_order(looped), costs, cluster).timeline(devices).step_time_us
        unrolled, unrolled_costs, unrolled_devices = graph.unrolled(devices)
        unrolled_us = Simulator(unrolled, unrolled_costs, cluster).timeline(unrolled_devices).step_time_us
        assert looped_us == pytest.approx(unrolled_us)


def chain(rng: np.random.Generator, trips: int) -> LoopedGraph:
    """A loop of one variable, which the condition and a chain of ops use."""
    loop, looks = ("while",), frozenset({"while"})
    sizes = iter(rng.choice([0, 4, 100, 2000], 20).tolist())
    ops = [
        LoopedOp("start", "Const", (), time_us=3.0, bytes=next(sizes)),
        LoopedOp("enter", "Enter", ("start",), bytes=next(sizes)),
        LoopedOp("merge", "Merge", ("enter", "next"), loop, looks, bytes=next(sizes)),
        LoopedOp("less", "Less", ("merge",), loop, looks, time_us=2.0, bytes=1),
        LoopedOp("cond", "LoopCond", ("less",), loop, looks, bytes=1),
        LoopedOp("switch", "Switch", ("merge", "cond"), loop, looks, bytes=next(sizes)),
    ]
    last = "switch"
    for at in range(int(rng.integers(1, 6))):
        ops.append(LoopedOp(f"body{at}", "MatMul", (last,), loop, time_us=float(rng.choice([1, 10, 40]))))
        last = ops[-1].name
    return LoopedGraph(
        [
            *ops,
            LoopedOp("next", "NextIteration", (last,), loop, bytes=next(sizes)),
            LoopedOp("exit", "Exit", ("switch",), bytes=next(sizes)),
            LoopedOp("after", "MatMul", ("exit",), time_us=5.0),
        ],
        {"while": trips},
    )
