"""A SavedModel goes in by the browser and comes back placed, loads, and serves as before."""

import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from engine.child.parent import Limits, run_in_child
from experiments.placed.saved_model import check
from tests.e2e.steps import create_project, expect_status, part, start_run, upload

pytestmark = pytest.mark.e2e

DEVICES = 2
LIMITS = Limits(memory_bytes=8 * 1024**3, seconds=300.0)
IN_CHILD = "tests.engine.placed_saved_models.in_child:save_sample_in_child"


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Keras model, as `model.export` writes it, zipped."""
    folder = tmp_path_factory.mktemp("saved_model")
    run_in_child(IN_CHILD, {"name": "dense", "folder": str(folder)}, LIMITS, task="saving")
    return folder / "dense.zip"


def on_virtual_cpus(source: Path, target: Path) -> None:
    """The SavedModel with /device:CPU:i for /device:GPU:i."""
    with zipfile.ZipFile(source) as given, zipfile.ZipFile(target, "w") as made:
        for name in given.namelist():
            content = given.read(name)
            if name == "saved_model.pb":
                assert b"/device:GPU:" in content
                content = content.replace(b"/device:GPU:", b"/device:CPU:")
            made.writestr(name, content)


def test_a_saved_model_is_uploaded_placed_downloaded_and_loaded(page: Page, saved_model: Path, tmp_path: Path) -> None:
    create_project(page, "Served")
    upload(page, saved_model)
    start_run(page, evaluations=50, method="random")
    expect_status(page, "done")
    part(page, "downloads").locator("summary").click()
    link = page.get_by_role("link", name="Placed SavedModel (.zip)")
    expect(link).to_be_visible()
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "dense-placed.zip"
    download.value.save_as(tmp_path / "placed.zip")
    on_virtual_cpus(tmp_path / "placed.zip", tmp_path / "virtual.zip")
    found = check(saved_model, tmp_path / "virtual.zip", DEVICES, LIMITS)
    assert found.holds, found
