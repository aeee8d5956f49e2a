"""Each model, at a size that runs in a moment: a step of it learns, and all of it is known to the estimator."""

from pathlib import Path

import numpy as np
import pytest

from engine.child import Limits, Results, run_in_child
from engine.costs.costs import Source
from engine.costs.estimated import estimate_costs
from engine.events import Json
from engine.graphs.graphdef_reader import read_graph
from engine.zoo import build_graph

SMALL: dict[str, dict[str, Json]] = {
    "tiny_cnn": {},
    "inception_v3": {"batch": 2, "image_size": 107, "classes": 10},
    "nasnet": {"batch": 2, "image_size": 67, "classes": 10, "cells": 1, "filters": 8, "stem_filters": 4},
    "nmt": {"batch": 3, "steps": 4, "units": 16, "vocabulary": 20, "layers": 3},
}
"""name → settings; three layers, so that one is residual"""
STEPS = {"tiny_cnn": 30, "inception_v3": 2, "nasnet": 6, "nmt": 8}
FALL = {"tiny_cnn": 0.25, "inception_v3": 0.95, "nasnet": 0.95, "nmt": 0.95}
"""the last loss is at most this share of the first"""


@pytest.fixture(scope="module", params=list(SMALL))
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A model's name and its small training step."""
    name = str(request.param)
    path = tmp_path_factory.mktemp("small") / f"{name}.pb"
    build_graph(name, path, settings=SMALL[name])
    return name, path


def in_child(function: str, path: Path, steps: int = 1) -> Results:
    order: dict[str, Json] = {"path": str(path), "steps": steps}
    limits = Limits(memory_bytes=8 * 1024**3, seconds=300.0)
    return run_in_child(f"tests.engine.zoo.running:{function}", order, limits, task="running")


def test_its_loss_falls_on_one_batch_and_gradients_reach_every_variable(small: tuple[str, Path]) -> None:
    name, path = small
    arrays, texts = in_child("train_in_child", path, STEPS[name])
    losses = arrays["losses"].astype(float)
    assert np.all(np.isfinite(losses))
    assert losses[-1] < FALL[name] * losses[0]
    assert texts["still"] == []
    assert texts["trained"]


def test_everything_in_it_is_known_to_the_estimator(small: tuple[str, Path]) -> None:
    _, path = small
    graph = read_graph(path, ".pb", Limits())
    costs = estimate_costs(path, ".pb", graph, ["K80"], Limits())
    unknown = [graph.op_names[op] for op in np.flatnonzero(costs.source == Source.UNKNOWN).tolist()]
    assert unknown == []


@pytest.mark.parametrize("name", ["tiny_cnn", "nasnet", "nmt"])
def test_its_inference_form_predicts(name: str, tmp_path: Path) -> None:
    path = tmp_path / "inference.pb"
    settings = SMALL[name] | {"inference": True}
    ops = build_graph(name, path, settings=settings)
    graph = read_graph(path, ".pb", Limits())
    assert not any("gradients" in each or "optimizer" in each for each in graph.op_names)
    assert ops == graph.op_count
    arrays, _ = in_child("predict_in_child", path)
    prediction = arrays["prediction"]
    np.testing.assert_array_equal(prediction, arrays["again"])
    if name == "nmt":
        assert prediction.shape == (settings["steps"], settings["batch"])
        assert prediction.astype(int).max() < int(str(settings["vocabulary"]))
    else:
        assert np.sum(prediction.astype(float), axis=1) == pytest.approx(1.0, abs=1e-5)
