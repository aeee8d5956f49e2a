"""Graphs that several tests of the engine look at, built once a session."""

from pathlib import Path

import pytest

from engine.zoo import build_graph


@pytest.fixture(scope="session")
def inception_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zoo's Inception-V3 as it is offered, a binary GraphDef."""
    path = tmp_path_factory.mktemp("zoo") / "inception_v3.pb"
    build_graph("inception_v3", path)
    return path


@pytest.fixture(scope="session")
def tiny_cnn_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zoo's smallest training step."""
    path = tmp_path_factory.mktemp("zoo") / "tiny_cnn.pb"
    build_graph("tiny_cnn", path)
    return path
