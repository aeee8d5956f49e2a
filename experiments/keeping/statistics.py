"""Intervals for tables: bootstrap over graphs, paired differences, and Holm's correction over many comparisons."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t, ttest_1samp

CONFIDENCE = 0.95
DRAWS = 2000
BOOTSTRAP_SEED = 0


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean and the bounds within which it lies with `CONFIDENCE`."""

    mean: float
    low: float
    high: float

    def as_percent(self, digits: int = 1) -> str:
        """`+1.2 % (0.8 to 1.6)`"""
        low, high = (f"{100 * bound:+.{digits}f}" for bound in (self.low, self.high))
        return f"{100 * self.mean:+.{digits}f} % ({low} to {high})"


def mean_over(units: Collection[Sequence[float]]) -> MeanInterval:
    """The mean of all values with its bootstrap interval: whole units are drawn, with all of their values together.

    A unit is a graph, say, with a value for each cluster and seed, since these are not independent of each other.
    Source: Efron, Tibshirani: An Introduction to the Bootstrap, 1993 (percentile intervals over clusters).
    """
    sums = np.array([float(np.sum(values)) for values in units])
    counts = np.array([len(values) for values in units], dtype=np.float64)
    mean = float(sums.sum() / counts.sum())
    if len(sums) < 2:
        return MeanInterval(mean, mean, mean)
    drawn = np.random.default_rng(BOOTSTRAP_SEED).integers(len(sums), size=(DRAWS, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    return MeanInterval(mean, float(low), float(high))


def paired_mean(differences: Sequence[float]) -> MeanInterval:
    """The mean of paired `differences` with its interval; infinite bounds for a single pair, which shows no scatter.

    Source: Student's t, two-sided.
    """
    values: NDArray[np.float64] = np.asarray(differences, dtype=np.float64)
    mean = float(values.mean())
    if len(values) < 2:
        return MeanInterval(mean, -inf, inf)
    half = float(t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * values.std(ddof=1) / sqrt(len(values)))
    return MeanInterval(mean, mean - half, mean + half)


def exceeds(differences: Sequence[float], limit: float) -> float:
    """The probability of a mean of paired `differences` as far above `limit`, if the true one is at most that.

    1 for a single pair, which shows no scatter. Source: Student's t, one-sided.
    """
    values: NDArray[np.float64] = np.asarray(differences, dtype=np.float64)
    if len(values) < 2:
        return 1.0
    if np.ptp(values) == 0.0:
        return 0.0 if values[0] > limit else 1.0
    return float(ttest_1samp(values, limit, alternative="greater").pvalue)


def holm(probabilities: Sequence[float], level: float = 1 - CONFIDENCE) -> list[bool]:
    """Which of several hypotheses are rejected at `level` together. Source: Holm, Scand. J. Statist. 6, 1979."""
    order = sorted(range(len(probabilities)), key=lambda index: probabilities[index])
    rejected = [False] * len(probabilities)
    for rank, index in enumerate(order):
        if probabilities[index] > level / (len(order) - rank):
            break
        rejected[index] = True
    return rejected
