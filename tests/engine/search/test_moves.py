"""Every move leads to another placement that keeps the pins; random numbers are those of the published generator."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.graphs.grouping.grouping import Grouping
from engine.placers.random import random_placements
from engine.problem import PlacementProblem
from engine.search.moves import AROUND, BLOCK, CHAIN, CRITICAL, JOIN, KINDS, LINK, REGION, SINGLE, SWAP, propose
from engine.search.neighbourhood import Neighbourhood, make_neighbourhood
from engine.search.random_numbers import below, uniform
from tests.engine.placers.small_problems import small_problem
from tests.engine.search.searches import trial_at

ONE_LEVEL = np.ones(1)


def only(kind: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Shares with which `propose` makes this kind of move alone."""
    return np.cumsum(np.arange(KINDS) == kind).astype(np.float64)


@given(st.integers(0, 10_000), st.sampled_from(range(KINDS)))
def test_a_move_leads_elsewhere_and_keeps_the_pins(seed: int, kind: int) -> None:
    problem = small_problem(seed % 50, ops=9, devices=3, pins=True)
    rng = np.random.default_rng(seed)
    placement = random_placements(problem.allowed, 1, rng)[0]
    trial = trial_at(placement, rng.integers(0, 9, 5).tolist(), seed)
    propose(make_neighbourhood(problem), trial, only(kind), ONE_LEVEL)
    assert np.array_equal(trial.placement, placement)
    assert not np.array_equal(trial.moved, placement)
    assert problem.respects(trial.moved[None, :]).all()


def moves_of(kind: int, chain: list[int], count: int = 200) -> list[set[int]]:
    """The groups that `count` moves of this kind have moved from a placement on one device, if not one alone."""
    problem = small_problem(4, ops=30, devices=2, cpu=False)
    neighbourhood = make_neighbourhood(problem)
    trial = trial_at(np.zeros(30, np.int32), chain)
    made = (propose(neighbourhood, trial, only(kind), ONE_LEVEL) for _ in range(count))
    moved = [set(np.flatnonzero(trial.moved).tolist()) for one in made if one == kind]
    assert moved
    return moved


def test_single_moves_reach_every_group() -> None:
    moved = moves_of(SINGLE, [], 600)
    assert all(len(groups) == 1 for groups in moved)
    assert set.union(*moved) == set(range(30))


def test_critical_moves_move_groups_of_the_chain() -> None:
    assert {frozenset(groups) for groups in moves_of(CRITICAL, [3, 5, 8])} == {
        frozenset({group}) for group in (3, 5, 8)
    }


def test_a_stretch_of_the_chain_goes_to_one_device() -> None:
    chain = list(range(29, -1, -2))
    stretches = moves_of(CHAIN, chain)
    assert max(map(len, stretches)) > 1
    for groups in stretches:
        places = sorted(chain.index(group) for group in groups)
        assert places == list(range(places[0], places[-1] + 1))


def test_a_transfer_of_the_chain_is_saved() -> None:
    problem = small_problem(4, ops=30, devices=3, cpu=False)
    neighbourhood = make_neighbourhood(problem)
    placement = (np.arange(30) // 5 % 3).astype(np.int32)
    chain = list(range(29, -1, -1))
    trial = trial_at(placement, chain)
    stretches = []
    for _ in range(200):
        assert propose(neighbourhood, trial, only(LINK), ONE_LEVEL) == LINK
        (groups,) = np.nonzero(trial.moved != placement)
        low, high = int(groups.min()), int(groups.max())
        assert groups.tolist() == list(range(low, high + 1)), "a stretch of the chain"
        assert len(set(placement[groups])) == 1, "from one device"
        assert trial.moved[low] in (placement[max(0, low - 1)], placement[min(29, high + 1)]), "to the next one"
        stretches.append(len(groups))
    assert (min(stretches), max(stretches)) == (1, 5)


def test_a_block_follows_the_topological_order() -> None:
    for groups in moves_of(BLOCK, []):
        assert groups == set(range(min(groups), max(groups) + 1))


def test_a_group_takes_its_neighbours_along() -> None:
    problem = small_problem(4, ops=30, devices=2, cpu=False)
    neighbourhood = make_neighbourhood(problem)
    first = neighbourhood.first_neighbour
    near = [{group, *neighbourhood.neighbours[first[group] : first[group + 1]].tolist()} for group in range(30)]
    moved = moves_of(AROUND, [])
    assert max(map(len, moved)) > 1
    assert all(any(groups <= around for around in near) for groups in moved)


def test_a_region_is_connected() -> None:
    problem = small_problem(4, ops=30, devices=2, cpu=False)
    neighbourhood = make_neighbourhood(problem)
    first = neighbourhood.first_neighbour
    moved = moves_of(REGION, [])
    assert max(map(len, moved)) > 2
    for groups in moved:
        reached = {min(groups)}
        for _ in groups:
            near = {int(near) for at in reached for near in neighbourhood.neighbours[first[at] : first[at + 1]]}
            reached |= near & groups
        assert reached == groups


def test_a_swap_keeps_the_numbers_on_each_device_and_joining_goes_to_a_neighbour() -> None:
    problem = small_problem(4, ops=30, devices=3, cpu=False)
    neighbourhood = make_neighbourhood(problem)
    placement = (np.arange(30) % 3).astype(np.int32)
    trial = trial_at(placement, list(range(30)))
    first = neighbourhood.first_neighbour
    for kind in [SWAP, JOIN] * 100:
        if propose(neighbourhood, trial, only(kind), ONE_LEVEL) != kind:
            continue
        changed = np.flatnonzero(trial.moved != placement).tolist()
        if kind == SWAP:
            assert len(changed) == 2
            assert trial.moved[changed].tolist() == placement[changed[::-1]].tolist()
        else:
            (group,) = changed
            around = neighbourhood.neighbours[first[group] : first[group + 1]]
            assert trial.moved[group] in placement[around]


def test_neighbours_are_those_with_an_edge_between() -> None:
    problem = small_problem(2, ops=12)
    neighbourhood = make_neighbourhood(problem)
    pairs = set(zip(problem.graph.edge_source.tolist(), problem.graph.edge_target.tolist(), strict=True))
    for group in range(12):
        low, high = neighbourhood.first_neighbour[group : group + 2]
        expected = sorted({b for a, b in pairs if a == group} | {a for a, b in pairs if b == group})
        assert neighbourhood.neighbours[low:high].tolist() == expected


@pytest.mark.parametrize(
    ("state", "answer"), [(0, 0xE220A8397B1DCDAF), (0x9E3779B97F4A7C15, 0x6E789E6AA1B965F4)]
)  # the first two numbers of SplitMix64 from the seed 0
def test_random_numbers_are_those_of_the_generator(state: int, answer: int) -> None:
    assert uniform(np.array([state], dtype=np.uint64)) == (answer >> 11) / 2**53


@given(st.integers(0, 2**64 - 1), st.integers(1, 10**6))
def test_random_numbers_lie_below_their_bound(state: int, bound: int) -> None:
    assert 0 <= below(np.array([state], dtype=np.uint64), bound) < bound


PAIRS, TENS = np.arange(30, dtype=np.int32) // 2, np.arange(30, dtype=np.int32) // 10


def with_levels(devices: int = 3, *, pins: bool = False) -> tuple[PlacementProblem, Neighbourhood]:
    """30 units, which are three groups of ten at the coarsest level and 15 of two at the one between."""
    problem = small_problem(4, ops=30, devices=devices, cpu=False, pins=pins)
    coarser = [coarse(problem.grouping, of_unit) for of_unit in (TENS, PAIRS)]
    return problem, make_neighbourhood(problem, [*coarser, problem.grouping])


def coarse(finer: Grouping, group_of_op: NDArray[np.int32]) -> Grouping:
    """A grouping as far as moves read it."""
    names = tuple(map(str, range(int(group_of_op.max()) + 1)))
    return dataclasses.replace(finer, names=names, group_of_op=group_of_op.copy())


def at(level: int) -> NDArray[np.float64]:
    """Shares with which `propose` makes moves of this level alone."""
    return np.cumsum(np.arange(3) == level).astype(np.float64)


@given(st.integers(0, 10_000), st.sampled_from(range(KINDS)), st.integers(0, 2))
def test_a_move_at_any_level_leads_elsewhere_and_keeps_the_pins(seed: int, kind: int, level: int) -> None:
    problem, neighbourhood = with_levels(pins=True)
    rng = np.random.default_rng(seed)
    placement = random_placements(problem.allowed, 1, rng)[0]
    trial = trial_at(placement, rng.integers(0, 30, 5).tolist(), seed)
    propose(neighbourhood, trial, only(kind), at(level))
    assert np.array_equal(trial.placement, placement)
    assert not np.array_equal(trial.moved, placement)
    assert problem.respects(trial.moved[None, :]).all()


@pytest.mark.parametrize(("level", "group_of_unit"), [(0, TENS), (1, PAIRS)])
def test_from_whole_groups_every_move_leads_to_whole_groups(level: int, group_of_unit: NDArray[np.int32]) -> None:
    _, neighbourhood = with_levels()
    for seed in range(20):
        placement = np.random.default_rng(seed).integers(0, 3, 15, dtype=np.int32)[group_of_unit]
        trial = trial_at(placement, list(range(29, -1, -1)), seed)
        for kind in range(KINDS):
            propose(neighbourhood, trial, only(kind), at(level))
            first = np.unique(group_of_unit, return_index=True)[1]
            assert np.array_equal(trial.moved, trial.moved[first][group_of_unit])


def test_a_split_group_moves_whole_or_as_far_as_it_is_on_one_device() -> None:
    _, neighbourhood = with_levels()
    placement = (np.arange(30) % 2).astype(np.int32)
    trial = trial_at(placement, [])
    halves = {frozenset(range(first, first + 10, 2)) for first in (0, 1, 10, 11, 20, 21)}
    wholes = {frozenset(range(first, first + 10)) for first in (0, 10, 20)}
    found = set()
    for _ in range(300):
        assert propose(neighbourhood, trial, only(SINGLE), at(0)) == SINGLE
        found.add(frozenset(np.flatnonzero(trial.moved != placement).tolist()))
    assert found == halves | wholes


def test_equal_devices_that_nothing_uses_are_one_choice() -> None:
    problem = small_problem(4, ops=30, devices=5, cpu=False, latency_us=1.0)
    neighbourhood = make_neighbourhood(problem)
    placement = (np.arange(30) % 2 * 3).astype(np.int32)
    trial = trial_at(placement, list(range(30)))
    reached = set()
    for kind in list(range(KINDS)) * 200:
        propose(neighbourhood, trial, only(kind), ONE_LEVEL)
        reached |= set(trial.moved[trial.moved != placement].tolist())
    assert reached == {0, 1, 3}, "devices 0 and 3 are used; of 1, 2 and 4 the first stands for all"


def test_unused_devices_that_differ_are_a_choice_each() -> None:
    problem = small_problem(4, ops=30, devices=3, latency_us=1.0)
    neighbourhood = make_neighbourhood(problem)
    trial = trial_at(np.zeros(30, np.int32), [])
    reached = set()
    for _ in range(200):
        propose(neighbourhood, trial, only(SINGLE), ONE_LEVEL)
        reached |= set(trial.moved.tolist())
    assert reached == {0, 1, 3}, "the second of three GPUs, and the CPU"


def test_a_level_without_a_share_is_never_moved() -> None:
    _, neighbourhood = with_levels()
    trial = trial_at(np.zeros(30, np.int32), [])
    shares, sizes = np.cumsum([1.0, 0.0, 1.0]), set()
    for _ in range(200):
        propose(neighbourhood, trial, only(SINGLE), shares)
        sizes.add(int(np.count_nonzero(trial.moved)))
    assert sizes == {1, 10}
