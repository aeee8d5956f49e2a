"""Biased random keys: placements as numbers in [0, 1], one a group and device, bred from generation to generation.

A group goes to the allowed device with its highest key. The best are kept, some newcomers (mutants) are drawn, and all
others take each key from an elite parent with the group's elite bias, else from another.
Source: Gonçalves, Resende: Biased random-key genetic algorithms for combinatorial optimization, Journal of Heuristics
17, 2011; keys and their distributions as Paliwal et al. 2019 (REGAL), section 3.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Proposals:
    """From where keys come: Beta distributions of newcomers' keys, and how much crossover favours the elite parent."""

    alpha: NDArray[np.float64]
    """[groups, devices]"""
    beta: NDArray[np.float64]
    """[groups, devices]"""
    elite_bias: NDArray[np.float64]
    """[groups] probability that a key is the elite parent's"""


def uniform_proposals(groups: int, devices: int, elite_bias: float) -> Proposals:
    """Those of the plain algorithm: keys uniform in [0, 1] (Beta(1, 1)), one bias for all groups."""
    ones = np.ones((groups, devices))
    return Proposals(ones, ones, np.full(groups, elite_bias))


def newcomers(proposals: Proposals, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """[count, groups, devices] keys drawn from `proposals`."""
    return rng.beta(proposals.alpha, proposals.beta, (count, *proposals.alpha.shape))


def decoded(keys: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.int32]:
    """[count, groups] from `keys` [count, groups, devices]: the allowed device with the highest key."""
    return np.asarray(np.where(allowed, keys, -1.0).argmax(axis=2), dtype=np.int32)


def offspring(
    elite: NDArray[np.float64],
    others: NDArray[np.float64],
    elite_bias: NDArray[np.float64],
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """[count, groups, devices]: each of an elite and another parent, each key the elite parent's with the bias."""
    first = elite[rng.integers(0, len(elite), count)]
    second = others[rng.integers(0, len(others), count)]
    favoured = rng.random(first.shape) < elite_bias[None, :, None]
    return np.where(favoured, first, second)


@dataclass(frozen=True, slots=True)
class Shares:
    """How a generation is made up."""

    population: int
    elite: int
    """kept as they are, and parents"""
    mutants: int
    """drawn anew"""

    @property
    def evaluations_a_generation(self) -> int:
        """The elite is not evaluated again."""
        return self.population - self.elite


def next_generation(
    keys: NDArray[np.float64], proposals: Proposals, shares: Shares, rng: np.random.Generator
) -> NDArray[np.float64]:
    """[population − elite, groups, devices] the new ones from `keys` [population, groups, devices], the best first."""
    elite, others = keys[: shares.elite], keys[shares.elite :]
    mutants = newcomers(proposals, shares.mutants, rng)
    children = shares.evaluations_a_generation - shares.mutants
    return np.concatenate([mutants, offspring(elite, others, proposals.elite_bias, children, rng)])
