"""Draws the settings of each member of a family, from (family, seed, index) alone."""

import zlib
from itertools import product

import numpy as np

from engine.events import Json
from engine.zoo.cells import (
    ACTIVATIONS,
    INPUTS,
    SEARCHED_OPERATIONS,
    Block,
    CellNode,
    written_convolution,
    written_recurrent,
)
from engine.zoo.families.split import number_in_split, split_of
from engine.zoo.settings import ADDITIVE, DOT

NMT_STEPS = range(8, 21)
"""unrolled words: 575 ops each"""
NMT_BATCHES = (16, 32, 48, 64, 96, 128, 192, 256)
"""sentences in one step"""
NMT_SETTINGS = tuple(product(NMT_STEPS, NMT_BATCHES))
"""all members of the family: they differ only in these two settings"""
HELD_OUT_STEPS = (9, 13, 17, 20)
"""unrolled words of the test graphs of `nmt_by_length`, and of none of its training graphs"""
USUAL_FORM = (2, 1024, ADDITIVE)
"""(layers, units, attention) of all graphs of `nmt`"""
OTHER_FORMS = tuple(form for form in product((2, 3, 4), (512, 1024), (ADDITIVE, DOT)) if form != USUAL_FORM)
"""those of the test graphs of `nmt_by_form`"""
PTB_NODES = 12
PTB_STEPS = 20
"""unrolled words: 390 ops each"""
CIFAR10_BLOCKS = 5
CIFAR10_CELLS = 2
"""normal cells in each stage, as in ENAS's search"""
CIFAR10_FILTERS = (20, 24, 28, 32, 36, 40, 48, 56, 64)
"""channels of the first stage: ENAS searches with 20 and trains with 36"""


def draw_nmt(seed: int, index: int) -> dict[str, Json]:
    """Unrolled length and batch size: the pair at `index` of a shuffled list of all pairs, each once."""
    order = _rng("nmt", seed).permutation(len(NMT_SETTINGS))
    steps, batch = NMT_SETTINGS[order[index]]
    return {"steps": steps, "batch": batch}


def draw_nmt_by_length(seed: int, index: int) -> dict[str, Json]:
    """The same for two lists: pairs with a held-out length for the test graphs, all others for training."""
    split = split_of(index)
    pairs = [pair for pair in NMT_SETTINGS if (pair[0] in HELD_OUT_STEPS) == (split == "test")]
    order = _rng("nmt_by_length", seed, len(pairs)).permutation(len(pairs))
    steps, batch = pairs[order[number_in_split(index)]]
    return {"steps": steps, "batch": batch}


def draw_nmt_by_form(seed: int, index: int) -> dict[str, Json]:
    """The pair that `nmt` has there; a test graph has another form too, of a shuffled list that repeats."""
    pair = draw_nmt(seed, index)
    if split_of(index) == "train":
        return pair
    order = _rng("nmt_by_form", seed).permutation(len(OTHER_FORMS))
    layers, units, attention = OTHER_FORMS[order[number_in_split(index) % len(OTHER_FORMS)]]
    return pair | {"layers": layers, "units": units, "attention": attention}


def draw_ptb(seed: int, index: int) -> dict[str, Json]:
    """A recurrent cell from ENAS's search space: each node takes a random earlier one and has a random activation."""
    rng = _rng("ptb", seed, index)
    first = CellNode(-1, _any(ACTIVATIONS, rng))
    rest = [CellNode(int(rng.integers(node)), _any(ACTIVATIONS, rng)) for node in range(1, PTB_NODES)]
    return {"cell": written_recurrent((first, *rest)), "steps": PTB_STEPS}


def draw_cifar10(seed: int, index: int) -> dict[str, Json]:
    """A normal and a reduction cell from ENAS's search space, and the number of channels."""
    rng = _rng("cifar10", seed, index)
    normal, reduction = _blocks(rng), _blocks(rng)
    filters = int(rng.choice(CIFAR10_FILTERS))
    return {"normal": normal, "reduction": reduction, "cells": CIFAR10_CELLS, "filters": filters}


def _blocks(rng: np.random.Generator) -> str:
    """Random blocks: each takes two earlier states, maybe the same twice, with a random operation on each."""
    blocks = []
    for states in range(INPUTS, INPUTS + CIFAR10_BLOCKS):
        left, right = rng.integers(states, size=2).tolist()
        blocks.append(Block(_any(SEARCHED_OPERATIONS, rng), left, _any(SEARCHED_OPERATIONS, rng), right))
    return written_convolution(tuple(blocks))


def _any(names: tuple[str, ...], rng: np.random.Generator) -> str:
    return names[int(rng.integers(len(names)))]


def _rng(family: str, seed: int, *index: int) -> np.random.Generator:
    """A separate random number generator for each member."""
    return np.random.default_rng([zlib.crc32(family.encode()), seed, *index])
