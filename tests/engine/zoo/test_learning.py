"""Each model, at a size that runs in a moment: its step learns, its inference form predicts, its shapes are known."""

import numpy as np
import pytest

from engine.child.parent import Limits, Results, run_in_child
from engine.events import Json

SMALL: dict[str, dict[str, Json]] = {
    "tiny_cnn": {},
    "inception_v3": {"batch": 2, "image_size": 107, "classes": 10},
    "nasnet": {"batch": 2, "image_size": 67, "classes": 10, "cells": 1, "filters": 8, "stem_filters": 4},
    "nmt": {"batch": 3, "steps": 4, "units": 16, "vocabulary": 20, "layers": 3},
    "ptb": {"batch": 3, "steps": 3, "units": 16, "vocabulary": 20},
    "cifar10": {
        "batch": 4,
        "cells": 1,
        "filters": 4,
        "image_size": 8,
        "normal": "0:separable_5x5+1:max_pool 2:identity+0:average_pool 2:separable_3x3+3:max_pool",
        "reduction": "0:identity+0:max_pool 2:average_pool+0:separable_3x3",
    },
}
"""name → settings; three layers, so that one is residual; cells with every operation, and an input that none takes"""
STEPS = {"tiny_cnn": 30, "inception_v3": 2, "nasnet": 5, "nmt": 6, "ptb": 6, "cifar10": 8}
FALL = {"tiny_cnn": 0.25, "inception_v3": 0.8, "nasnet": 0.5, "nmt": 0.9, "ptb": 0.9, "cifar10": 0.9}
"""the last loss is at most this share of the first"""
WITHOUT_SHAPE = {"BroadcastGradientArgs", "FusedBatchNormV3"}
"""lists of axes; an output that only a GPU library fills, with what it likes"""


@pytest.fixture(scope="module")
def tried() -> Results:
    """What came of training and predicting, by model; one child, since TensorFlow takes long to load."""
    order: dict[str, Json] = {name: [settings, STEPS[name]] for name, settings in SMALL.items()}
    limits = Limits(memory_bytes=8 * 1024**3, seconds=600.0)
    return run_in_child("tests.engine.zoo.running:try_in_child", order, limits, task="trying", is_warm=True)


@pytest.mark.parametrize("name", SMALL)
def test_the_loss_falls_on_one_batch(tried: Results, name: str) -> None:
    losses = tried[0][f"{name}.losses"].astype(float)
    assert len(losses) == STEPS[name]
    assert np.all(np.isfinite(losses))
    assert losses[-1] < FALL[name] * losses[0]


@pytest.mark.parametrize("name", SMALL)
def test_gradients_reach_every_variable(tried: Results, name: str) -> None:
    assert tried[1][f"{name}.trained"]
    assert tried[1][f"{name}.still"] == []


@pytest.mark.parametrize("name", SMALL)
def test_every_shape_is_known(tried: Results, name: str) -> None:
    unknown = tried[1][f"{name}.unknown"]
    assert isinstance(unknown, list)
    assert {str(op_type) for op_type in unknown} <= WITHOUT_SHAPE


@pytest.mark.parametrize("name", SMALL)
def test_the_inference_form_predicts_the_same_twice(tried: Results, name: str) -> None:
    prediction = tried[0][f"{name}.prediction"].astype(float)
    np.testing.assert_array_equal(prediction, tried[0][f"{name}.again"])
    if name in ("nmt", "ptb"):
        assert prediction.shape == (SMALL[name]["steps"], SMALL[name]["batch"])
        assert np.all((prediction >= 0) & (prediction < int(str(SMALL[name]["vocabulary"]))))
    else:
        assert prediction.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
