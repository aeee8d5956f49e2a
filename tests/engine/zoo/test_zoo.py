"""The zoo's graphs are whole training steps with every shape known, named by layer and branch."""

from collections import Counter
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from engine.child import Limits, Results, run_in_child
from engine.errors import SettingsError
from engine.events import Json
from engine.graphs.graphdef_reader import read_graph
from engine.zoo import ZOO, build_graph

RUNS = "tests.engine.zoo.running:train_in_child"


@pytest.mark.parametrize("name", ZOO)
def test_each_graph_has_a_label_and_a_builder(name: str) -> None:
    label, path = ZOO[name]
    assert label
    assert path.startswith("engine.zoo.")
    assert path.count(":") == 1


def test_an_unknown_name_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        build_graph("resnet", tmp_path / "graph.pb")
    assert str(caught.value) == f"name: no graph resnet; allowed: {', '.join(ZOO)}"


def test_progress_is_told_and_settings_reach_the_builder(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    path = tmp_path / "graph.pb"
    ops = build_graph("tiny_cnn", path, lambda *each: told.append(each), settings={"batch": 7})
    assert told == [
        ("loading TensorFlow", 0, 3),
        ("building the graph", 1, 3),
        ("writing the graph", 2, 3),
        ("writing the graph", 3, 3),
    ]
    assert read_graph(path, ".pb", Limits()).op_count == ops
    assert b"\x12\x02\x08\x07" in path.read_bytes(), "a shape that begins with 7"


def test_the_same_graph_is_built_every_time(tiny_cnn_path: Path, tmp_path: Path) -> None:
    build_graph("tiny_cnn", tmp_path / "again.pb")
    assert (tmp_path / "again.pb").read_bytes() == tiny_cnn_path.read_bytes()


def test_tiny_cnn_learns(tiny_cnn_path: Path) -> None:
    arrays, _ = train(tiny_cnn_path, steps=30)
    losses = arrays["losses"].astype(float)
    assert losses[0] == pytest.approx(np.log(10), rel=0.5)
    assert losses[-1] < losses[0] / 4


def train(path: Path, steps: int) -> Results:
    order: dict[str, Json] = {"path": str(path), "steps": steps}
    return run_in_child(RUNS, order, Limits(memory_bytes=8 * 1024**3, seconds=300.0), task="training")


def test_inception_is_a_whole_training_step(inception_path: Path) -> None:
    graph = read_graph(inception_path, ".pb", Limits())
    types = Counter(graph.op_types)
    assert types["Conv2D"] == types["Conv2DBackpropFilter"] == types["FusedBatchNormGradV3"] == 96
    assert types["ResourceApplyRMSProp"] == 2 * 2 + 3 * 96
    assert types["AssignSubVariableOp"] == 2 * 96
    assert types["Placeholder"] == 2
    assert not {"RandomStandardNormal", "TruncatedNormal", "SaveV2", "AssignVariableOp"} & set(types), "not of a step"
    names = set(graph.op_names)
    assert {"train_step", "loss", "mixed_17_2/branch_2/conv_7x1_a/conv"} <= names
    consumed = {graph.op_names[source] for source in graph.edge_source.tolist()}
    assert names - consumed == {"train_step", "loss"}, "all else is there for one of them"


def test_inception_runs_at_a_small_batch(tmp_path: Path) -> None:
    path = tmp_path / "small.pb"
    build_graph("inception_v3", path, settings={"batch": 1})
    arrays, _ = train(path, steps=1)
    loss = float(cast(float, arrays["losses"][0]))
    assert np.isfinite(loss)
    assert loss > np.log(1000)
