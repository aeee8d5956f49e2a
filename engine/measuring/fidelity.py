"""How far simulated step times can be trusted: their order and their size beside measured ones.

Rank correlations by scipy: Spearman's rho and Kendall's tau-b.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from engine.events import Json

FASTEST = 20
"""placements among which the order counts most"""
APART = 2.0
"""a measurement shows the order of two placements that differ by more than this many times the noise"""
TIE = 1e-9
"""relative difference of simulated times below which they are equal"""


@dataclass(frozen=True, slots=True)
class MeasuredSteps:
    """Measured step times of placements."""

    times_us: NDArray[np.float64]
    """[placements, rounds, steps]"""
    noise: float
    """the deviation of one visit's step time, as a share, beside what changes between rounds for all alike"""
    spread: float
    """by how much placements differ from each other: the deviation of the logarithms of their medians, as a share"""

    @staticmethod
    def of_rounds(rounds: Sequence[Sequence[Sequence[float]]], placements: int) -> "MeasuredSteps":
        """From [rounds][visits] of a placement's number and its step times; the first placement has two visits.

        The noise is pooled over all placements. A single round or placement leaves only the two visits of the first.
        """
        steps = len(rounds[0][0]) - 1
        times_us = np.zeros((placements, len(rounds), steps))
        pairs = []
        for number, visits in enumerate(rounds):
            first, *others, last = visits
            assert first[0] == last[0] == 0
            for visit in (first, *others):
                times_us[int(visit[0]), number] = visit[1:]
            pairs.append(np.log(np.median(last[1:]) / np.median(first[1:])))
        if placements > 1 and len(rounds) > 1:
            noise = _deviation_within(np.log(np.median(times_us, axis=2)))
        else:
            noise = float(np.sqrt(np.square(pairs).mean() / 2))
        medians = np.log(np.median(times_us.reshape(placements, -1), axis=1))
        return MeasuredSteps(times_us, noise, float(medians.std(ddof=1)) if placements > 1 else 0.0)

    @property
    def step_time_us(self) -> NDArray[np.float64]:
        """[placements] the median of all steps of each."""
        medians: NDArray[np.float64] = np.median(self.times_us.reshape(len(self.times_us), -1), axis=1)
        return medians

    @property
    def step_time_noise(self) -> float:
        """The deviation of a placement's step time over all rounds, as a share."""
        return self.noise / math.sqrt(self.times_us.shape[1])

    @property
    def reachable_spearman(self) -> float | None:
        """The correlation of the mean of all rounds with the truth: about the most that a right simulation reaches.

        With k rounds and the mean correlation r of two of them it is √(k r / (1 + (k − 1) r)); None for a single round
        or r ≤ 0. Sources: C. Spearman: Correlation calculated from faulty data, W. Brown: Some experimental results in
        the correlation of mental abilities, both British Journal of Psychology 3, 1910.
        """
        by_round = np.median(self.times_us, axis=2)
        count = by_round.shape[1]
        found = [spearman(by_round[:, one], by_round[:, two]) for one, two in combinations(range(count), 2)]
        known = [each for each in found if each is not None]
        alike = float(np.mean(known)) if known else 0.0
        return math.sqrt(count * alike / (1 + (count - 1) * alike)) if alike > 0 else None


def _deviation_within(log_us: NDArray[np.float64]) -> float:
    """The deviation of `log_us` [placements, rounds] beside the means of placements and of rounds."""
    rest = log_us - log_us.mean(axis=0) - log_us.mean(axis=1, keepdims=True) + log_us.mean()
    placements, rounds = log_us.shape
    return math.sqrt(float(np.square(rest).sum()) / ((placements - 1) * (rounds - 1)))


def fidelity(measured: MeasuredSteps, simulated_us: NDArray[np.float64]) -> dict[str, Json]:
    """How simulated step times [placements] compare with measured ones.

    - `spearman` and `kendall` over all placements, `kendall_fastest` among the `FASTEST` measured fastest;
    - `reachable_spearman`: about the most that noise allows, see `MeasuredSteps`;
    - `ordered_pairs`: share of the pairs that differ by more than `APART` deviations of the noise whose simulated order
      is the measured one, with their number `pairs`; pairs with equal simulated times do not count;
    - `top_1_regret`: measured step of the simulated fastest over that of the measured fastest, less 1. The fastest is
      chosen by the times that judge it, so noise makes this too high;
    - `top_1_regret_cross_checked`: the same over the placement that is fastest by the other rounds, the mean over
      rounds, with its standard error `top_1_regret_error`, a share; None for a single round, fewer than three;
    - `median_ratio`, `least_ratio`, `greatest_ratio` of measured over simulated.
    """
    measured_us = measured.step_time_us
    fastest = np.argsort(measured_us, kind="stable")[:FASTEST]
    ratios = measured_us / simulated_us
    pairs, ordered = _ordered_pairs(measured_us, simulated_us, APART * measured.noise)
    regret, regret_error = _cross_checked_regret(measured.times_us, int(np.argmin(simulated_us)))
    return {
        "spearman": spearman(measured_us, simulated_us),
        "kendall": _kendall(measured_us, simulated_us),
        "kendall_fastest": _kendall(measured_us[fastest], simulated_us[fastest]),
        "reachable_spearman": measured.reachable_spearman,
        "pairs": pairs,
        "ordered_pairs": ordered,
        "top_1_regret": float(measured_us[int(np.argmin(simulated_us))] / measured_us.min() - 1),
        "top_1_regret_cross_checked": regret,
        "top_1_regret_error": regret_error,
        "median_ratio": float(np.median(ratios)),
        "least_ratio": float(ratios.min()),
        "greatest_ratio": float(ratios.max()),
    }


def _ordered_pairs(
    measured_us: NDArray[np.float64], simulated_us: NDArray[np.float64], apart: float
) -> tuple[int, float | None]:
    """(number of pairs that differ by more than a share of `apart` and in simulation, share in the right order)."""
    first, second = np.triu_indices(len(measured_us), 1)
    differs = np.log(measured_us[first] / measured_us[second])
    apart_simulated = ~np.isclose(simulated_us[first], simulated_us[second], rtol=TIE, atol=0.0)
    counts = (np.abs(differs) > apart) & apart_simulated
    if not counts.any():
        return 0, None
    right = np.sign(simulated_us[first] - simulated_us[second]) == np.sign(differs)
    return int(counts.sum()), float(right[counts].mean())


def _cross_checked_regret(times_us: NDArray[np.float64], chosen: int) -> tuple[float | None, float | None]:
    """(regret of the placement `chosen`, its standard error) by `times_us` [placements, rounds, steps]."""
    placements, rounds, _ = times_us.shape
    if rounds < 2:
        return None, None
    regrets = np.zeros(rounds)
    for number in range(rounds):
        others = np.median(np.delete(times_us, number, axis=1).reshape(placements, -1), axis=1)
        in_round = np.median(times_us[:, number], axis=1)
        regrets[number] = np.log(in_round[chosen] / in_round[int(others.argmin())])
    error = float(regrets.std(ddof=1)) / math.sqrt(rounds) if rounds > 2 else None
    return math.expm1(regrets.mean()), error


def spearman(one: NDArray[np.float64], other: NDArray[np.float64]) -> float | None:
    """Spearman's rank correlation of two lists of step times [placements]; None where all of one are equal."""
    from scipy.stats import spearmanr  # loaded only here: it takes a moment

    return float(spearmanr(one, other).statistic) if np.ptp(one) and np.ptp(other) else None


def _kendall(one: NDArray[np.float64], other: NDArray[np.float64]) -> float | None:
    """None where all step times are equal, which have no order."""
    from scipy.stats import kendalltau  # loaded only here: it takes a moment

    return float(kendalltau(one, other).statistic) if np.ptp(one) and np.ptp(other) else None
