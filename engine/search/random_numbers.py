"""Random numbers in compiled code. Their state is one integer, so a checkpoint continues the sequence exactly.

Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators (SplitMix64), OOPSLA 2014.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled

RandomState: TypeAlias = NDArray[np.uint64]
"""[1]"""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BY_30, _BY_27, _BY_31, _BY_11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 1.0 / (1 << 53)


def new_random_state(rng: np.random.Generator) -> RandomState:
    """A new state drawn from `rng`."""
    return rng.integers(0, 2**64, 1, dtype=np.uint64)


@compiled
def uniform(state: RandomState) -> float:
    """A uniform random number from 0 to below 1."""
    state[0] += _STEP
    mixed = state[0]
    mixed = (mixed ^ (mixed >> _BY_30)) * _FIRST
    mixed = (mixed ^ (mixed >> _BY_27)) * _SECOND
    mixed = mixed ^ (mixed >> _BY_31)
    return float(mixed >> _BY_11) * _UNIT


@compiled
def below(state: RandomState, bound: int) -> int:
    """A uniform random integer from 0 to below `bound`."""
    return int(uniform(state) * bound)
