"""Graphs that several tests of the engine look at, built once a session; a process from which children are forked."""

from pathlib import Path

import pytest

from engine.api import end_warm, keep_warm
from engine.zoo import build_graph

ENGINE = Path(__file__).parent
ABOUT_FORKING = (ENGINE / "child", ENGINE / "formats" / "test_one_child.py")
"""files whose tests start a process that forks, or none, by themselves"""


@pytest.hookimpl(tryfirst=True)  # before a fixture asks for a child
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Slow tests may have a child forked, as the application has: one that is started loads TensorFlow for 3 s."""
    if any(item.path.is_relative_to(path) for path in ABOUT_FORKING):
        end_warm()
    elif item.get_closest_marker("slow"):
        keep_warm()


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
