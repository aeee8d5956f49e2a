"""What must be apart is apart: against slow twins that try all placements."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import InfeasibleError
from engine.files.compiled import compiled
from engine.graphs.apart import NOTHING_APART, Apart
from engine.search.apart_table import ApartTable, keeps_apart

MEMBERS = 6
Rules = list[list[NDArray[np.int64]]]


def drawn_rules(rng: np.random.Generator) -> Rules:
    """One or two rules of two or three disjoint parts each."""
    rules: Rules = []
    for _ in range(rng.integers(1, 3)):
        members = rng.permutation(MEMBERS)[: rng.integers(2, MEMBERS + 1)]
        cuts = np.sort(rng.choice(np.arange(1, len(members)), min(len(members) - 1, int(rng.integers(1, 3))), False))
        rules.append([np.sort(part) for part in np.split(members, cuts)])
    return rules


def obeys(rules: Rules, placement: NDArray[np.integer]) -> bool:
    """Pair by pair."""
    return not any(
        placement[one] == placement[other]
        for parts in rules
        for part, others in itertools.combinations(parts, 2)
        for one in part
        for other in others
    )


@compiled
def _keeps(table: ApartTable, placement: NDArray[np.int32]) -> bool:
    return keeps_apart(table, placement)


@pytest.mark.parametrize("seed", range(200))
def test_rules_are_checked_pair_by_pair(seed: int) -> None:
    """By numpy for a batch, in compiled code for one placement."""
    rng = np.random.default_rng(seed)
    rules, devices = drawn_rules(rng), int(rng.integers(1, 5))
    apart = Apart.of(rules)
    placements = rng.integers(0, devices, (20, MEMBERS)).astype(np.int32)
    expected = [obeys(rules, placement) for placement in placements]
    assert apart.keeps(placements, devices).tolist() == expected
    table = ApartTable(apart.rule.copy(), apart.part.copy(), apart.member.copy(), np.zeros(devices, np.int32))
    assert [_keeps(table, placement) for placement in placements] == expected


@pytest.mark.parametrize("seed", range(200))
def test_a_placement_near_a_given_one_is_found_wherever_there_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rules, devices = drawn_rules(rng), int(rng.integers(2, 4))
    apart, allowed = Apart.of(rules), rng.random((MEMBERS, devices)) < 0.7
    allowed[np.arange(MEMBERS), rng.integers(0, devices, MEMBERS)] = True
    given = np.array([rng.choice(np.flatnonzero(row)) for row in allowed])
    all_placements = itertools.product(*(np.flatnonzero(row).tolist() for row in allowed))
    possible = any(obeys(rules, np.array(placement)) for placement in all_placements)
    if not possible:
        with pytest.raises(InfeasibleError, match=r"^no placement was found that keeps apart what the constraints say"):
            apart.kept(given, allowed, range(devices))
        return
    found = apart.kept(given, allowed, range(devices))
    assert obeys(rules, found) and allowed[np.arange(MEMBERS), found].all()
    if obeys(rules, given):
        assert np.array_equal(found, given)
    free = np.setdiff1d(np.arange(MEMBERS), apart.member)
    assert np.array_equal(found[free], given[free])


def test_a_part_spread_over_all_devices_makes_room_for_another() -> None:
    """Each device has members of the first part; only together on one they leave the other for the second."""
    many = 4000
    apart = Apart.of([[np.arange(many), np.array([many])]])
    placement, allowed = np.arange(many + 1) % 3, np.ones((many + 1, 3), dtype=bool)
    found = apart.kept(placement, allowed, range(3))
    assert apart.keeps(found[None, :], 3)[0]


def test_nothing_apart_changes_nothing() -> None:
    placement = np.array([1, 0, 1])
    assert not NOTHING_APART
    assert NOTHING_APART.keeps(placement[None, :], 2)[0]
    assert np.array_equal(NOTHING_APART.kept(placement, np.ones((3, 2), dtype=bool), [0, 1]), placement)


def test_groups_take_the_rules_of_their_ops() -> None:
    apart = Apart.of([[np.array([0, 1]), np.array([4])]]).of_groups(np.array([2, 2, 0, 1, 1]))
    assert (apart.rule.tolist(), apart.part.tolist(), apart.member.tolist()) == ([0, 0], [0, 1], [2, 1])


def test_members_of_one_class_clash() -> None:
    apart = Apart.of([[np.array([0, 1]), np.array([2]), np.array([3])]])
    assert list(apart.clashes(np.array([0, 1, 1, 5]))) == [(0, 1, 2)]
    assert list(apart.clashes(np.arange(4))) == []
