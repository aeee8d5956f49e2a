"""Closed forms: penalty, returns, return baseline."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.placeto.learning.rewards import PenalisedTime, ReturnBaseline, intermediate_returns, terminal_returns
from engine.placeto.settings import make_settings

GB = 10**9


def test_the_published_penalty_is_two_seconds_per_missing_gb_up_to_ten() -> None:
    penalty = PenalisedTime(unit_us=1e6, penalty=2.0, cap=10.0, per_device_memory=False)
    step_time_us = np.array([1.5e6, 1.5e6, 1.5e6, 1.5e6, 30e6])
    peaks = np.array([[8, 8], [9, 1], [9, 11], [15, 0], [0, 0]]) * GB
    memory = np.array([8, 8]) * GB
    assert penalty.penalised(step_time_us, peaks, memory) == pytest.approx([1.5, 3.5, 7.5, 10.0, 10.0])


def test_each_device_has_its_own_memory() -> None:
    penalty = PenalisedTime(unit_us=1e6, penalty=2.0, cap=10.0, per_device_memory=False)
    peaks = np.array([[6, 6]]) * GB
    assert penalty.penalised(np.array([1e6]), peaks, np.array([8, 4]) * GB) == pytest.approx([5.0])


def test_with_a_reference_missing_memory_is_a_share_of_the_device() -> None:
    penalty = PenalisedTime(unit_us=500.0, penalty=2.0, cap=10.0, per_device_memory=True)
    peaks = np.array([[12, 0], [0, 6]]) * GB
    assert penalty.penalised(np.array([500.0, 1000.0]), peaks, np.array([8, 4]) * GB) == pytest.approx([2.0, 3.0])


def test_by_default_a_slow_placement_that_fits_is_better_than_a_fast_one_that_misses_a_percent() -> None:
    settings = make_settings({})
    penalty = PenalisedTime(1.0, settings.memory_penalty, settings.penalised_cap, per_device_memory=True)
    fits, misses = penalty.penalised(np.array([1.9, 1.0]), np.array([[1000, 0], [1010, 0]]), np.array([1000, 1000]))
    assert fits < misses < settings.penalised_cap


def test_terminal_returns_are_the_end_at_every_step() -> None:
    assert terminal_returns(np.array([2.0, 3.0]), 3).tolist() == [[-2.0] * 3, [-3.0] * 3]


@given(st.lists(st.floats(0, 100), min_size=2, max_size=20))
def test_intermediate_returns_are_sums_of_the_rewards_to_come(values: list[float]) -> None:
    states = np.array([values])
    rewards = states[0, :-1] - states[0, 1:]
    expected = [rewards[step:].sum() for step in range(len(rewards))]
    assert intermediate_returns(states)[0] == pytest.approx(expected, abs=1e-9)


def test_the_baseline_is_the_mean_at_the_same_step_over_the_last_episodes() -> None:
    baseline = ReturnBaseline(episodes=2, steps=2)
    baseline.add(np.array([[100.0, 200.0], [1.0, 10.0]]))
    baseline.add(np.array([[3.0, 20.0]]))
    assert baseline.advantages(np.array([[5.0, 5.0]]), normalise=False).tolist() == [[3.0, -10.0]]


def test_the_first_batch_is_its_own_baseline() -> None:
    advantages = ReturnBaseline(episodes=10, steps=1).advantages(np.array([[1.0], [3.0]]), normalise=False)
    assert advantages.tolist() == [[-1.0], [1.0]]


def test_normalised_advantages_do_not_depend_on_the_unit() -> None:
    returns = np.random.default_rng(0).normal(size=(8, 5))
    small, large = (ReturnBaseline(10, 5).advantages(scale * returns, normalise=True) for scale in (100.0, 10000.0))
    assert small == pytest.approx(large, rel=1e-3)
    assert small.std() == pytest.approx(1.0, rel=1e-2)


def test_normalised_advantages_are_bounded() -> None:
    baseline = ReturnBaseline(100, 1)
    baseline.add(np.zeros((99, 1)))
    assert baseline.advantages(np.array([[-50.0]]), normalise=True).tolist() == [[-4.0]]
