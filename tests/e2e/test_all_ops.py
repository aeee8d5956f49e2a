"""A person looks at all ops of a graph at once, and at a graph of more groups than the small picture takes."""

import json
import random
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import create_project, expect_status, open_tab, part, start_run

pytestmark = pytest.mark.e2e
OPS = 3100
HOSTILE = '<img src=x onerror="alert(1)">'
PIXEL_OF = "(stage, node) => stage.flatView.pixelOf(node)"
DRAWN = "stage => stage.flatView.drawn"
HAS_LAYER = "([stage, layer]) => stage.flatView.layers.some(({ name }) => name === layer)"
COLOURS = "(stage, groups) => groups.map(group => stage.flatView.colourOf(group))"


def graph_of(ops: int) -> str:
    """A random tree whose first op has markup for a name."""
    rng = random.Random(3)
    names = [HOSTILE, *(f"layer{op // 10}/op{op}" for op in range(1, ops))]
    nodes = [
        {"id": name, "type": "MatMul", "time_us": 10 + op % 9, "output_bytes": [1000]} for op, name in enumerate(names)
    ]
    edges = [{"source": names[rng.randrange(max(0, op - 40), op)], "target": names[op]} for op in range(1, ops)]
    return json.dumps({"nodes": nodes, "edges": edges})


def test_all_ops_are_drawn_chosen_and_coloured_by_the_shown_placement(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    path.write_text(graph_of(OPS))
    create_project(page, "All ops")
    options = part(page, "options")
    options.locator("summary").click()
    options.get_by_label("Groups", exact=True).fill("all")
    page.locator("input[name=file]").set_input_files(path)
    page.get_by_role("button", name="Upload and read").click()

    groups, ops = (page.get_by_role("img", name=f"All 3,100 {what}") for what in ("groups", "ops"))
    stage, words = part(page, "canvas"), page.locator(".flat-words")
    page.get_by_role("button", name="Groups", exact=True).click()
    expect(groups).to_be_visible()
    expect(page.locator(".graph-canvas")).to_have_count(0)
    page.get_by_role("button", name="All ops").click()
    listed = part(page, "ops")
    expect(listed.locator("tbody tr")).to_have_count(200)
    expect(listed.locator("tbody th").first).to_have_text(HOSTILE)
    page.get_by_label("Search the table of ops").fill("op77")
    listed.get_by_role("row", name="layer7/op77").press("Enter")
    expect(words).to_contain_text("layer7/op77 (MatMul)")
    ops.hover(position=stage.evaluate(PIXEL_OF, 77))
    expect(stage.locator(".tip", has_text="op77")).to_be_visible()

    start_run(page, evaluations=30, method="random")
    expect_status(page, "done")
    page.get_by_role("button", name="All ops").click()
    expect(page).to_have_url(re.compile("draw=ops"))
    expect(ops).to_be_visible()
    assert {"#0072b2", "#e69f00"} <= set(stage.evaluate(COLOURS, list(range(100))))
    page.wait_for_function(HAS_LAYER, arg=[stage.element_handle(), "layer7"])  # from afar layers have their names
    expect(part(page, "step")).to_have_attribute("data-state", "ready")
    ops.click(position=stage.evaluate(PIXEL_OF, OPS - 1))
    expect(words).to_contain_text(f"op{OPS - 1} (MatMul)")
    expect(part(page, "chosen")).to_contain_text(f"op{OPS - 1}")
    expect(page.locator("[data-step=chosen-words]")).to_contain_text(f"op{OPS - 1} (MatMul)")
    open_tab(page, "Ops")
    page.get_by_label("Search ops").fill("op77")
    page.get_by_label("Search ops").press("Enter")
    expect(words).to_contain_text("op77")

    drawn = stage.evaluate(DRAWN)
    ops.press("+")
    ops.press("ArrowLeft")
    page.wait_for_function("([stage, before]) => stage.flatView.drawn > before", arg=[stage.element_handle(), drawn])
    before = stage.evaluate(COLOURS, list(range(OPS)))
    page.get_by_label("Episode shown").fill("0")
    expect(page.locator("[data-part=shown]")).to_contain_text("Episode 1:")
    assert stage.evaluate(COLOURS, list(range(OPS))) != before

    page.reload()
    expect(ops).to_be_visible()
    page.get_by_role("button", name="Groups", exact=True).click()
    expect(groups).to_be_visible()
    expect(ops).to_be_hidden()
