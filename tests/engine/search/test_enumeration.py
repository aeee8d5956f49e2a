"""All placements are come by, each once; the exhaustive method finds what brute force finds."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.events import FromPlacer, PlacerState
from engine.placers.exhaustive import Exhaustive
from engine.problem import Budget, PlacementProblem
from engine.search.apart_table import make_apart_table
from engine.search.chunk_result import new_chunk_result
from engine.search.enumeration import (
    MOST_COUNTED,
    Odometer,
    at_placement,
    count_placements,
    enumerate_placements,
    first_placement,
)
from engine.search.symmetry import interchangeable_devices
from tests.engine.placers.small_problems import small_problem

Heard = list[FromPlacer]


def brute_force(allowed: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    return list(itertools.product(*(np.flatnonzero(row).tolist() for row in allowed)))


def canonical(placement: tuple[int, ...], classes: list[int]) -> tuple[int, ...]:
    """The same placement with the devices of each class named anew, in the order in which they are used."""
    names: dict[int, int] = {}
    free = {own: [device for device in range(len(classes)) if classes[device] == own] for own in set(classes)}
    for device in placement:
        if device not in names:
            names[device] = free[classes[device]].pop(0)
    return tuple(names[device] for device in placement)


def come_by(problem: PlacementProblem, odometer: Odometer, count: int) -> list[tuple[int, ...]]:
    """The placements of `count` turns of the odometer."""
    scratch, found = problem.simulator.new_scratch(), new_chunk_result(problem.group_count)
    seen = []
    for _ in range(count):
        seen.append(tuple(odometer.placement.tolist()))
        tables, memory_bytes = problem.simulator.tables, problem.memory_bytes
        enumerate_placements(tables, scratch, memory_bytes, odometer, found, 1, make_apart_table(problem))
    return seen


@given(st.data())
def test_each_placement_comes_once_up_to_the_names_of_alike_devices(data: st.DataObject) -> None:
    devices, groups = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    classes = np.unique(data.draw(st.lists(st.integers(0, 2), min_size=devices, max_size=devices)), return_inverse=True)
    class_of_device = classes[1].astype(np.int32)
    open_classes = st.sets(st.sampled_from(class_of_device.tolist()), min_size=1)
    rows = [data.draw(open_classes) for _ in range(groups)]
    allowed = np.array([[own in row for own in class_of_device.tolist()] for row in rows])
    problem = small_problem(0, ops=groups, devices=devices, cpu=False)
    count = count_placements(allowed, class_of_device)
    seen = come_by(problem, first_placement(allowed, class_of_device), count)
    assert len(set(seen)) == count
    most = data.draw(st.integers(1, 2 * count))
    assert count_placements(allowed, class_of_device, most) == min(count, most)
    assert set(seen) == {canonical(placement, class_of_device.tolist()) for placement in brute_force(allowed)}


@pytest.mark.parametrize("classes", [np.arange(40), np.arange(40) // 8, np.zeros(40)])
def test_on_many_devices_there_are_too_many_before_anything_is_counted(classes: NDArray[np.float64]) -> None:
    allowed = np.ones((128, 40), dtype=bool)
    assert count_placements(allowed, classes.astype(np.int32)) == MOST_COUNTED
    assert count_placements(allowed, classes.astype(np.int32), 100) == 100


@pytest.mark.parametrize("pins", [False, True])
@pytest.mark.parametrize("memory_bytes", [10**9, 8 * 10**6, 1000])
@pytest.mark.parametrize("latency_us", [0.0, 3.0])
def test_it_equals_brute_force(pins: bool, memory_bytes: int, latency_us: float) -> None:
    problem = small_problem(3, devices=2, pins=pins, memory_bytes=memory_bytes, evaluations=5000, latency_us=latency_us)
    Exhaustive().place(problem, np.random.default_rng(0), lambda: False)
    every = problem.simulator.evaluate(np.array(brute_force(problem.allowed), dtype=np.int32))
    pairs = list(zip(problem.missing_bytes(every).tolist(), every.step_time_us.tolist(), strict=True))
    answer = problem.simulator.evaluate(problem.ledger.answer()[None, :])
    assert (int(problem.missing_bytes(answer)[0]), float(answer.step_time_us[0])) == min(pairs)
    assert problem.ledger.missing_bytes == min(pairs)[0]


def test_with_alike_devices_it_needs_fewer_evaluations_and_its_mean_is_that_of_what_it_made() -> None:
    problem = small_problem(3, devices=3, cpu=False, evaluations=5000, latency_us=3.0)
    Exhaustive().place(problem, np.random.default_rng(0), lambda: False)
    classes = interchangeable_devices(problem).tolist()
    made = sorted({canonical(placement, classes) for placement in brute_force(problem.allowed)})
    assert problem.ledger.used == len(made) == (3**7 + 3) // 6 == 365
    step_times_us = problem.simulator.evaluate(np.array(made, dtype=np.int32)).step_time_us
    assert problem.ledger.mean_step_time_us == pytest.approx(step_times_us.mean())


def test_a_budget_too_small_is_refused_with_the_number_of_placements() -> None:
    problem = small_problem(1, evaluations=2000)
    problem.evaluate(np.zeros((2, problem.group_count), np.int32))
    with pytest.raises(SettingsError) as caught:
        Exhaustive().place(problem, np.random.default_rng(0), lambda: False)
    assert str(caught.value) == (
        "exhaustive: there are 2187 placements and 1998 evaluations left; "
        "allowed: at least 2189 evaluations, of which 2 are spent already"
    )
    assert caught.value.field == "evaluations"
    assert problem.ledger.used == 2


def test_a_number_of_placements_beyond_all_budgets_is_reported() -> None:
    problem = small_problem(3, ops=200)
    with pytest.raises(SettingsError, match=r"more than 1e\+18 placements"):
        Exhaustive().place(problem, np.random.default_rng(0), lambda: False)


@pytest.mark.parametrize("value", [True, "soon", -1, float("nan")])
def test_bad_settings_are_refused(value: bool | str | float) -> None:
    with pytest.raises(SettingsError, match="exhaustive checkpoint_seconds"):
        Exhaustive(checkpoint_seconds=value)


def test_it_goes_on_from_its_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.placers.exhaustive.chunk_size", lambda _: 100)
    whole, cut = small_problem(1, evaluations=5000), small_problem(1, evaluations=5000)
    Exhaustive().place(whole, np.random.default_rng(0), lambda: False)
    heard: Heard = []
    first = Exhaustive(checkpoint_seconds=0)
    cut = cut.reporting_to(heard.append)
    first.place(cut, np.random.default_rng(0), lambda: cut.ledger.used >= 700)
    states = [event.state for event in heard if isinstance(event, PlacerState)]
    assert json.loads(states[-1])["left"] == 2187 - 700
    second = Exhaustive()
    second.resume(states[-1])
    second.place(cut, np.random.default_rng(9), lambda: False)
    assert cut.ledger.used == whole.ledger.used == 2187
    assert cut.ledger.answer().tolist() == whole.ledger.answer().tolist()


def test_the_odometer_can_be_turned_to_any_placement_it_comes_by() -> None:
    problem = small_problem(3, devices=3, cpu=False, evaluations=5000, latency_us=3.0)
    classes = interchangeable_devices(problem)
    seen = come_by(problem, first_placement(problem.allowed, classes), 300)
    other = first_placement(problem.allowed, classes)
    at_placement(other, np.array(seen[200], dtype=np.int32))
    assert come_by(problem, other, 100) == seen[200:]


def test_the_budget_of_the_ledger_holds() -> None:
    problem = small_problem(1, evaluations=2187)
    assert problem.ledger.budget == Budget(2187)
    Exhaustive().place(problem, np.random.default_rng(0), lambda: False)
    assert problem.ledger.remaining == 0
