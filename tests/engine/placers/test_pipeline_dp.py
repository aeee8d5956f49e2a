"""Pipeline DP beside all contiguous placements of small graphs."""

import dataclasses
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.clusters.cluster import Contention
from engine.errors import InfeasibleError, SettingsError
from engine.events import FromPlacer, Json, Progress
from engine.graphs.graph import BACKWARD, FORWARD, OPTIMIZER, with_edges
from engine.graphs.ordering import distinct
from engine.placers.pipeline_dp import placer
from engine.placers.pipeline_dp.device_states import states_of_devices
from engine.placers.pipeline_dp.ideals import all_ideals, breadth_first_order, depth_first_order, prefixes
from engine.placers.pipeline_dp.placer import PipelineDp
from engine.placers.pipeline_dp.problem_units import split_problem
from engine.problem import PlacementProblem
from tests.engine.placers.drawn_pipelines import drawn_pipeline, every_placement
from tests.engine.placers.small_problems import small_problem
from tests.engine.simulator.slow_loads import slow_period_us, slowly_contiguous
from tests.engine.simulator.streams.drawn_streams import drawn_problem

GRAPHS_A_CONTENTION = 200


def found_us(problem: PlacementProblem, **settings: Json) -> float:
    """The period that the method finds, infinite for none that fits."""
    PipelineDp(**settings).place(problem, np.random.default_rng(0), lambda: False)
    best_us = problem.ledger.best_step_time_us
    return np.inf if best_us is None else best_us


def drawn(seed: int, contention: Contention) -> PlacementProblem:
    rng = np.random.default_rng([seed, list(Contention).index(contention)])
    return drawn_pipeline(rng, contention, trains=seed % 2 == 1, tight=seed % 4 > 1)


def optimum_us(problem: PlacementProblem) -> float:
    """The least period of all contiguous placements that fit."""
    evaluations = problem.simulator.evaluate(every_placement(problem))
    return float(np.where(problem.feasible(evaluations), evaluations.step_time_us, np.inf).min())


@pytest.mark.parametrize("contention", list(Contention))
def test_it_finds_the_least_period_of_all_contiguous_placements(contention: Contention) -> None:
    for seed in range(GRAPHS_A_CONTENTION):
        problem = drawn(seed, contention)
        assert found_us(problem) == pytest.approx(optimum_us(problem), rel=1e-9), f"seed {seed}"


@pytest.mark.parametrize("contention", list(Contention))
def test_its_answers_have_the_period_of_the_slow_twin_and_are_contiguous(contention: Contention) -> None:
    for seed in range(20):
        problem = drawn(seed, contention)
        period_us = found_us(problem)
        if period_us == np.inf:
            continue
        phase = problem.graph.phase.tolist()
        device_of_op = problem.ledger.answer()[problem.grouping.group_of_op].tolist()
        assert slowly_contiguous(problem.graph, phase, device_of_op)
        twin_us = slow_period_us(problem.graph, problem.costs, problem.cluster, phase, device_of_op)
        assert twin_us == pytest.approx(period_us, rel=1e-9)


def test_linear_orders_give_contiguous_splits_that_are_no_better_and_it_says_so() -> None:
    for seed in range(40):
        problem = drawn(seed, Contention.HOST)
        heard: list[FromPlacer] = []
        linear_us = found_us(problem.reporting_to(heard.append), most_ideals=2)
        assert any(isinstance(event, Progress) and "linear orders" in event.stage for event in heard)
        exact_us = found_us(drawn(seed, Contention.HOST))
        assert linear_us >= exact_us * (1 - 1e-9)
        if linear_us < np.inf:
            phase, group_of_op = problem.graph.phase.tolist(), problem.grouping.group_of_op
            assert slowly_contiguous(problem.graph, phase, problem.ledger.answer()[group_of_op].tolist())


def test_it_looks_at_the_devices_where_links_differ() -> None:
    """Two of four devices are near each other; the promise takes every link for the best one."""
    for seed in range(1, 60, 2):
        problem = drawn(seed, Contention.HOST)
        rng = np.random.default_rng(seed)
        count = problem.device_count
        bandwidth = rng.choice([2000.0, 7600.0, 20_000.0], (count, count))
        cluster = dataclasses.replace(problem.cluster, bandwidth_bytes_per_us=bandwidth)
        unequal = dataclasses.replace(problem, cluster=cluster)
        assert found_us(unequal, most_splits=100_000) == pytest.approx(optimum_us(unequal), rel=1e-9), f"seed {seed}"


def test_with_very_many_classes_of_devices_they_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placer, "states_of_devices", partial(states_of_devices, most=1))
    equal = 0
    for seed in range(60):
        problem = drawn(seed, Contention.HOST)
        in_order_us, optimum = found_us(problem), optimum_us(problem)
        equal += in_order_us == pytest.approx(optimum, rel=1e-9)
        assert in_order_us >= optimum * (1 - 1e-9)
        if len(split_problem(problem).units.devices) == 1:
            assert in_order_us == pytest.approx(optimum, rel=1e-9)
    assert equal > 40


def test_its_first_answer_needs_one_evaluation_where_loads_are_those_of_a_stage() -> None:
    for seed in range(40):
        problem = drawn(seed, Contention.HOST)
        single = problem.with_budget(dataclasses.replace(problem.ledger.budget, evaluations=1))
        assert found_us(single) == pytest.approx(found_us(problem), rel=1e-9)
        assert single.ledger.used == 1


def with_a_cycle(problem: PlacementProblem) -> tuple[PlacementProblem, int, int]:
    """The problem with the two ends of a path of three groups in one group; that group, and the middle of the path."""
    graph, group_of_op = problem.graph, problem.grouping.group_of_op
    forward = graph.phase == FORWARD
    inside = forward[graph.edge_source] & forward[graph.edge_target]
    pairs = distinct(group_of_op[np.stack([graph.edge_source, graph.edge_target], axis=1)][inside]).tolist()
    first, middle, last = next((a, b, d) for a, b in pairs for c, d in pairs if b == c)
    number = np.arange(problem.group_count) - (np.arange(problem.group_count) > last)
    number[last] = first
    allowed = np.ones((problem.group_count - 1, problem.device_count), dtype=bool)
    none = np.zeros(0, np.int32)
    grouping = dataclasses.replace(
        problem.grouping,
        names=problem.grouping.names[:-1],
        group_of_op=number[group_of_op].astype(np.int32),
        edge_source=none,
        edge_target=none,
        edge_bytes=np.zeros(0, np.int64),
    )
    return dataclasses.replace(problem, grouping=grouping, allowed=allowed), first, middle


def test_groups_of_one_cycle_share_a_device_and_pins_can_forbid_that() -> None:
    looped = 0
    for seed in range(40):
        try:
            problem, first, middle = with_a_cycle(drawn(seed, Contention.BUS))
        except StopIteration:
            continue
        looped += 1
        unit_of_group = split_problem(problem).unit_of_group
        assert unit_of_group[first] == unit_of_group[middle]
        assert found_us(problem) == pytest.approx(optimum_us(problem), rel=1e-9)
        problem.allowed[first] = np.arange(problem.device_count) == 0
        problem.allowed[middle] = np.arange(problem.device_count) == 1
        with pytest.raises(InfeasibleError, match="must share a device"):
            found_us(problem.with_budget(problem.ledger.budget))
    assert looped > 10


def with_ops_apart(problem: PlacementProblem, ops: NDArray[np.int64]) -> PlacementProblem:
    """The problem with each of `ops` in a group of its own, behind the others, which may go anywhere."""
    group_of_op = problem.grouping.group_of_op.copy()
    group_of_op[ops] = problem.group_count + np.arange(len(ops))
    names = (*problem.grouping.names, *(f"apart_{op}" for op in ops.tolist()))
    grouping = dataclasses.replace(problem.grouping, names=names, group_of_op=group_of_op)
    anywhere = np.ones((len(ops), problem.device_count), dtype=bool)
    return dataclasses.replace(problem, grouping=grouping, allowed=np.concatenate((problem.allowed, anywhere)))


def test_groups_of_the_optimizer_alone_cost_nothing() -> None:
    tried = 0
    for seed in range(1, 120, 4):
        problem = drawn(seed, Contention.HOST)
        apart = with_ops_apart(problem, np.flatnonzero(problem.graph.phase == OPTIMIZER))
        if problem.device_count**apart.group_count > 20_000 or apart.group_count == problem.group_count:
            continue
        tried += 1
        assert found_us(apart) == pytest.approx(optimum_us(apart), rel=1e-9), f"seed {seed}"
    assert tried > 5


def test_groups_of_the_backward_pass_alone_have_a_place_in_the_mirrored_order() -> None:
    tried = 0
    for seed in range(1, 120, 2):
        problem = drawn(seed, Contention.BUS)
        backward = np.flatnonzero(problem.graph.phase == BACKWARD)
        apart = with_ops_apart(problem, backward[:1])
        if problem.device_count**apart.group_count > 20_000:
            continue
        period_us, least_us = found_us(apart), optimum_us(apart)
        assert period_us >= least_us * (1 - 1e-9)
        if period_us < np.inf:
            tried += 1
            device_of_op = apart.ledger.answer()[apart.grouping.group_of_op].tolist()
            assert slowly_contiguous(apart.graph, apart.graph.phase.tolist(), device_of_op)
    assert tried > 5


def with_a_sum(problem: PlacementProblem) -> PlacementProblem:
    """The problem with a backward op in the last group that adds what the first two groups' backward ops give."""
    graph, costs, groups = problem.graph, problem.costs, problem.group_count
    ops = graph.op_count
    first, second = np.flatnonzero(graph.phase == BACKWARD)[:2].tolist()
    summed = dataclasses.replace(
        graph,
        op_names=(*graph.op_names, "sum"),
        op_types=(*graph.op_types, "AddN"),
        devices=(*graph.devices, ""),
        colocation=(*graph.colocation, ()),
        cpu_reason=(),
        gpu_reason=(),
        phase=np.append(graph.phase, np.uint8(BACKWARD)),
    )
    summed = with_edges(summed, [(first, ops, 0), (second, ops, 0)])
    nothing = np.zeros(1, np.int64)
    longer = dataclasses.replace(
        costs,
        time_us=np.concatenate((costs.time_us, [[50.0], [80.0]]), axis=1),
        output_offset=np.append(costs.output_offset, costs.output_offset[-1:]),
        persistent_bytes=np.concatenate((costs.persistent_bytes, nothing)),
        temporary_bytes=np.concatenate((costs.temporary_bytes, nothing)),
        source=np.append(costs.source, costs.source[:1]),
    )
    group_of_op = np.append(problem.grouping.group_of_op, np.int32(groups - 1)).astype(np.int32)
    grouping = dataclasses.replace(problem.grouping, group_of_op=group_of_op)
    return dataclasses.replace(problem, graph=summed, costs=longer, grouping=grouping)


def test_a_backward_pass_that_comes_back_is_kept_together_or_does_not_matter() -> None:
    """Sums of gradients, as TensorFlow makes them of weight decay, may lead back to where the pass began."""
    better = 0
    for seed in range(1, 120, 2):
        problem = with_a_sum(drawn(seed, Contention.BUS))
        both_us = found_us(problem, most_splits=100_000)
        assert both_us == pytest.approx(optimum_us(problem), rel=1e-9), f"seed {seed}"
        assert problem.stream is not None
        stream = dataclasses.replace(problem.stream, contiguous=False)
        forward_us = found_us(dataclasses.replace(problem, stream=stream))
        assert forward_us <= both_us * (1 + 1e-9)
        better += forward_us < both_us
    assert better > 5


def test_the_step_time_is_not_its_objective() -> None:
    with pytest.raises(SettingsError, match="makes the period of a stream small"):
        found_us(small_problem(1))


def test_prefixes_of_orders_are_ideals() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        units = int(rng.integers(1, 12))
        before = np.argwhere(np.triu(rng.random((units, units)) < 0.2, k=1))
        every = all_ideals(before, units, 5000)
        assert every is not None
        assert all_ideals(before, units, every.count - 1) is None or every.count == 1
        expected = {
            number
            for number in range(2**units)
            if all(number >> first & 1 or not number >> second & 1 for first, second in before.tolist())
        }
        assert {int(words[0]) for words in every.bits} == expected
        orders = [depth_first_order(before, units), breadth_first_order(before, units)]
        some = prefixes(orders, units)
        assert {int(words[0]) for words in some.bits} <= expected
        assert some.bits[0, 0] == 0 and some.units_between(0, some.count - 1).tolist() == list(range(units))


@pytest.mark.parametrize("most_splits", [1, 300])
def test_what_it_proves_no_contiguous_placement_beats(most_splits: int) -> None:
    """Groups of any phases too, such as those of the backward pass alone."""
    problems = [drawn(seed, contention) for contention in Contention for seed in range(60)]
    for seed in range(300):
        drawn_here = drawn_problem(seed)
        assert drawn_here.stream is not None
        stream = dataclasses.replace(drawn_here.stream, contiguous=True)
        problems.append(dataclasses.replace(drawn_here, stream=stream))
    proven = 0
    for number, problem in enumerate(problems):
        reached_us = found_us(problem, most_splits=most_splits)
        bound_us = problem.ledger.lower_bound_us
        if bound_us is not None:
            assert bound_us <= optimum_us(problem) * (1 + 1e-9), number
            proven += problem.ledger.is_proven and reached_us < np.inf
    assert proven > len(problems) / 3


def test_linear_orders_prove_nothing() -> None:
    problem = drawn(0, Contention.HOST)
    assert found_us(problem, most_ideals=2) < np.inf
    assert problem.ledger.lower_bound_us is None
