"""A placed graph runs where it says: TensorFlow overrides no device, and the numbers are the unplaced graph's."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from engine.child import Limits, run_in_child
from engine.events import Json
from engine.graphs.colocation import colocation_classes
from engine.graphs.graphdef_reader import read_graph
from engine.graphs.graphdef_writer import write_placed

DEVICES = 3
SAMPLES = "tests.engine.graphs.tensorflow_samples"
NAMES = ("resource_variables", "ref_variables", "while_loop", "condition", "queue_and_table", "two_handles")
PLACEMENTS = 4
TASK = "running samples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    run_in_child(f"{SAMPLES}:build_samples_in_child", {"folder": str(folder)}, Limits(), task=TASK)
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, dict[str, Any]]:
    """What running says, by sample; `scattered` is one whose ops were placed each by itself."""
    jobs: dict[str, Json] = {}
    for name in NAMES:
        source = folder / f"{name}.pb"
        jobs[name] = {"plain": str(source), "placed": [str(path) for path in placed_at_random(source)]}
    scattered = folder / "scattered.pb"
    order: dict[str, Json] = {"source": str(folder / "ref_variables.pb"), "target": str(scattered), "devices": DEVICES}
    run_in_child(f"{SAMPLES}:scatter_in_child", order, Limits(), task=TASK)
    jobs["scattered"] = {"plain": str(folder / "ref_variables.pb"), "placed": [str(scattered)]}
    order = {"jobs": jobs, "devices": DEVICES}
    _, texts = run_in_child(f"{SAMPLES}:run_placed_in_child", order, Limits(), task=TASK)
    return cast(dict[str, dict[str, Any]], texts)


def placed_at_random(source: Path) -> list[Path]:
    graph = read_graph(source, ".pb", Limits())
    class_of_op = colocation_classes(graph)
    rng = np.random.default_rng(0)
    targets = []
    for index in range(PLACEMENTS):
        device_of_class = rng.integers(0, DEVICES, class_of_op.max() + 1)
        device_of_op = {
            op: f"/device:CPU:{device_of_class[class_]}" for op, class_ in zip(graph.op_names, class_of_op, strict=True)
        }
        targets.append(source.with_name(f"{source.stem}-{index}.pb"))
        write_placed(source, ".pb", device_of_op, targets[-1], Limits())
    return targets


@pytest.mark.parametrize("name", NAMES)
def test_each_op_runs_on_its_written_device(found: dict[str, dict[str, Any]], name: str) -> None:
    assert found[name]["mismatches"] == []
    assert found[name]["executed_ops"] > PLACEMENTS * 3
    assert found[name]["loss"] != 0.0


def test_ops_that_are_placed_each_by_itself_are_moved_by_tensorflow(found: dict[str, dict[str, Any]]) -> None:
    assert len(found["scattered"]["mismatches"]) > 0
