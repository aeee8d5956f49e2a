"""A table of bad input and the exact sentence that each gets; and that input is never changed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import PlacetoError
from engine.graphs.graph import CONTROL
from engine.simulator import Simulator
from tests.engine.simulator.cases import Op, cluster_of, graph_of, make_costs, make_graph

OPS = [Op("a", time_us=1, outputs=[4]), Op("b", ["a"], time_us=1)]


def evaluate(placements: object) -> None:
    graph, costs = graph_of(OPS)
    Simulator(graph, costs, cluster_of(2)).evaluate(np.array(placements))


def on_a_cpu_only_op() -> None:
    costs = make_costs(("GPU", "CPU"), np.array([[1.0, np.nan], [1.0, 1.0]]), [[4], []], [(0, 0)] * 2)
    graph, _ = graph_of(OPS)
    Simulator(graph, costs, cluster_of(2)).evaluate(np.zeros((1, 2), dtype=np.int32))


def simulator_of(edges: list[tuple[int, int, int]], ops: int = 2) -> None:
    graph = make_graph(tuple("abcd"[:ops]), edges)
    costs = make_costs(("*",), np.ones((1, 2)), [[4], []], [(0, 0)] * 2)
    Simulator(graph, costs, cluster_of(2))


def with_op(op: Op) -> None:
    graph, costs = graph_of([Op("a"), op])
    Simulator(graph, costs, cluster_of(2))


BAD = {
    "device beyond the last": (
        lambda: evaluate([[0, 2]]),
        "op b: device 2 is not in the cluster; allowed: 0 to 1 (/device:GPU:0, /device:GPU:1)",
    ),
    "negative device": (
        lambda: evaluate([[-1, 0]]),
        "op a: device -1 is not in the cluster; allowed: 0 to 1 (/device:GPU:0, /device:GPU:1)",
    ),
    "an unplaced op": (
        lambda: evaluate([[0]]),
        "placements: an array [1, 1] of int64; allowed: integers [batch, 2]",
    ),
    "an op too many": (
        lambda: evaluate([[0, 0, 0]]),
        "placements: an array [1, 3] of int64; allowed: integers [batch, 2]",
    ),
    "no batch": (
        lambda: evaluate([0, 0]),
        "placements: an array [2] of int64; allowed: integers [batch, 2]",
    ),
    "fractions": (
        lambda: evaluate([[0.5, 0.0]]),
        "placements: an array [1, 2] of float64; allowed: integers [batch, 2]",
    ),
    "no time on the device": (on_a_cpu_only_op, "op b: no time on K80"),
    "a cycle": (lambda: simulator_of([(1, 0, CONTROL), (0, 1, 0)]), "op a: the op waits for itself; allowed: no cycle"),
    "a self loop": (lambda: simulator_of([(1, 1, CONTROL)]), "op b: the op waits for itself; allowed: no cycle"),
    "an edge to no op": (lambda: simulator_of([(0, 5, 0)]), "case: an edge leads to no op; allowed: ops 0 to 1"),
    "an output that is not there": (
        lambda: simulator_of([(0, 1, 1)]),
        "op a: output 1 has no bytes; allowed: 1 outputs",
    ),
    "a time without end": (
        lambda: with_op(Op("b", time_us=1e300)),
        "op b: 1e+300 is too much; allowed: a step, transfers included, of less than 5e+18 µs",
    ),
    "trips without end": (
        lambda: with_op(Op("b", time_us=1e12, trips=10**9)),
        "op b: 1e+21 is too much; allowed: a step, transfers included, of less than 5e+18 µs",
    ),
    "trips that make a time infinite": (
        lambda: with_op(Op("b", time_us=1e300, trips=10**9)),
        "op b: 1.8e+308 is too much; allowed: a step, transfers included, of less than 5e+18 µs",
    ),
    "rests without end": (
        lambda: with_op(Op("b", trips=2**62)),
        "op b: 2.63e+19 is too much; allowed: a step, transfers included, of less than 5e+18 µs",
    ),
    "transfers without end": (
        lambda: with_op(Op("b", outputs=[10**15], trips=10**9)),
        "op b: 2e+22 is too much; allowed: a step, transfers included, of less than 5e+18 µs",
    ),
    "bytes without end": (
        lambda: with_op(Op("b", outputs=[2**62, 2**62, 2**62])),
        "op b: 1.38e+19 is too much; allowed: less than 5e+18 bytes of all ops",
    ),
    "costs of another graph": (lambda: simulator_of([], ops=3), "case: costs of 2 ops; allowed: 3 ops"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_reported_in_one_sentence(name: str) -> None:
    act: Callable[[], None] = BAD[name][0]
    with pytest.raises(PlacetoError) as raised:
        act()
    assert str(raised.value) == BAD[name][1]


def test_input_is_never_changed() -> None:
    graph, costs = graph_of(OPS)
    cluster = cluster_of(2)
    placements = np.array([[0, 1], [1, 1]], dtype=np.int32)
    groups = np.array([1, 0], dtype=np.int32)
    arrays: list[NDArray[Any]] = [
        placements,
        groups,
        graph.edge_source,
        graph.edge_target,
        graph.edge_output,
        costs.time_us,
        costs.output_bytes,
        costs.persistent_bytes,
        cluster.bandwidth_bytes_per_us,
    ]
    before = [array.copy() for array in arrays]
    placements.setflags(write=False)
    groups.setflags(write=False)
    simulator = Simulator(graph, costs, cluster, groups)
    simulator.evaluate(placements)
    simulator.timeline(placements[0])
    for array, copy in zip(arrays, before, strict=True):
        assert np.array_equal(array, copy)
