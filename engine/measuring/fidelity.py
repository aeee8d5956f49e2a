"""How far simulated step times can be trusted: their order and their size beside measured ones.

Rank correlations by scipy: Spearman's rho and Kendall's tau-b.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import Json

FASTEST = 20
"""placements among which the order counts most"""
APART = 2.0
"""pairs that differ by more than so many times the noise have an order that a measurement shows"""


@dataclass(frozen=True, slots=True)
class MeasuredSteps:
    """Measured step times of placements."""

    times_us: NDArray[np.float64]
    """[placements, rounds, steps]"""
    noise: float
    """by how much two measurements of one placement in a round differ: the deviation of one, as a share"""
    spread: float
    """by how much placements differ from each other: the deviation of the logarithms of their medians, as a share"""

    @staticmethod
    def of_rounds(rounds: Sequence[Sequence[Sequence[float]]], placements: int) -> "MeasuredSteps":
        """From [rounds][visits] of a placement's number and its step times; the first placement has two visits."""
        steps = len(rounds[0][0]) - 1
        times_us = np.zeros((placements, len(rounds), steps))
        pairs = []
        for number, visits in enumerate(rounds):
            first, *others, last = visits
            assert first[0] == last[0] == 0
            for visit in (first, *others):
                times_us[int(visit[0]), number] = visit[1:]
            pairs.append(np.log(np.median(last[1:]) / np.median(first[1:])))
        noise = float(np.sqrt(np.square(pairs).mean() / 2))
        medians = np.log(np.median(times_us.reshape(placements, -1), axis=1))
        return MeasuredSteps(times_us, noise, float(medians.std(ddof=1)) if placements > 1 else 0.0)

    @property
    def step_time_us(self) -> NDArray[np.float64]:
        """[placements] the median of all steps of each."""
        medians: NDArray[np.float64] = np.median(self.times_us.reshape(len(self.times_us), -1), axis=1)
        return medians

    @property
    def reachable_spearman(self) -> float | None:
        """The mean correlation of one round's order with that of the others: more than that no simulation can show.

        None for a single round.
        """
        by_round = np.median(self.times_us, axis=2)
        count = by_round.shape[1]
        if count < 2:
            return None
        others = [np.median(np.delete(by_round, number, axis=1), axis=1) for number in range(count)]
        found = [spearman(by_round[:, number], others[number]) for number in range(count)]
        known = [each for each in found if each is not None]
        return float(np.mean(known)) if known else None


def fidelity(measured: MeasuredSteps, simulated_us: NDArray[np.float64]) -> dict[str, Json]:
    """How simulated step times [placements] compare with measured ones.

    - `spearman` and `kendall` over all placements, `kendall_fastest` among the `FASTEST` measured fastest;
    - `reachable_spearman`: of one round with the others, which noise bounds;
    - `ordered_pairs`: share of the pairs that differ by more than `APART` deviations of the noise whose simulated order
      is the measured one, with their number `pairs`;
    - `top_1_regret`: measured step of the simulated fastest over that of the measured fastest, less 1;
    - `median_ratio`, `least_ratio`, `greatest_ratio` of measured over simulated.
    """
    measured_us = measured.step_time_us
    fastest = np.argsort(measured_us, kind="stable")[:FASTEST]
    ratios = measured_us / simulated_us
    pairs, ordered = _ordered_pairs(measured_us, simulated_us, APART * measured.noise)
    return {
        "spearman": spearman(measured_us, simulated_us),
        "kendall": _kendall(measured_us, simulated_us),
        "kendall_fastest": _kendall(measured_us[fastest], simulated_us[fastest]),
        "reachable_spearman": measured.reachable_spearman,
        "pairs": pairs,
        "ordered_pairs": ordered,
        "top_1_regret": float(measured_us[int(np.argmin(simulated_us))] / measured_us.min() - 1),
        "median_ratio": float(np.median(ratios)),
        "least_ratio": float(ratios.min()),
        "greatest_ratio": float(ratios.max()),
    }


def _ordered_pairs(
    measured_us: NDArray[np.float64], simulated_us: NDArray[np.float64], apart: float
) -> tuple[int, float | None]:
    """(number of pairs that differ by more than a share of `apart`, share of them in the right order)."""
    first, second = np.triu_indices(len(measured_us), 1)
    differs = np.log(measured_us[first] / measured_us[second])
    counts = np.abs(differs) > apart
    if not counts.any():
        return 0, None
    right = np.sign(simulated_us[first] - simulated_us[second]) == np.sign(differs)
    return int(counts.sum()), float(right[counts].mean())


def spearman(one: NDArray[np.float64], other: NDArray[np.float64]) -> float | None:
    """Spearman's rank correlation of two lists of step times [placements]; None where all of one are equal."""
    from scipy.stats import spearmanr  # loaded only here: it takes a moment

    return float(spearmanr(one, other).statistic) if np.ptp(one) and np.ptp(other) else None


def _kendall(one: NDArray[np.float64], other: NDArray[np.float64]) -> float | None:
    """None where all step times are equal, which have no order."""
    from scipy.stats import kendalltau  # loaded only here: it takes a moment

    return float(kendalltau(one, other).statistic) if np.ptp(one) and np.ptp(other) else None
