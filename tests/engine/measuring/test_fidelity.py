"""Fidelity in closed form: step times whose order, ratios and noise are known."""

from typing import Any

import numpy as np
import pytest

from engine.measuring.fidelity import MeasuredSteps, fidelity


def measured(step_time_us: list[float], *, again: float = 1.0, rounds: int = 2) -> MeasuredSteps:
    """Three equal steps of each placement in each round; the second visit of the first takes `again` times as long."""
    visits = [[number, us, us, us] for number, us in enumerate(step_time_us)]
    return MeasuredSteps.of_rounds([[*visits, [0, *[again * step_time_us[0]] * 3]]] * rounds, len(step_time_us))


def test_a_simulation_that_is_right_but_for_a_factor() -> None:
    found: Any = fidelity(measured([100.0, 200.0, 400.0]), np.array([50.0, 100.0, 200.0]))
    assert found["spearman"] == found["kendall"] == found["kendall_fastest"] == found["reachable_spearman"] == 1.0
    assert (found["pairs"], found["ordered_pairs"], found["top_1_regret"]) == (3, 1.0, 0.0)
    assert found["median_ratio"] == found["least_ratio"] == found["greatest_ratio"] == 2.0


def test_a_simulation_that_swaps_two_of_three() -> None:
    found: Any = fidelity(measured([100.0, 120.0, 400.0]), np.array([110.0, 100.0, 200.0]))
    assert found["spearman"] == pytest.approx(0.5) and found["kendall"] == pytest.approx(1 / 3)
    assert found["ordered_pairs"] == pytest.approx(2 / 3)
    assert found["top_1_regret"] == pytest.approx(0.2)
    assert (found["least_ratio"], found["greatest_ratio"]) == (pytest.approx(100 / 110), pytest.approx(2.0))


def test_pairs_within_the_noise_do_not_count() -> None:
    noisy = measured([100.0, 104.0, 400.0], again=1.1)
    assert noisy.noise == pytest.approx(np.log(1.1) / np.sqrt(2))
    found: Any = fidelity(noisy, np.array([2.0, 1.0, 3.0]))
    assert (found["pairs"], found["ordered_pairs"]) == (2, 1.0)


def test_the_noise_is_that_of_one_measurement() -> None:
    rng = np.random.default_rng(0)
    rounds = [
        [[number, us * np.exp(rng.normal(0.0, 0.03))] for number, us in [(0, 100.0), (1, 200.0), (0, 100.0)]]
        for _ in range(4000)
    ]
    assert MeasuredSteps.of_rounds(rounds, 2).noise == pytest.approx(0.03, rel=0.05)


def test_equal_step_times_have_no_order_and_a_single_round_no_reachable_one() -> None:
    found: Any = fidelity(measured([100.0, 100.0], rounds=1), np.array([1.0, 2.0]))
    assert found["spearman"] is None and found["kendall"] is None and found["reachable_spearman"] is None
    assert (found["pairs"], found["ordered_pairs"]) == (0, None)
