"""A placed SavedModel loads in a fresh process, serves what the original serves, and runs where it says."""

import zipfile
from pathlib import Path
from typing import cast

import pytest

from engine.child.parent import Limits, run_in_child
from engine.events import Json
from experiments.placed.saved_model import Checked, check_all

DEVICES = 3
ORDERS = 12
LIMITS = Limits(memory_bytes=12 * 1024**3, seconds=600.0)
LEAST_EXECUTED = {
    "dense": 30,
    "convolution": 50,
    "recurrent": 500,
    "transformer": 150,
    "mixed precision": 30,
    "branches": 80,
    "tables": 40,
    "the other signature": 3,
    "training": 200,
    "compiled": 15,
    "without variables": 8,
    "first form": 15,
    "writing loops": 200,
    "first form loops": 80,
}
"""sample → ops that the signature must run, so that nothing is held that was never looked at"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all samples, as they were saved and placed."""
    folder = tmp_path_factory.mktemp("saved_models")
    order: dict[str, Json] = {"names": list(LEAST_EXECUTED), "folder": str(folder), "devices": DEVICES}
    in_child = "tests.engine.placed_saved_models.in_child:write_samples_in_child"
    _, said = run_in_child(in_child, order, LIMITS, task="saving")
    assert said["same"] is True, "the same upload and placement give the same bytes"
    return folder


@pytest.fixture(scope="module")
def checked(written: Path) -> dict[str, Checked]:
    """What the fresh process found, by sample."""
    pairs = [(written / f"{name}.zip", written / f"{name}-placed.zip") for name in LEAST_EXECUTED]
    return dict(zip(LEAST_EXECUTED, check_all(pairs, DEVICES, LIMITS), strict=True))


@pytest.mark.parametrize("name", LEAST_EXECUTED)
def test_it_serves_as_before_on_the_devices_that_are_written(checked: dict[str, Checked], name: str) -> None:
    found = checked[name]
    assert (found.mismatches, found.unequal, found.examples) == (0, 0, ())
    assert found.outputs >= 2
    assert found.executed >= LEAST_EXECUTED[name]


@pytest.mark.parametrize("name", LEAST_EXECUTED)
def test_variables_and_assets_are_those_of_the_upload_and_nothing_else_is_there(written: Path, name: str) -> None:
    with zipfile.ZipFile(written / f"{name}.zip") as before, zipfile.ZipFile(written / f"{name}-placed.zip") as after:
        there = {entry.filename: entry.CRC for entry in before.infolist()}
        kept = {entry.filename: entry.CRC for entry in after.infolist()}
        folders = {path.partition("/")[0] for path in kept}
        assert after.testzip() is None
    assert kept.pop("saved_model.pb") != there["saved_model.pb"]
    assert kept.items() <= there.items()
    assert folders <= {"saved_model.pb", "variables", "assets"}
    assert [path for path in there if path.startswith("assets/") and path not in kept] == []
    assert ("variables" in folders) == (name != "without variables")


def test_a_file_with_loops_loads_in_any_order(written: Path) -> None:
    order: dict[str, Json] = {"folder": str(written), "names": ["writing loops", "first form loops", "recurrent"]}
    in_child = "tests.engine.placed_saved_models.in_child:load_in_orders_in_child"
    _, loads = run_in_child(in_child, order | {"orders": ORDERS}, LIMITS, task="loading")
    assert loads.pop("shared handles") != ORDERS, "the orders find what does not load"
    assert loads == dict.fromkeys(cast(list[str], order["names"]), ORDERS)
