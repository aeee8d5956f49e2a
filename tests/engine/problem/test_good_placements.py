"""The good placements that a run keeps: the best ones, of which no two are alike."""

import numpy as np
import pytest

from engine.problem import Budget, Ledger
from engine.problem.good_placements import MOST_KEPT, GoodPlacements, most_in_common
from engine.problem.ledger import Parent

GROUPS = 100
ALL_ALIKE = np.zeros(4, dtype=np.int32)
NONE_ALIKE = np.arange(4, dtype=np.int32)


def with_moved(count: int, device: int = 1) -> np.ndarray:
    """All groups on device 0, the first `count` of them on another one."""
    placement = np.zeros(GROUPS, dtype=np.int32)
    placement[:count] = device
    return placement


def kept(good: GoodPlacements) -> list[float]:
    return [float(step_time_us) for step_time_us in good.state()[1]]


def add(good: GoodPlacements, placement: np.ndarray, step_time_us: float) -> None:
    good.add(placement[None, :], np.array([step_time_us]))


def test_of_placements_that_differ_in_few_groups_the_best_is_kept() -> None:
    good = GoodPlacements(NONE_ALIKE)
    for moved, step_time_us in ((0, 10.0), (4, 9.0), (2, 11.0), (9, 12.0)):
        add(good, with_moved(moved), step_time_us)
    assert kept(good) == [9.0, 12.0]
    np.testing.assert_array_equal(good.placements()[0], with_moved(4))


def test_a_better_placement_takes_the_place_of_all_that_are_like_it() -> None:
    good = GoodPlacements(NONE_ALIKE)
    for moved, step_time_us in ((0, 10.0), (8, 11.0), (20, 12.0), (4, 9.0)):
        add(good, with_moved(moved), step_time_us)
    assert kept(good) == [9.0, 12.0]


@pytest.mark.parametrize(("classes", "expected"), [(ALL_ALIKE, [10.0]), (NONE_ALIKE, [10.0, 11.0])])
def test_an_exchange_of_equal_devices_is_no_other_placement(classes: np.ndarray, expected: list[float]) -> None:
    good, rng = GoodPlacements(classes), np.random.default_rng(0)
    placement = rng.integers(0, 4, GROUPS).astype(np.int32)
    add(good, placement, 10.0)
    add(good, np.array([2, 3, 1, 0], dtype=np.int32)[placement], 11.0)
    assert kept(good) == expected


def test_the_best_ten_are_kept_whatever_the_order_and_the_batches() -> None:
    rng = np.random.default_rng(1)
    placements = rng.integers(0, 4, (200, GROUPS)).astype(np.int32)
    times = rng.uniform(1.0, 2.0, 200)
    expected = sorted(times.tolist())[:MOST_KEPT]
    for order in (np.arange(200), rng.permutation(200)):
        good = GoodPlacements(NONE_ALIKE)
        for part in np.array_split(order, 7):
            good.add(placements[part], times[part])
        assert kept(good) == expected


def test_the_first_of_equals_stays_the_best() -> None:
    good = GoodPlacements(NONE_ALIKE)
    for moved in (50, 0, 51):
        add(good, with_moved(moved), 10.0)
    np.testing.assert_array_equal(good.placements(), [with_moved(50), with_moved(0)])


def test_what_two_placements_share_is_counted_under_the_best_names() -> None:
    one = np.array([0, 0, 0, 1, 1, 2], dtype=np.int32)
    other = np.array([1, 1, 0, 0, 0, 2], dtype=np.int32)
    assert most_in_common(one, other, np.zeros(3, dtype=np.int32)) == 5
    assert most_in_common(one, other, np.arange(3, dtype=np.int32)) == 2
    assert most_in_common(one, other, np.array([0, 1, 0], dtype=np.int32)) == 2


def test_a_ledger_keeps_good_ones_of_its_parts_and_none_that_misses_memory() -> None:
    whole = Ledger(Budget(100))
    whole.good = GoodPlacements(NONE_ALIKE)
    part = Ledger(Budget(100), parent=Parent(whole))
    placements = np.stack([with_moved(0), with_moved(30), with_moved(60)])
    part.note(placements, np.array([3.0, 2.0, 1.0]), np.array([0, 0, 7]))
    assert kept(whole.good) == [2.0, 3.0]
    np.testing.assert_array_equal(whole.good.placements()[0], whole.answer())


def test_a_ledger_goes_on_with_what_it_kept() -> None:
    first, second = Ledger(Budget(100)), Ledger(Budget(100))
    first.good, second.good = GoodPlacements(NONE_ALIKE), GoodPlacements(NONE_ALIKE)
    first.note(np.stack([with_moved(0), with_moved(30)]), np.array([3.0, 2.0]), np.array([0, 0]))
    second.restore(first.state())
    assert kept(second.good) == [2.0, 3.0]
    np.testing.assert_array_equal(second.good.placements()[0], second.answer())
