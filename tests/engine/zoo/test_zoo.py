"""The zoo's register: what it offers, what can be set, and what is refused."""

from pathlib import Path

import pytest

from engine import api
from engine.child.parent import Limits
from engine.cli.main import main
from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.zoo import ZOO, build_graph
from tests.engine.formats.reading import read_graph


@pytest.mark.parametrize("name", ZOO)
def test_each_graph_has_a_label_and_a_builder(name: str) -> None:
    model = ZOO[name]
    assert model.label
    assert model.builder.startswith("engine.zoo.")
    assert model.builder.count(":") == 1
    assert model.settings({"inference": True}).inference


def test_the_samples_are_the_zoo() -> None:
    assert list(api.samples()) == ["inception_v3", "nasnet", "nmt", "nmt_4_layers", "ptb", "cifar10", "tiny_cnn"]


def test_an_unknown_name_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        build_graph("resnet", tmp_path / "graph.pb")
    assert str(caught.value) == f"name: no graph resnet; allowed: {', '.join(ZOO)}"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("tiny_cnn", {"size": 3}, "settings: tiny_cnn has no setting 'size'; allowed: batch, inference"),
        ("tiny_cnn", {"batch": 0}, "batch: 0; allowed: an integer from 1 to 65536"),
        ("tiny_cnn", {"batch": 65_537}, "batch: 65537; allowed: an integer from 1 to 65536"),
        ("tiny_cnn", {"batch": True}, "batch: True; allowed: an integer from 1 to 65536"),
        ("tiny_cnn", {"batch": 2.0}, "batch: 2.0; allowed: an integer from 1 to 65536"),
        ("tiny_cnn", {"batch": None}, "batch: None; allowed: an integer from 1 to 65536"),
        ("tiny_cnn", {"batch": "8\n"}, r"batch: '8\n'; allowed: an integer from 1 to 65536"),
        ("tiny_cnn", {"inference": 1}, "inference: 1; allowed: true, false"),
        ("inception_v3", {"image_size": 74}, "image_size: 74; allowed: an integer from 75 to 2048"),
        ("inception_v3", {"image_size": 106}, "image_size: 106; allowed: at least 107 with the auxiliary classifier"),
        ("nasnet", {"filters": 42}, "filters: 42; allowed: a multiple of 4"),
        ("nasnet", {"image_size": 66}, "image_size: 66; allowed: at least 67 with the auxiliary classifier"),
        ("nmt", {"layers": 1}, "layers: 1; allowed: an integer from 2 to 16"),
        ("nmt", {"dropout": 1}, "dropout: 1; allowed: a number from 0, below 1"),
        ("nmt", {"dropout": float("nan")}, "dropout: nan; allowed: a number from 0, below 1"),
        ("nmt", {"steps": 10**30}, f"steps: {10**30}; allowed: an integer from 1 to 256"),
        ("nmt", {"steps": 10**400}, f"steps: {shortened(str(10**400))}; allowed: an integer from 1 to 256"),
        ("nmt_4_layers", {"steps": 0}, "steps: 0; allowed: an integer from 1 to 256"),
    ],
)
def test_a_setting_that_is_not_allowed_is_reported(
    name: str, settings: dict[str, Json], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as caught:
        build_graph(name, tmp_path / "graph.pb", settings=settings)
    assert str(caught.value) == message
    assert not list(tmp_path.iterdir())


def test_the_same_graph_is_built_every_time(tiny_cnn_path: Path, tmp_path: Path) -> None:
    build_graph("tiny_cnn", tmp_path / "again.pb")
    assert (tmp_path / "again.pb").read_bytes() == tiny_cnn_path.read_bytes()


def test_the_command_line_builds_what_is_asked_and_reports_its_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "graph.pb"
    assert main(["build", "tiny_cnn", "--inference", "--set", "batch=7", "--out", str(path)]) == 0
    graph = read_graph(path, ".pb", Limits())
    assert "prediction" in graph.op_names
    assert "train_step" not in graph.op_names
    assert capsys.readouterr().err.splitlines() == [
        "loading TensorFlow 0/3",
        "building the graph 1/3",
        "writing the graph 2/3",
        "writing the graph 3/3",
        f"{path}: {graph.op_count} ops",
    ]
    assert b"\x12\x02\x08\x07" in path.read_bytes(), "a shape that begins with 7"


def test_a_mistake_in_a_setting_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "nmt", "--set", "layers=two", "--out", str(tmp_path / "graph.pb")]) == 2
    assert capsys.readouterr().err == "layers: 'two'; allowed: an integer from 2 to 16\n"
