"""A small graph, prepared and profiled once for all tests of this folder: each costs a child that loads TensorFlow."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from engine import api
from engine.child.parent import Limits
from engine.events import Json
from engine.graphs.reading_options import ReadingOptions

LIMITS = Limits(memory_bytes=6 * 1024**3, seconds=120.0)


@dataclass(frozen=True, slots=True)
class Profiled:
    """What `profile` wrote and told."""

    path: Path
    reported: dict[str, Json]
    stages: list[tuple[str, int, int]]


@pytest.fixture(scope="package")
def prepared(tiny_cnn_path: Path) -> api.PreparedGraph:
    return api.prepare(tiny_cnn_path, ".pb", lambda *_: None, LIMITS)


@pytest.fixture(scope="package")
def profiled(tiny_cnn_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Profiled:
    path = tmp_path_factory.mktemp("profile") / "run_metadata.pb"
    stages: list[tuple[str, int, int]] = []
    reported = api.profile(
        tiny_cnn_path,
        ".pb",
        path,
        ReadingOptions(),
        LIMITS,
        lambda *stage: stages.append(stage),
        steps=3,
        threads=1,
    )
    return Profiled(path, reported, stages)
