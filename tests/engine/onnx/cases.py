"""Small models with the options of their reading and inputs with which ONNX Runtime runs them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from engine.graphs.reading_options import ReadingOptions
from tests.engine.onnx import models

Arrays = dict[str, NDArray[Any]]
Case = tuple[Callable[[], ModelProto], ReadingOptions, Callable[[], Arrays]]


def tokens(*shape: int) -> NDArray[np.int64]:
    """Numbers of words."""
    return np.random.default_rng(1).integers(0, 50, shape)


def normal(*shape: int) -> NDArray[np.float32]:
    """Numbers on the bell curve."""
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


def cache_of(layers: int, *shape: int) -> Arrays:
    """Keys and values of tokens before, for `models.decoder`."""
    return {f"past.{layer}.{name}": normal(*shape) for layer in range(layers) for name in ("key", "value")}


def decoder_inputs() -> Arrays:
    return {"input_ids": tokens(2, 3), "position_ids": tokens(2, 3) % 8, **cache_of(2, 2, 4, 5, 8)}


CASES: dict[str, Case] = {
    "resnet": (
        lambda: models.resnet((1, 2), 8, 10, seed=0),
        ReadingOptions(batch_size=2),
        lambda: {"images": normal(2, 3, 32, 32)},
    ),
    "bert": (
        lambda: models.bert(2, 32, 4, 60, seed=0),
        ReadingOptions(batch_size=2, sizes={"sequence": 7}),
        lambda: {"input_ids": tokens(2, 7), "token_type_ids": tokens(2, 7) % 2},
    ),
    "decoder": (
        lambda: models.decoder(2, 32, 4, 60, 16, seed=0),
        ReadingOptions(batch_size=2, sizes={"new": 3, "past": 5}),
        decoder_inputs,
    ),
    "branches": (
        models.branches,
        ReadingOptions(sizes={"rows": 3}),
        lambda: {"data": normal(3, 4), "flag": np.array(False)},
    ),
    "open": (models.branches, ReadingOptions(), lambda: {"data": normal(3, 4), "flag": np.array(True)}),
}
