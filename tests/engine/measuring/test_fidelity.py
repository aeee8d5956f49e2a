"""Fidelity in closed form: step times whose order, ratios and noise are known."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.measuring.fidelity import MeasuredSteps, fidelity, spearman


def measured(step_time_us: list[float], *, again: float = 1.0, rounds: int = 2) -> MeasuredSteps:
    """Three equal steps of each placement in each round; the second visit of the first takes `again` times as long."""
    visits = [[number, us, us, us] for number, us in enumerate(step_time_us)]
    return MeasuredSteps.of_rounds([[*visits, [0, *[again * step_time_us[0]] * 3]]] * rounds, len(step_time_us))


def test_a_simulation_that_is_right_but_for_a_factor() -> None:
    found: Any = fidelity(measured([100.0, 200.0, 400.0]), np.array([50.0, 100.0, 200.0]))
    assert found["spearman"] == found["kendall"] == found["kendall_fastest"] == found["reachable_spearman"] == 1.0
    assert (found["pairs"], found["ordered_pairs"], found["top_1_regret"]) == (3, 1.0, 0.0)
    assert (found["top_1_regret_cross_checked"], found["top_1_regret_error"]) == (0.0, None)
    assert found["median_ratio"] == found["least_ratio"] == found["greatest_ratio"] == 2.0


def test_a_simulation_that_swaps_two_of_three() -> None:
    found: Any = fidelity(measured([100.0, 120.0, 400.0]), np.array([110.0, 100.0, 200.0]))
    assert found["spearman"] == pytest.approx(0.5) and found["kendall"] == pytest.approx(1 / 3)
    assert found["ordered_pairs"] == pytest.approx(2 / 3)
    assert found["top_1_regret"] == pytest.approx(0.2)
    assert (found["least_ratio"], found["greatest_ratio"]) == (pytest.approx(100 / 110), pytest.approx(2.0))


def test_pairs_within_the_noise_do_not_count() -> None:
    noisy = measured([100.0, 104.0, 400.0], again=1.1, rounds=1)
    assert noisy.noise == pytest.approx(np.log(1.1) / np.sqrt(2))
    found: Any = fidelity(noisy, np.array([2.0, 1.0, 3.0]))
    assert (found["pairs"], found["ordered_pairs"]) == (2, 1.0)


def by_round(step_time_us: list[list[float]]) -> MeasuredSteps:
    """[rounds][placements] one step each; the second visit of the first placement takes ten times as long."""
    rounds = [[*([float(n), us] for n, us in enumerate(times)), [0, 10 * times[0]]] for times in step_time_us]
    return MeasuredSteps.of_rounds(rounds, len(step_time_us[0]))


def drawn(log_us: NDArray[np.float64], deviation: float, rounds: int, rng: np.random.Generator) -> MeasuredSteps:
    """Placements of these true step times; each round takes longer or shorter for all alike."""
    placements = len(log_us)
    of_rounds = rng.normal(0.0, 0.3, (rounds, 1))
    times_us = np.exp(log_us + of_rounds + rng.normal(0.0, deviation, (rounds, placements)))
    return by_round(times_us.tolist())


def test_what_changes_between_rounds_for_all_alike_is_no_noise() -> None:
    assert by_round([[100.0, 200.0, 400.0], [150.0, 300.0, 600.0]]).noise == pytest.approx(0.0, abs=1e-12)


def test_the_noise_is_pooled_over_all_placements() -> None:
    """The last placement takes e^0.3 times as long in the second round, so the rest of the logs is ±0.05 and ±0.1."""
    noisy = by_round([[100.0, 200.0, 400.0], [100.0, 200.0, 400.0 * np.exp(0.3)]])
    assert noisy.noise == pytest.approx(np.sqrt((4 * 0.05**2 + 2 * 0.1**2) / 2))
    assert noisy.step_time_noise == pytest.approx(noisy.noise / np.sqrt(2))


def test_the_noise_of_drawn_step_times_is_their_deviation() -> None:
    rng = np.random.default_rng(0)
    found = [drawn(rng.normal(0.0, 0.5, 60), 0.03, 3, rng).noise for _ in range(50)]
    assert np.mean(found) == pytest.approx(0.03, rel=0.02)
    assert np.std(found) == pytest.approx(0.03 / np.sqrt(2 * 59 * 2), rel=0.3), "118 degrees of freedom"


def test_the_noise_of_a_single_round_is_that_of_the_placement_with_two_visits() -> None:
    assert measured([100.0, 200.0], again=1.1, rounds=1).noise == pytest.approx(np.log(1.1) / np.sqrt(2))
    alone = measured([100.0], again=1.1, rounds=3)
    assert alone.noise == pytest.approx(np.log(1.1) / np.sqrt(2)) and alone.spread == 0.0
    assert alone.step_time_noise == pytest.approx(alone.noise / np.sqrt(3))


def test_the_reachable_correlation_is_that_of_the_mean_of_all_rounds() -> None:
    """Three rounds of four placements, two of which are swapped with their neighbour: 0.8, 0.8 and 0.6 of each two."""
    rounds = [[1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0]]
    alike = (0.8 + 0.8 + 0.6) / 3
    assert by_round(rounds).reachable_spearman == pytest.approx(np.sqrt(3 * alike / (1 + 2 * alike)))
    assert by_round([rounds[0], rounds[0][::-1]]).reachable_spearman is None, "rounds in opposite orders"


def test_a_right_simulation_reaches_the_reachable_correlation() -> None:
    rng = np.random.default_rng(0)
    reached, reachable = [], []
    for _ in range(50):
        log_us = rng.normal(0.0, 0.1, 60)
        steps = drawn(log_us, 0.05, 3, rng)
        reached.append(spearman(np.log(steps.times_us).mean(axis=(1, 2)), np.exp(log_us)))
        reachable.append(steps.reachable_spearman)
    assert np.mean(np.array(reachable)) == pytest.approx(np.mean(np.array(reached)), abs=0.01)


def test_pairs_of_equal_simulated_times_do_not_count() -> None:
    steps = measured([100.0, 120.0, 400.0])
    found: Any = fidelity(steps, np.array([50.0, 50.0 * (1 + 1e-12), 90.0]))
    assert (found["pairs"], found["ordered_pairs"]) == (2, 1.0)
    found = fidelity(steps, np.array([50.0, 50.0, 50.0]))
    assert (found["pairs"], found["ordered_pairs"]) == (0, None)


def test_the_cross_checked_regret_takes_the_fastest_by_the_other_rounds() -> None:
    """By the others the second placement is fastest in the first and third round, the first one in the second."""
    found: Any = fidelity(by_round([[100.0, 90.0], [120.0, 60.0], [100.0, 112.0]]), np.array([2.0, 1.0]))
    logs = [0.0, np.log(60 / 120), 0.0]
    assert found["top_1_regret_cross_checked"] == pytest.approx(np.exp(np.mean(logs)) - 1)
    assert found["top_1_regret_error"] == pytest.approx(np.std(logs, ddof=1) / np.sqrt(3))


def test_noise_makes_the_regret_of_equal_placements_but_not_the_cross_checked_one() -> None:
    rng = np.random.default_rng(0)
    found: Any = [fidelity(drawn(np.zeros(10), 0.05, 3, rng), np.arange(1.0, 11.0)) for _ in range(400)]
    assert np.mean([each["top_1_regret"] for each in found]) > 0.04
    cross_checked = np.array([each["top_1_regret_cross_checked"] for each in found])
    assert abs(np.log1p(cross_checked).mean()) < 0.005


def test_equal_step_times_have_no_order_and_a_single_round_no_reachable_one() -> None:
    found: Any = fidelity(measured([100.0, 100.0], rounds=1), np.array([1.0, 2.0]))
    assert found["spearman"] is None and found["kendall"] is None and found["reachable_spearman"] is None
    assert found["top_1_regret_cross_checked"] is None and found["top_1_regret_error"] is None
    assert (found["pairs"], found["ordered_pairs"]) == (0, None)
