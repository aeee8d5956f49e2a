"""A policy for tests that need none that was trained: small, its weights drawn."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.events import Json
from engine.files.tensor_file import pack_tensors, unpack_tensors
from engine.placeto.networks.shared_head_shapes import weight_shapes
from engine.placeto.settings import make_settings
from engine.policies.card import HeldOut, PolicyCard
from engine.policies.trained_policy import TrainedPolicy

SMALL: dict[str, Json] = {"embedding_width": 4, "hidden_width": 8, "torch_device": "cpu"}


def small_card() -> PolicyCard:
    return PolicyCard(
        name="small",
        engine_version="0.1.0",
        seed=7,
        families=("nmt",),
        graphs=("nmt-00", "zwölf"),
        clusters=("2xK80", "4xV100+CPU"),
        imitation_steps=3,
        episodes=16,
        evaluations=1000,
        seconds=2.5,
        training={"seconds": 2.5, "learners": 2, "drawn_without": "", "an_earlier_setting": True},
        held_out=(
            HeldOut(
                "nmt-01",
                "2xK80",
                greedy_us=110.0,
                best_of_us=99.0,
                samples=16,
                search_us=100.0,
                search_seconds=1.0,
                search_evaluations=50,
            ),
            HeldOut(
                "nmt-02",
                "2xK80",
                greedy_us=200.0,
                best_of_us=200.0,
                samples=16,
                search_us=160.0,
                search_seconds=1.0,
                search_evaluations=50,
            ),
        ),
    )


def card_with_a_misfit() -> PolicyCard:
    """The small card and a third row, on which no pass fits."""
    card = small_card()
    misfit = dataclasses.replace(card.held_out[0], graph="nmt-05", greedy_us=None, best_of_us=None)
    return dataclasses.replace(card, held_out=(*card.held_out, misfit))


def small_policy(settings: Mapping[str, Json] = SMALL) -> TrainedPolicy:
    made = make_settings(settings)
    rng = np.random.default_rng(0)
    weights = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in weight_shapes(made).items()}
    return TrainedPolicy(weights, made, small_card())


def changed(path: str, value: Any) -> bytes:
    """The small policy's file with one of its texts changed: `path` such as `card.seed`; `value` None takes it away."""
    arrays, texts = unpack_tensors(small_policy().to_bytes(), "small")
    inside: Any = texts
    *parents, last = path.split(".")
    for name in parents:
        inside = inside[int(name)] if name.isdecimal() else inside[name]
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    return pack_tensors(arrays, texts)


def changed_weights(name: str, array: Any) -> bytes:
    """The small policy's file with other weights; `array` None takes them away."""
    arrays, texts = unpack_tensors(small_policy().to_bytes(), "small")
    if array is None:
        del arrays[name]
    else:
        arrays[name] = array
    return pack_tensors(arrays, texts)
