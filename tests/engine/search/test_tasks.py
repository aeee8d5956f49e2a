"""A problem as list schedulers see it: times with rests, flows once each, groups, memory."""

import dataclasses

import numpy as np
import pytest

from engine.clusters.cluster import BUS_CODE
from engine.clusters.parsing import parse_cluster
from engine.costs.costs import Costs, CostSource
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.phases import FORWARD_OP, GRADIENT, UPDATE
from engine.placers.weighted_groups import weighted_graph
from engine.problem import Budget, PlacementProblem, RunContext
from engine.search.tasks import (
    Tasks,
    memory_of_groups,
    readings_of,
    tasks_of_groups,
    tasks_of_ops,
    tasks_of_phases,
)
from tests.engine.placers.small_problems import small_problem, with_memory


def problem() -> PlacementProblem:
    """a → b, c (one output), a → d (control), c → d, d → b's group again by e: groups {a}, {b, e}, {c}, {d}."""
    edges = [(0, 1, 0), (0, 2, 0), (0, 3, CONTROL), (2, 3, 0), (3, 4, 0)]
    graph = ComputationGraph(
        name="five",
        op_names=("a", "b", "c", "d", "e"),
        op_types=("",) * 5,
        edge_source=np.array([edge[0] for edge in edges], np.int32),
        edge_target=np.array([edge[1] for edge in edges], np.int32),
        edge_output=np.array([edge[2] for edge in edges], np.int32),
        devices=("",) * 5,
        colocation=((),) * 5,
        back_edges=np.zeros((0, 2), np.int32),
    )
    costs = Costs(
        kinds=("GPU",),
        time_us=np.array([[10.0, 20.0, 0.0, 40.0, 50.0]]),
        output_offset=np.arange(6, dtype=np.int64),
        output_bytes=np.array([100, 200, 300, 400, 500], dtype=np.int64),
        persistent_bytes=np.array([1, 2, 3, 4, 5], dtype=np.int64),
        temporary_bytes=np.zeros(5, np.int64),
        source=np.full(5, CostSource.GIVEN, np.uint8),
    )
    grouping = Grouping(
        names=("a", "b", "c", "d"),
        group_of_op=np.array([0, 1, 2, 3, 1], np.int32),
        edge_source=np.array([0, 0, 0, 2], np.int32),
        edge_target=np.array([1, 2, 3, 3], np.int32),
        edge_bytes=np.array([100, 100, 0, 300], np.int64),
        feedback_edges=np.array([[3, 1]], np.int32),
    )
    cluster = parse_cluster("2xK80")
    allowed = np.ones((4, 2), dtype=bool)
    allowed[0, 1] = False
    return PlacementProblem(graph, costs, grouping, cluster, allowed, RunContext.of(Budget(10)))


def flows(tasks: Tasks) -> list[tuple[int, float, list[int]]]:
    """Producer, bytes, consumers."""
    return [
        (
            int(tasks.flow_producer[flow]),
            float(tasks.flow_bytes[flow]),
            tasks.consumer[tasks.consumer_first[flow] : tasks.consumer_first[flow + 1]].tolist(),
        )
        for flow in range(len(tasks.flow_bytes))
    ]


def test_ops_as_tasks() -> None:
    tasks = tasks_of_ops(problem())
    assert tasks.group.tolist() == [0, 1, 2, 3, 1]
    assert tasks.time_us[:, 0].tolist() == [15.7, 25.7, 0.0, 45.7, 55.7]
    assert tasks.time_us[0, 1] == np.inf and tasks.time_us[1, 1] == 25.7
    assert flows(tasks) == [(0, 0.0, [3]), (0, 100.0, [1, 2]), (2, 300.0, [3]), (3, 400.0, [4])]
    assert tasks.links.contention == BUS_CODE and tasks.links.rest_us == 25.0


def test_groups_as_tasks_leave_feedback_edges_out() -> None:
    tasks = tasks_of_groups(problem())
    assert tasks.group.tolist() == [0, 1, 2, 3]
    assert tasks.time_us[:, 0] == pytest.approx([15.7, 81.4, 0.0, 45.7])
    assert flows(tasks) == [(0, 0.0, [3]), (0, 100.0, [1, 2]), (2, 300.0, [3])]


def training_step() -> PlacementProblem:
    """a → c, then the gradients of c and of a, which takes a's output too, then an update of a. Groups by layer."""
    names = ("a", "c", "gradients/c_grad/g", "gradients/a_grad/g", "update")
    edges = [(0, 1, 0), (1, 2, 0), (0, 3, 0), (2, 3, 0), (3, 4, 0)]
    graph = dataclasses.replace(
        problem().graph,
        op_names=names,
        edge_source=np.array([edge[0] for edge in edges], np.int32),
        edge_target=np.array([edge[1] for edge in edges], np.int32),
        edge_output=np.zeros(5, np.int32),
    )
    grouping = Grouping(
        names=("a", "c"),
        group_of_op=np.array([0, 1, 1, 0, 0], np.int32),
        edge_source=np.array([0], np.int32),
        edge_target=np.array([1], np.int32),
        edge_bytes=np.array([100], np.int64),
        feedback_edges=np.array([[1, 0]], np.int32),
    )
    return PlacementProblem(
        graph, problem().costs, grouping, parse_cluster("2xK80"), np.ones((2, 2), dtype=bool), RunContext.of(Budget(10))
    )


def test_phases_as_tasks_let_a_consumer_begin_before_its_producer_s_gradient() -> None:
    tasks = tasks_of_phases(training_step())
    assert tasks.group.tolist() == [0, 1, 1, 0, 0], "forward a, forward c, gradient of c, gradient of a, update"
    assert flows(tasks) == [(0, 100.0, [1, 3]), (1, 200.0, [2]), (2, 300.0, [3]), (3, 400.0, [4])]
    assert tasks.time_us[:, 0] == pytest.approx([15.7, 25.7, 0.0, 45.7, 55.7])
    assert len(readings_of(training_step())) == 3


def test_without_gradients_there_are_two_readings() -> None:
    phases, groups = tasks_of_phases(problem()), tasks_of_groups(problem())
    for one, other in zip(phases[:-1], groups[:-1], strict=True):
        assert np.array_equal(one, other)
    assert len(readings_of(problem())) == 2


@pytest.mark.parametrize("seed", range(5))
def test_phases_agree_with_a_slow_twin(seed: int) -> None:
    """Random groups and gradients: the same work, each group's alone; what a task takes comes from an earlier one."""
    once = small_problem(seed, ops=30)
    rng = np.random.default_rng(seed)
    marked = rng.random(30) < 0.3
    names = [f"gradients/op_{op}_grad/g" if marked[op] else f"op_{op}" for op in range(30)]
    graph = dataclasses.replace(once.graph, op_names=tuple(names))
    group_of_op = np.unique(np.sort(rng.integers(0, 8, 30)), return_inverse=True)[1].astype(np.int32)
    grouping = dataclasses.replace(once.grouping, names=("",) * (group_of_op.max() + 1), group_of_op=group_of_op)
    allowed = np.ones((len(grouping.names), once.device_count), dtype=bool)
    grouped = PlacementProblem(graph, once.costs, grouping, once.cluster, allowed, RunContext.of(Budget(1)))
    tasks = tasks_of_phases(grouped)
    phase = np.where(marked, GRADIENT, FORWARD_OP)
    for source, target in zip(graph.edge_source, graph.edge_target, strict=True):
        if phase[source] != FORWARD_OP and phase[target] == FORWARD_OP:
            phase[target] = UPDATE
    pairs = {(int(one), int(group)) for one, group in zip(phase, group_of_op, strict=True)}
    assert sorted(tasks.group.tolist()) == sorted(group for _, group in pairs)
    for group in range(len(grouping.names)):
        assert tasks.time_us[tasks.group == group].sum(axis=0) == pytest.approx(tasks_of_groups(grouped).time_us[group])
    for flow, (producer, _, consumers) in enumerate(flows(tasks)):
        assert all(producer < consumer for consumer in consumers), flow


def with_trips() -> PlacementProblem:
    """The same, where b and c are the body of a loop and e is in a branch that is not taken."""
    once = problem()
    costs = dataclasses.replace(once.costs, trips=np.array([1, 4, 4, 1, 0]))
    return PlacementProblem(
        once.graph, costs, once.grouping, once.cluster, once.allowed, RunContext.of(once.ledger.budget)
    )


def test_trips_of_ops_as_tasks() -> None:
    looped = with_trips()
    tasks = tasks_of_ops(looped)
    assert tasks.time_us[:, 0] == pytest.approx([15.7, 4 * 25.7, 0.0, 45.7, 0.0])
    assert flows(tasks) == [(0, 0.0, [3]), (0, 100.0, [1, 2]), (2, 300.0, [3])], "nothing is sent to e"
    assert tasks.flow_trips.tolist() == [1, 1, 1], "into the loop and out of it"
    costs = dataclasses.replace(looped.costs, trips=np.array([4, 4, 3, 2, 1]))
    several = PlacementProblem(
        looped.graph, costs, looped.grouping, looped.cluster, looped.allowed, RunContext.of(looped.ledger.budget)
    )
    assert tasks_of_ops(several).flow_trips.tolist() == [2, 4, 2, 1], "as often as one of its consumers needs"
    assert tasks_of_groups(several).flow_trips.tolist() == [2, 4, 2]


def test_a_group_gives_nothing_of_a_branch_that_is_not_taken() -> None:
    assert memory_of_groups(with_trips()).tolist() == [101.0, 207.0, 303.0, 404.0]


def test_feedback_edges_of_a_loop_weigh_what_they_send_in_a_step() -> None:
    once = problem()
    costs = dataclasses.replace(once.costs, trips=np.array([1, 1, 1, 5, 5]))
    looped = PlacementProblem(
        once.graph, costs, once.grouping, once.cluster, once.allowed, RunContext.of(once.ledger.budget)
    )
    graph = weighted_graph(looped)
    assert graph.load_by_device(3, np.array([-1, 0, 0, -1]), 1) == pytest.approx([(2000 + 300) / 2500 * 1e9])


def test_inputs_are_the_flows_the_other_way_round() -> None:
    for tasks in (tasks_of_ops(problem()), tasks_of_groups(problem())):
        taken = {
            (int(flow), task)
            for task in range(len(tasks.group))
            for flow in tasks.input_flow[tasks.input_first[task] : tasks.input_first[task + 1]]
        }
        given = {(flow, consumer) for flow, (_, _, consumers) in enumerate(flows(tasks)) for consumer in consumers}
        assert taken == given


def test_a_group_takes_what_it_keeps_and_gives() -> None:
    assert memory_of_groups(problem()).tolist() == [101.0, 707.0, 303.0, 404.0]


def test_outputs_count_less_where_all_at_once_would_not_fit() -> None:
    tight = with_memory(problem(), [500, 500])
    share = (0.9 * 1000 - 15) / 1500
    assert memory_of_groups(tight) == pytest.approx(
        [1 + 100 * share, 7 + 700 * share, 3 + 300 * share, 4 + 400 * share]
    )


def test_the_groups_as_a_graph_count_feedback_edges() -> None:
    graph = weighted_graph(problem())
    pairs = {}
    for group in range(4):
        near = slice(graph.first_neighbour[group], graph.first_neighbour[group + 1])
        for other, load in zip(graph.neighbour[near].tolist(), graph.edge_load[near].tolist(), strict=True):
            pairs[group, other] = load
    total = 100 + 100 + 300 + 400
    assert pairs[1, 3] == pairs[3, 1] == pytest.approx(400 / total * 1e9, abs=1)
    assert pairs[0, 1] == pytest.approx(100 / total * 1e9, abs=1) and pairs[0, 3] == 1
    assert graph.load_by_device(1, np.array([0, -1, 0, 1]), 2) == pytest.approx([pairs[1, 0], pairs[1, 3]])
