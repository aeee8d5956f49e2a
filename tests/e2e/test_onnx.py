"""An ONNX model goes in by the browser, says its dimensions, and comes back placed and in stages that run."""

import runpy
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import create_project, expect_status, part, start_run
from tests.engine.onnx.building import stored
from tests.engine.onnx.cases import CASES

pytestmark = pytest.mark.e2e
ON_THE_CPU = {"GPU": "CPUExecutionProvider", "CPU": "CPUExecutionProvider"}


def test_a_decoder_is_uploaded_placed_downloaded_and_run(page: Page, tmp_path: Path) -> None:
    build, _, inputs = CASES["decoder"]
    model = stored(build(), tmp_path / "decoder.onnx")
    create_project(page, "Decoder")
    page.set_input_files("input[name=file]", model)
    expect(page.get_by_role("heading", name="What size is a step?")).to_be_visible()
    for name, length in (("batch", "2"), ("new", "3"), ("past", "5")):
        page.get_by_label(f"Length of {name}", exact=True).fill(length)
    page.get_by_role("button", name="Read the graph").click()
    start_run(page, evaluations=50, method="random")
    expect_status(page, "done")
    part(page, "downloads").locator("summary").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Stages for ONNX Runtime (.zip)").first.click()
    download.value.save_as(tmp_path / "stages.zip")
    with zipfile.ZipFile(tmp_path / "stages.zip") as archive:
        archive.extractall(tmp_path / "stages")
    runner = runpy.run_path(str(tmp_path / "stages" / "run_stages.py"))
    found = runner["run"](runner["load"](ON_THE_CPU), inputs())
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    for one, other in zip(found.values(), session.run(None, inputs()), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
