"""A PyTorch model goes from its recorded step to a device map that moves its modules, and a foreign map is judged."""

import json
import os
import re
from pathlib import Path

import placeto
import pytest
import torch
from playwright.sync_api import Page, expect

from tests.e2e.steps import create_project, expect_status, open_tab, part, start_run, upload

pytestmark = pytest.mark.e2e

LAYERS, WIDTH, BATCH = 6, 64, 8


def model() -> torch.nn.Module:
    """Layers in a row, and a head."""
    torch.manual_seed(0)
    layers = [
        torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, WIDTH))
        for _ in range(LAYERS)
    ]
    return torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 10))


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded training step of the model."""
    path = tmp_path_factory.mktemp("recorded") / "layers.json.gz"
    inputs = torch.randn(BATCH, WIDTH)
    placeto.record(model(), inputs, loss=lambda out: out.square().mean(), optimizer=torch.optim.SGD).save(path)
    return path


def test_a_recorded_step_gives_a_device_map_that_runs(page: Page, step: Path, tmp_path: Path) -> None:
    create_project(page, "Recorded")
    upload(page, step)
    expect(page.locator("[data-part=canvas]")).to_be_visible()
    start_run(page, evaluations=60, method="accelerate_auto")
    expect_status(page, "done")
    expect(part(page, "verdict")).to_contain_text("above the lower bound")
    part(page, "downloads").locator("summary").click()
    files = page.locator("[data-files=best]")
    with page.expect_download() as download:
        files.get_by_role("link", name="device_map for PyTorch").click()
    device_map = json.loads(download.value.path().read_text())
    assert download.value.suggested_filename == "layers-model.device_map.json"
    applied = placeto.apply(model(), dict.fromkeys(device_map, "cpu"))
    inputs = torch.randn(BATCH, WIDTH)
    assert torch.equal(applied(inputs), model()(inputs))
    files.get_by_role("button", name="Load .device_map.json in Python").click()
    expect(files.locator(".lines")).to_contain_text("placeto.apply(model,")
    expect(page.get_by_role("link", name="Placed GraphDef (.pb)")).to_have_count(0)


def test_a_foreign_device_map_is_kept_and_judged(page: Page, step: Path, tmp_path: Path, faults: list[str]) -> None:
    create_project(page, "Foreign")
    upload(page, step)
    start_run(page, evaluations=60, method="accelerate_auto")
    expect_status(page, "done")
    theirs = tmp_path / "theirs.json"
    panel = open_tab(page, "Kept placements")
    theirs.write_text(json.dumps({str(layer): layer % 2 for layer in range(LAYERS + 1)}))
    page.locator("[data-kept=file]").set_input_files(theirs)
    kept = panel.get_by_role("row").filter(has_text="theirs")
    expect(kept).to_contain_text("uploaded")
    expect(kept.locator("td.number").first).to_contain_text(re.compile("[0-9]"))
    kept.get_by_text("Download", exact=True).click()
    with page.expect_download() as download:
        kept.get_by_role("link", name="device_map for PyTorch").click()
    assert json.loads(download.value.path().read_text()) == json.loads(theirs.read_text())
    theirs.write_text(json.dumps({"": "disk"}))
    page.locator("[data-kept=file]").set_input_files(theirs)
    expect(page.locator("[data-kept=message]")).to_contain_text("weights on disk are not placed")
    assert [fault for fault in faults if "400" not in fault] == []
    faults.clear()  # the browser notes the refused upload


def test_a_trace_beside_a_recorded_step_gives_measured_times(page: Page, step: Path, tmp_path: Path) -> None:
    network, inputs = model(), torch.randn(BATCH, WIDTH)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    with torch.profiler.profile(record_shapes=True) as profiler:
        for _ in range(3):
            network(inputs).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    trace = tmp_path / "layers.trace.json.gz"
    profiler.export_chrome_trace(str(trace))
    create_project(page, "Measured")
    part(page, "options").locator("summary").click()
    page.locator("input[name=run_metadata]").set_input_files(trace)
    page.locator("input[name=file]").set_input_files(step)
    page.get_by_role("button", name="Upload and read").click()
    page.wait_for_url("**/graphs/*/")
    expect(page.get_by_role("button", name="Start run")).to_be_visible()
    page.get_by_text("How it was read:").click()
    expect(page.get_by_text(re.compile(r"[0-9]+ of [0-9]+ recorded ops with work are in the trace"))).to_be_visible()
    expect(page.get_by_text("layers.trace.json.gz")).to_be_visible()


def test_weights_that_do_not_fit_wait_in_cpu_memory(page: Page, tmp_path: Path) -> None:
    """Read again with the option, placed on a card that holds half of them, and taken as a map for accelerate."""
    path = tmp_path / "layers.json.gz"
    placeto.record(model().eval(), torch.randn(BATCH, WIDTH)).save(path)
    create_project(page, "Waiting")
    upload(page, path)
    again = part(page, "again")
    again.locator("summary").click()
    again.get_by_label("Weights may wait in CPU memory").check()
    again.get_by_role("button", name="Read again").click()
    expect(part(page, "facts")).to_contain_text("may wait in CPU memory")
    page.get_by_label("As text", exact=True).fill("RTX3090:0.0001GiB+cpu")
    page.get_by_label("Method", exact=True).select_option("accelerate_sequential")
    page.get_by_role("button", name="Start run").click()
    page.wait_for_url("**/runs/*/")
    expect_status(page, "done")
    part(page, "downloads").locator("summary").click()
    files = page.locator("[data-files=best]")
    with page.expect_download() as download:
        files.get_by_role("link", name="device_map for PyTorch").click()
    device_map = json.loads(download.value.path().read_text())
    assert set(device_map.values()) == {0, "cpu"}
    files.get_by_role("button", name="Load .device_map.json in Python").click()
    expect(files.locator(".lines")).to_contain_text("accelerate.dispatch_model(model, device_map)")
    if folder := os.environ.get("PLACETO_PICTURE"):
        page.screenshot(path=folder, full_page=True)
