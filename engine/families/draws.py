"""What each member of a family is, drawn from (family, seed, index) alone: the settings of one of the zoo's models."""

import zlib
from itertools import product

import numpy as np

from engine.events import Json

NMT_STEPS = range(8, 21)
"""unrolled words: 575 ops each"""
NMT_BATCHES = (16, 32, 48, 64, 96, 128, 192, 256)
"""sentences in one step"""
NMT_SETTINGS = tuple(product(NMT_STEPS, NMT_BATCHES))
"""all that the family holds: its members differ in these two alone"""


def draw_nmt(seed: int, index: int) -> dict[str, Json]:
    """Unrolled length and batch size, each pair once: `index` counts along a shuffled list of all of them."""
    order = _rng("nmt", seed).permutation(len(NMT_SETTINGS))
    steps, batch = NMT_SETTINGS[order[index]]
    return {"steps": steps, "batch": batch}


def _rng(family: str, seed: int, *index: int) -> np.random.Generator:
    """Random numbers of their own for each member."""
    return np.random.default_rng([zlib.crc32(family.encode()), seed, *index])
