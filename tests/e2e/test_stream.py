"""A person places a small training graph for throughput, and sees its batch."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.steps import create_project, expect_status, open_tab, part, upload

pytestmark = pytest.mark.e2e

LAYERS = 4


def training_graph() -> dict[str, Any]:
    """Layers in a row, their backward pass, and an update of each."""
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []

    def add(name: str, phase: str, time_us: float, *inputs: str) -> None:
        nodes.append({"id": name, "time_us": time_us, "output_bytes": [100_000], "phase": phase})
        edges.extend({"source": source, "target": name, "output": 0} for source in inputs)

    for layer in range(LAYERS):
        add(f"layer_{layer}/forward", "forward", 1000.0, *[f"layer_{layer - 1}/forward"] * (layer > 0))
    for layer in reversed(range(LAYERS)):
        later = [f"layer_{layer + 1}/backward"] * (layer + 1 < LAYERS)
        add(f"layer_{layer}/backward", "backward", 2000.0, f"layer_{layer}/forward", *later)
        add(f"layer_{layer}/update", "optimizer", 100.0, f"layer_{layer}/backward")
    return {"directed": True, "multigraph": False, "graph": {"name": "training"}, "nodes": nodes, "edges": edges}


def see_the_memory(page: Page, panel: Locator) -> None:
    """A curve a device with its floor and peak; pointing reads a moment; a peak opens to what holds it."""
    devices = panel.locator(".batch-names li").count()
    assert panel.locator(".batch-memory[data-device]").count() == devices
    assert panel.locator(".batch .batch-peak title").count() == devices
    expect(panel.locator(".batch-names")).to_contain_text("Peak ")
    picture = panel.locator("svg.batch")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 70)
    expect(panel.locator("[data-batch=readout]")).to_have_text(
        re.compile(r"^At .* GPU \d holds .* of it always; \d micro-batch(es)? in flight\.$")
    )
    panel.locator("[data-batch=peaks] summary").first.click()
    expect(panel.get_by_role("row", name=re.compile(r"Activations .* of \d micro-batch")).first).to_be_visible()


def test_methods_are_compared_for_throughput(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "training.json"
    path.write_text(json.dumps(training_graph() | {"graph": {"name": "training", "batch": 4}}))
    create_project(page, "Streams compared")
    upload(page, path)
    page.get_by_label("As text", exact=True).fill("2xK80")
    page.get_by_label("Throughput of a stream of micro-batches").check()
    page.get_by_label("Micro-batches", exact=True).fill("6")
    page.get_by_role("link", name="Compare methods").click()
    page.wait_for_url("**/compare/?*")
    expect(page.get_by_label("Micro-batches", exact=True)).to_have_value("6")
    boxes = page.locator("input[name=methods]")
    page.get_by_label("Contiguous stages", exact=False).check()
    expect(page.locator("input[name=methods][value=random]")).to_be_disabled()
    page.get_by_label("Contiguous stages", exact=False).uncheck()
    for box in boxes.all():
        box.set_checked(box.get_attribute("value") in ("single_device", "pipeline_dp"))
    page.get_by_label("Evaluations", exact=True).fill("50")
    page.get_by_label("Seeds", exact=True).fill("1")
    expect(part(page, "summary")).to_contain_text("for the throughput of 6 micro-batches")
    page.get_by_role("button", name="Start comparison").click()
    page.wait_for_url("**/comparisons/*/")
    expect(part(page, "state")).to_contain_text("All 2 runs have ended")
    expect(part(page, "verdict")).to_contain_text("samples a second")
    row = part(page, "table").get_by_role("row", name=re.compile("^Pipeline DP"))
    expect(row).to_contain_text(re.compile(r"\d+\.\d+ ms[\s\S]*faster"))


def test_a_training_graph_is_placed_for_throughput_and_its_batch_is_drawn(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "training.json"
    path.write_text(json.dumps(training_graph()))
    create_project(page, "Stream")
    upload(page, path)
    micro_batches = page.get_by_label("Micro-batches", exact=True)
    expect(micro_batches).to_be_hidden()
    page.get_by_label("As text", exact=True).fill("2xK80")
    page.get_by_label("Method", exact=True).select_option("pipeline_dp")
    expect(part(page, "method-words")).to_contain_text("It needs the objective throughput.")
    page.get_by_label("Throughput of a stream of micro-batches").check()
    expect(part(page, "method-words")).not_to_contain_text("It needs the objective")
    micro_batches.fill("6")
    page.get_by_label("Evaluations", exact=True).fill("200")
    expect(part(page, "summary")).to_contain_text("for the throughput of 6 micro-batches")
    page.get_by_role("button", name="Start run").click()
    page.wait_for_url("**/runs/*/")
    expect_status(page, "done")

    expect(part(page, "advice")).to_contain_text("micro-batches a second")
    expect(part(page, "stream-facts")).to_contain_text("6 micro-batches, 1f1b")
    expect(page.locator("[data-stream=period]")).to_have_text(re.compile(r"[\d.]+ ms"))
    expect(part(page, "shown")).to_contain_text("period ")
    expect(page.get_by_role("heading", name="One micro-batch by itself", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="Period per episode", exact=True)).to_be_visible()
    expect(part(page, "chart")).to_contain_text("period (ms)")

    panel = open_tab(page, "Micro-batches")
    batch = panel.locator("[data-part=micro-batches]")
    expect(batch).to_have_attribute("data-state", "ready")
    expect(panel.locator("[data-batch=words]")).to_contain_text("6 micro-batches take ")
    expect(panel.locator(".batch-names .is-busiest")).to_contain_text("busiest")
    assert panel.locator("[data-pass=forward]").count() == panel.locator("[data-pass=backward]").count() == 12
    labels = panel.locator("[data-pass=backward] .batch-label").all_text_contents()
    assert set(labels) == {"1", "2", "3", "4", "5", "6"}
    see_the_memory(page, panel)
    panel.get_by_text("The same as tables").click()
    expect(panel.get_by_role("row", name=re.compile("Micro-batch 6, backward")).first).to_be_visible()

    page.get_by_role("link", name="Run again").click()
    expect(page.get_by_label("Throughput of a stream of micro-batches")).to_be_checked()
    expect(page.get_by_label("Micro-batches", exact=True)).to_have_value("6")
