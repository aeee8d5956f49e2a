"""A person reads a graph by its blocks: opens and closes them in place, chooses and moves them by pointer and keys."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import part, run_on

pytestmark = pytest.mark.e2e
HOSTILE = "<b>bias"
LAYERS = 6


def transformer() -> bytes:
    """A chain: words, equal layers of two blocks each, a head. Each op is a group of its own."""
    parts = ("attention/query", "attention/score", f"mlp/{HOSTILE}", "mlp/dense")
    layers = [f"encoder/layer_{layer}/{part}" for layer in range(LAYERS) for part in parts]
    names = ["embedding/lookup", "embedding/add", *layers, "encoder/norm", "head/dense", "head/softmax"]
    nodes = [
        {"id": name, "type": name.rpartition("/")[2], "time_us": 100.0, "output_bytes": [4000], "persistent_bytes": 100}
        for name in names
    ]
    edges = [{"source": one, "target": other, "output": 0} for one, other in itertools.pairwise(names)]
    graph = {"name": "transformer"}
    return json.dumps({"directed": True, "multigraph": False, "graph": graph, "nodes": nodes, "edges": edges}).encode()


class Blocks:
    """The picture of the blocks on a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.host = page.locator("[data-drawn=blocks].flat-canvas")
        self.words = page.locator(".block-words")

    @property
    def names(self) -> list[str]:
        """What is seen, each block before what is in it."""
        names: list[str] = self._asked("[...host.blockTree.nodes].map(node => node.row.name)")
        return names

    def place_of(self, name: str) -> dict[str, float]:
        """The pixels of a block in the picture, once it stands still."""
        self.wait_until("!host.blocksView.isMoving")
        key = "[...host.blockTree.nodes].find(node => node.row.name === name).key"
        place: dict[str, float] = self._asked(f"host.blocksView.pixelsOf({key})", name)
        return place

    def middle_of(self, name: str) -> Any:
        place = self.place_of(name)
        return {"x": place["x"] + place["width"] / 2, "y": place["y"] + min(place["height"], 40) / 2}

    def click(self, name: str) -> None:
        self.host.click(position=self.middle_of(name))

    def wait_until(self, condition: str) -> None:
        self.page.wait_for_function(f"host => host.blockTree && {condition}", arg=self.host.element_handle())

    def _asked(self, script: str, name: str = "") -> Any:
        self.wait_until("true")
        return self.host.evaluate(f"(host, name) => {script}", name)


def test_blocks_are_opened_closed_chosen_and_moved(page: Page, tmp_path: Path) -> None:
    step = run_on(transformer(), page, tmp_path, "Blocks", "local_search", 200)
    blocks = Blocks(page)
    expect(page.get_by_role("button", name="Blocks")).to_have_attribute("aria-pressed", "true")
    expect(blocks.host).to_be_visible()
    assert blocks.names == ["embedding", "encoder", "head"]

    folds_are_opened_in_place(page, blocks)
    keys_lead_from_block_to_block(page, blocks)
    expect(step).to_have_attribute("data-state", "ready")
    blocks_are_moved(page, blocks)
    the_other_pictures_stay(page, blocks)


def folds_are_opened_in_place(page: Page, blocks: Blocks) -> None:
    blocks.click("encoder")
    expect(blocks.words).to_contain_text(f"encoder ({4 * LAYERS + 1} ops)")
    expect(blocks.words).to_contain_text("critical")
    expect(part(page, "chosen")).to_contain_text(f"{4 * LAYERS + 1} groups selected")
    blocks.host.dblclick(position=blocks.middle_of("encoder"))
    fold = f"layer_0 … layer_{LAYERS - 1}"
    page.wait_for_url(re.compile("blocks=2"))
    assert blocks.names == ["embedding", "encoder", fold, "norm", "head"]
    blocks.click(fold)
    expect(blocks.words).to_contain_text(f"{LAYERS} equal parts of 4 ops")
    blocks.host.press("Enter")
    page.wait_for_url(re.compile("blocks=2,3"))
    assert blocks.names.count("layer_3") == 1
    page.reload()
    expect(blocks.host).to_be_visible()
    blocks.wait_until("host.blockTree.open.length === 2")
    blocks.click("layer_3")
    blocks.host.press("Enter")
    blocks.wait_until("host.blockTree.open.length === 3")
    assert {"attention", "mlp"} <= set(blocks.names)
    page.wait_for_url(re.compile(r"blocks=2,3,\d"))
    page.go_back()
    blocks.wait_until("host.blockTree.open.length === 2")


def keys_lead_from_block_to_block(page: Page, blocks: Blocks) -> None:
    blocks.click("layer_3")
    blocks.host.press("ArrowDown")
    expect(blocks.words).not_to_contain_text("layer_3")
    blocks.host.press("ArrowUp")
    expect(blocks.words).to_contain_text("layer_3")
    blocks.host.press("Escape")
    blocks.wait_until("host.blockTree.open.length === 1")
    blocks.host.press("Escape")
    blocks.wait_until("host.blockTree.open.length === 0")
    expect(blocks.words).to_contain_text("encoder (")
    blocks.host.press("Escape")
    expect(blocks.words).to_be_empty()
    expect(part(page, "chosen")).to_be_empty()


def blocks_are_moved(page: Page, blocks: Blocks) -> None:
    bar, rows = part(page, "trial"), part(page, "groups").locator("tbody tr")
    heads = rows.filter(has_text="head/")
    there = 1 if "GPU 0" in heads.first.inner_text() else 0
    blocks.click("head")
    expect(part(page, "chosen")).to_contain_text("2 groups selected")
    page.keyboard.press(str(there + 1))
    expect(bar).to_contain_text(re.compile("groups? moved, "))
    expect(heads.first).to_contain_text(f"GPU {there}")
    page.keyboard.press("Control+z")
    expect(bar).not_to_contain_text("moved")
    expect(part(page, "step")).to_have_attribute("data-state", "ready")

    expect(part(page, "chosen").locator(".move-change", has_text="…")).to_have_count(0)
    page.set_viewport_size({"width": 1280, "height": 2000})
    page.evaluate("scrollTo(0, 0)")
    box, middle = blocks.host.bounding_box(), blocks.middle_of("head")
    assert box
    page.mouse.move(box["x"] + middle["x"], box["y"] + middle["y"])
    page.mouse.down()
    page.mouse.move(box["x"] + middle["x"] + 3, box["y"] + middle["y"] + 14, steps=3)
    expect(page.locator(".drag-ghost")).to_contain_text("2 groups")
    target = page.locator(f".drop-bar [data-drop-device='{there}']")
    device = target.bounding_box()
    assert device
    page.mouse.move(device["x"] + device["width"] / 2, device["y"] + device["height"] / 2, steps=3)
    page.mouse.up()
    expect(bar).to_contain_text(re.compile("groups? moved, "))
    expect(heads.last).to_contain_text(f"GPU {there}")


def the_other_pictures_stay(page: Page, blocks: Blocks) -> None:
    page.get_by_role("button", name="Groups", exact=True).click()
    expect(page.locator("[data-part=canvas] > .graph-canvas")).to_be_visible()
    expect(blocks.host).to_be_hidden()
    expect(page).to_have_url(re.compile("draw=groups"))
    page.reload()
    expect(page.locator("[data-part=canvas] > .graph-canvas")).to_be_visible()
    page.get_by_role("button", name="Blocks").click()
    expect(blocks.host).to_be_visible()

    page.goto(str(page.get_by_role("navigation", name="Breadcrumb").get_by_role("link").nth(2).get_attribute("href")))
    expect(blocks.host).to_be_visible()
    blocks.click("embedding")
    expect(blocks.words).to_contain_text("embedding (2 ops)")
