"""What a measurement says in words, and its plot."""

import math
from typing import Any

import pytest

from webapp.pages.measurements.result import figures_of, sentences_of
from webapp.pages.measurements.scatter import HEIGHT, WIDTH, Scatter, Spot, scatter_of


def report(spearman: float | None, regret: float, placements: int = 20) -> dict[str, Any]:
    fidelity = {"spearman": spearman, "top_1_regret": regret}
    ratios = {"least_ratio": 0.5, "median_ratio": 12.34, "greatest_ratio": 1234.0}
    return {"placements": [{}] * placements, "noise": 0.02, "spread": 1.5, "fidelity": fidelity | ratios}


@pytest.mark.parametrize(
    ("spearman", "words"),
    [
        (0.95, "orders these 20 placements almost as this machine does."),
        (0.7, "orders these 20 placements roughly as this machine does."),
        (0.5, "orders these 20 placements only loosely as this machine does."),
        (-0.2, "orders these 20 placements in an order that says little about this machine."),
        (None, "gives these 20 placements no order: all their times are equal."),
    ],
)
def test_the_first_sentence_says_how_far_the_order_can_be_trusted(spearman: float | None, words: str) -> None:
    first, second, *rest = sentences_of(report(spearman, 0.034))
    assert first == f"The simulator {words}"
    assert second == "The one that it calls fastest takes 3.4 % longer here than the measured fastest."
    assert rest == [
        "A measured step takes 12.3 times the simulated one in the median, 0.5 to 1,234 times over all.",
        "The placements differ by 150 % from each other; measured again, one differs by 2 % from itself.",
    ]


@pytest.mark.parametrize(
    ("regret", "error", "words"),
    [(0.034, 0.012, "3.4 % ± 1.2 %"), (-0.004, 0.006, "−0.4 % ± 0.6 %"), (0.034, None, "3.4 %"), (None, None, "–")],
)
def test_the_cross_checked_regret_has_its_standard_error(regret: float | None, error: float | None, words: str) -> None:
    reported = report(0.9, 0.05)
    figures = ("kendall", "kendall_fastest", "reachable_spearman", "ordered_pairs")
    reported["fidelity"] |= {**dict.fromkeys(figures), "pairs": 0}
    reported["fidelity"] |= {"top_1_regret_cross_checked": regret, "top_1_regret_error": error}
    [line] = [line for line in figures_of(reported) if line.heading == "Regret, cross-checked"]
    assert line.value == words


def plot(ratio: float, simulated_us: list[float]) -> Scatter:
    return scatter_of([Spot("x", time_us, ratio * time_us, [ratio * time_us], False) for time_us in simulated_us])


@pytest.mark.parametrize("simulated_us", [[100.0], [100.0, 101.0], [1.0, 3e3, 9e6], [40e3, 45e3, 55e3], [150.0, 16e3]])
@pytest.mark.parametrize("ratio", [0.01, 0.9, 1.0, 12.0])
def test_every_spot_and_tick_lies_in_the_plot_and_ticks_are_apart(ratio: float, simulated_us: list[float]) -> None:
    scatter = plot(ratio, simulated_us)
    assert all(scatter.left <= spot.x <= scatter.right for spot in scatter.spots)
    assert all(scatter.top <= spot.y <= spot.low <= scatter.bottom or spot.y == spot.low for spot in scatter.spots)
    for ticks in (scatter.x_ticks, scatter.y_ticks):
        places = sorted(tick.at for tick in ticks)
        assert 1 <= len(ticks) <= 6
        assert places[0] >= 0 and places[-1] <= max(WIDTH, HEIGHT)
        assert len({tick.words for tick in ticks}) == len(ticks)


def test_equal_times_lie_on_the_line_and_longer_ones_above_it() -> None:
    for ratio, side in ((1.0, 0), (1.5, 1)):
        scatter = plot(ratio, [100.0, 1000.0])
        assert scatter.equal is not None
        left, low, right, high = scatter.equal
        for spot in scatter.spots:
            on_line = low + (spot.x - left) / (right - left) * (high - low)
            above = on_line - spot.y
            assert math.isclose(above, 0, abs_tol=0.2) if side == 0 else above > 1


def test_a_line_of_equal_times_that_is_far_away_is_left_out() -> None:
    assert plot(100.0, [100.0, 110.0]).equal is None
