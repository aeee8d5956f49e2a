"""A problem with levels: a method may place coarser groups, and what it finds counts for the finer ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.events import Episode, FromPlacer
from engine.graphs.grouping.levels import coarser_group_of_each
from engine.simulator import Simulator
from tests.engine.placers.small_problems import leveled_problem


@given(st.integers(0, 500), st.integers(0, 1))
def test_a_coarse_placement_counts_in_the_finer_groups(seed: int, level: int) -> None:
    problem = leveled_problem(seed % 20)
    heard: list[FromPlacer] = []
    problem = problem.reporting_to(heard.append)
    grouping = problem.coarser[level]
    part = problem.sub_problem(grouping)
    placements = np.random.default_rng(seed).integers(0, 2, (5, grouping.group_count), dtype=np.int32)
    evaluations = part.evaluate_episodes(placements, emit_all=True)
    inside = coarser_group_of_each(grouping, problem.grouping)
    assert problem.ledger.used == part.ledger.used == 5
    assert np.array_equal(problem.ledger.answer(), part.ledger.answer()[inside])
    assert problem.ledger.best_time_us == part.ledger.best_time_us
    again = problem.simulator.evaluate(placements[:, inside])
    assert np.array_equal(again.step_time_us, evaluations.step_time_us)
    assert np.array_equal(again.peak_bytes, evaluations.peak_bytes)
    reported = [event.placement for event in heard if isinstance(event, Episode)]
    assert reported == placements[:, inside].tolist()


def test_good_placements_are_kept_in_the_finer_groups() -> None:
    problem = leveled_problem(3, keeps_good=True)
    part = problem.sub_problem(problem.coarser[0])
    part.evaluate(np.zeros((1, part.group_count), np.int32))
    assert problem.ledger.good is not None
    assert problem.ledger.good.placements().tolist() == [[0] * problem.group_count]


def test_a_group_may_go_where_all_inside_it_may_and_coarser_levels_stay() -> None:
    problem = leveled_problem(5)
    problem.allowed[0, 0] = False
    coarse, middle = (problem.at_level(level) for level in problem.coarser[:2])
    inside = coarser_group_of_each(problem.coarser[1], problem.grouping)
    expected = [problem.allowed[inside == group].all(axis=0).tolist() for group in range(middle.group_count)]
    assert middle.allowed.tolist() == expected
    assert [level.group_count for level in middle.coarser] == [coarse.group_count]
    assert coarse.coarser == ()


@given(st.integers(0, 500))
def test_a_simulator_with_other_groups_is_a_new_one_with_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = leveled_problem(seed % 20)
    groups = rng.integers(0, 6, problem.graph.op_count, dtype=np.int32)
    groups[0] = 5
    placements = rng.integers(0, 2, (4, 6), dtype=np.int32)
    known = problem.simulator.with_groups(groups).evaluate(placements)
    fresh = Simulator(problem.graph, problem.costs, problem.cluster, groups).evaluate(placements)
    assert np.array_equal(known.step_time_us, fresh.step_time_us)
    assert np.array_equal(known.peak_bytes, fresh.peak_bytes)
    assert problem.simulator.group_count == problem.group_count, "the old one stays as it was"


def test_a_part_has_at_most_the_seconds_that_it_is_given() -> None:
    problem = leveled_problem(1)
    assert problem.sub_problem().ledger.budget.seconds is None
    assert problem.sub_problem(most_seconds=2.0).ledger.budget.seconds == 2.0
