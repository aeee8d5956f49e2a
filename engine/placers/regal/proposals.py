"""The proposals that REGAL's policy chooses from: Beta distributions by mean and variance, and elite biases.

Source: Paliwal et al. 2019 (REGAL), section 3: quantised means and variances, a choice a node. The numbers of levels
are ours: with 5 the uniform distribution is one of them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.placers.brkga import Proposals

LEVELS = 5
"""levels of the mean, and of the variance as a share of the most that the mean allows: 1/6 to 5/6"""
DISTRIBUTIONS = LEVELS * LEVELS
UNIFORM = 2 * LEVELS + 1
"""mean 1/2, share 1/3: Beta(1, 1)"""
ELITE_BIASES = np.array([0.6, 0.7, 0.8, 0.9])
USUAL_BIAS = 1
"""0.7"""


@dataclass(frozen=True, slots=True)
class Choices:
    """A policy's choices for each group."""

    distributions: NDArray[np.int64]
    """[groups, devices] below DISTRIBUTIONS"""
    biases: NDArray[np.int64]
    """[groups] below the number of ELITE_BIASES"""


def proposals_of(choices: Choices) -> Proposals:
    """The Beta distributions and biases that `choices` stand for."""
    mean = (choices.distributions // LEVELS + 1) / (LEVELS + 1)
    strength = (LEVELS + 1) / (choices.distributions % LEVELS + 1) - 1
    return Proposals(mean * strength, (1 - mean) * strength, ELITE_BIASES[choices.biases])


def plain_choices(groups: int, devices: int) -> Choices:
    """The choices of the plain algorithm: uniform keys and the usual bias."""
    return Choices(np.full((groups, devices), UNIFORM, dtype=np.int64), np.full(groups, USUAL_BIAS, dtype=np.int64))
