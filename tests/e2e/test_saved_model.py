"""A SavedModel goes in by the browser and comes back placed, loads, and serves as before."""

import json
import subprocess
import sys
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
TWO_CPUS = """import tensorflow as tf
[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.config.set_soft_device_placement(False)
"""
CALLED = """
[(name, spec)] = step.structured_input_signature[1].items()
[output] = step(**{name: tf.ones([3, 6], spec.dtype)}).values()
devices = {op.device.rpartition("/task:0")[2] for op in step.graph.get_operations() if op.device}
import json
print(json.dumps({"devices": sorted(devices), "shape": output.shape.as_list()}))
"""
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


def test_the_page_says_how_it_is_loaded_on_other_devices(page: Page, saved_model: Path, tmp_path: Path) -> None:
    """The lines of the page run as they are, but for the devices of this machine."""
    create_project(page, "Loaded")
    upload(page, saved_model)
    start_run(page, evaluations=20, method="random")
    expect_status(page, "done")
    menu = part(page, "downloads")
    menu.locator("summary").click()
    with page.expect_download() as download:
        menu.locator("[data-files=best]").get_by_role("link", name="Placed SavedModel (.zip)").click()
    download.value.save_as(tmp_path / download.value.suggested_filename)
    loading = menu.locator("[data-files=best] [data-part=loading]")
    loading.get_by_role("button", name="Load .zip in Python").click()
    lines = loading.locator("code").last
    expect(lines).to_contain_text('devices = {"/device:GPU:0": "/device:GPU:0", "/device:GPU:1": "/device:GPU:1"}')
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    loading.get_by_role("button", name="Copy").click()
    expect(loading).to_contain_text("Copied.")
    script = page.evaluate("navigator.clipboard.readText()")
    assert script.strip() == lines.inner_text().strip()
    here = {"/device:GPU:0": "/device:CPU:1", "/device:GPU:1": "/device:CPU:0"}
    for device, other in here.items():
        script = script.replace(f': "{device}"', f': "{other}"')
    with page.expect_download() as download:
        menu.locator("[data-files=best]").get_by_role("link", name="Placement (.json)").click()
    placement = json.loads(Path(download.value.path()).read_text())
    (tmp_path / "load.py").write_text(f"{TWO_CPUS}{script}{CALLED}")
    done = subprocess.run([sys.executable, "load.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {"devices": sorted({here[device] for device in placement.values()}), "shape": [3, 4]}
