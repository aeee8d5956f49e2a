"""A person colours the groups of a graph by what they want to know, and opens a group down to its ops."""

import itertools
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import part, run_on, show_groups

pytestmark = pytest.mark.e2e


def blocks(count: int) -> bytes:
    """A chain of blocks of four ops; the ops of a block share a group."""
    names = [
        f"model/block_{block}/{op}" for block in range(count) for op in ("conv/kernel", "conv/run", "norm", "<b>relu")
    ]
    nodes = [
        {
            "id": name,
            "time_us": 50 * (1 + at % 4),
            "output_bytes": [4000 * (1 + at % 3)],
            "colocation": name.split("/")[1],
        }
        for at, name in enumerate(names)
    ]
    edges = [{"source": one, "target": other, "output": 0} for one, other in itertools.pairwise(names)]
    graph = {"name": "blocks"}
    return json.dumps({"directed": True, "multigraph": False, "graph": graph, "nodes": nodes, "edges": edges}).encode()


def test_groups_are_coloured_by_other_facts_and_opened_to_their_ops(page: Page, tmp_path: Path) -> None:
    step = run_on(blocks(6), page, tmp_path, "Opened", "local_search", 500)
    expect(step).to_have_attribute("data-state", "ready")
    legend, stage = part(page, "colour-legend"), part(page, "canvas")
    expect(legend).to_contain_text("GPU 0")
    for colour, words in (
        ("critical", "critical chain"),
        ("gain", "move"),
        ("source", "given in the file"),
        ("cpu", "GPU"),
    ):
        page.get_by_label("Colour by").select_option(colour)
        expect(legend).to_contain_text(words)
        expect(legend).not_to_contain_text("stands still")
    expect(page).to_have_url(re.compile("colour=cpu"))

    show_groups(page)
    whole = stage.locator(":scope > .graph-canvas")
    whole.dblclick(position=stage.evaluate("stage => stage.graphView.pixelOf(5)"))  # the lowest one
    way = stage.get_by_role("navigation", name="Opened scopes")
    expect(way).to_contain_text("block_5/")
    expect(way).not_to_contain_text("model/")
    expect(page).to_have_url(re.compile("open=5"))
    way.get_by_role("button", name="As a list").click()
    rows = stage.locator(".scope-list tbody tr")
    expect(rows).to_have_count(3)
    expect(stage).to_contain_text("<b>relu")
    rows.filter(has_text="conv").click()
    part(page, "chosen-item").get_by_role("button", name="Open its 2 ops").click()
    expect(rows).to_have_count(2)
    expect(page).to_have_url(re.compile("conv"))
    page.reload()
    expect(way).to_contain_text("conv")
    drawn = stage.locator(".scope-body .graph-canvas")
    drawn.press("Escape")
    expect(way).not_to_contain_text("conv")
    expect(page).not_to_have_url(re.compile("conv"))
    drawn.press("Escape")
    expect(way).to_be_hidden()
    page.go_back()
    expect(way).to_contain_text("block_5/")
    way.get_by_role("button", name="Graph").click()
    expect(way).to_be_hidden()
    expect(whole).to_be_visible()
