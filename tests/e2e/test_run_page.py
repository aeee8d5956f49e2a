"""The page of a run: what is in sight without scrolling, one place for what is chosen, tabs, the chart's place."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.steps import create_project, expect_status, open_tab, part, run_on, start_run, upload
from tests.webapp.graph_files import node_link

pytestmark = pytest.mark.e2e
OPS = 40
PIXEL_OF_BAR = "(host, activity) => host.timelineView.pixelOf(activity)"
PIXEL_OF_NODE = "(host, group) => host.parentElement.graphView.pixelOf(group)"


def box_of(place: Locator) -> dict[str, float]:
    found = place.bounding_box()
    assert found is not None
    x, y, width, height = found["x"], found["y"], found["width"], found["height"]
    return {"x": x, "y": y, "width": width, "height": height, "bottom": y + height}


def test_verdict_timeline_graph_and_what_is_chosen_are_in_sight(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/")
    page.get_by_role("button", name="Open the example").click()
    page.wait_for_url("**/runs/*/")
    expect(part(page, "step")).to_have_attribute("data-state", "ready")
    expect(part(page, "first-look")).to_contain_text(re.compile("Best single move|No single move"))
    timeline, memory = page.locator("[data-step=timeline]"), page.locator("[data-step=memory]")
    for place in (part(page, "advice"), timeline, memory, part(page, "canvas"), part(page, "inspector")):
        assert box_of(place)["y"] >= 0 and box_of(place)["bottom"] <= 900
    assert box_of(memory)["x"] == box_of(timeline)["x"], "on the same axis of time"
    assert box_of(memory)["width"] == box_of(timeline)["width"]
    assert box_of(part(page, "chart"))["y"] > 900, "the chart of a run that has ended comes later"

    page.get_by_label("Find a layer, group or op").fill("mixed_17_2")
    expect(part(page, "found").locator("li").first).to_have_text("mixed_17_2 layer")
    page.keyboard.press("Enter")
    expect(part(page, "chosen")).to_contain_text("groups selected")
    expect(part(page, "chosen").locator(".why")).to_contain_text("the step would take")
    assert box_of(part(page, "chosen").locator(".why"))["bottom"] <= 900, "where it runs and why, without scrolling"


def test_all_that_is_chosen_shows_at_one_place_and_covers_nothing(page: Page, tmp_path: Path) -> None:
    run_on(node_link(OPS, 4_000_000), page, tmp_path, "One place", "local_search", 500)
    inspector, chosen = part(page, "inspector"), part(page, "chosen")
    where = box_of(inspector)
    timeline, graph = page.locator("[data-step=timeline]"), part(page, "canvas").locator(":scope > .graph-canvas")

    timeline.click(position=timeline.evaluate(PIXEL_OF_BAR, OPS - 1))
    expect(inspector.get_by_role("heading", level=3).first).to_contain_text(f"op{OPS - 1} (MatMul)")
    expect(inspector).to_contain_text("of the step")
    inspector.get_by_role("button", name="Go to what it waited for").click()
    expect(inspector.get_by_role("heading", level=3).first).not_to_contain_text(f"op{OPS - 1} ")

    graph.click(position=graph.evaluate(PIXEL_OF_NODE, 3))
    expect(chosen).to_contain_text("op3")
    expect(page.locator("[data-step=chosen-words]")).to_be_empty()
    expect(chosen.locator(".why")).to_have_text(re.compile("the step would take|hardly matters|can run it|room for it"))

    field = page.get_by_label("Find a layer, group or op")
    page.locator("h1").click()
    page.keyboard.press("/")
    expect(field).to_be_focused()
    field.fill("nothing like it")
    expect(part(page, "found")).to_contain_text("No layer, group or op has this in its name.")
    field.fill("op17")
    part(page, "found").get_by_role("button").first.click()
    expect(chosen).to_contain_text("op17")
    assert box_of(inspector) == where, "the part keeps its place and its size"

    open_tab(page, "Groups").locator("tbody tr").nth(2).click()
    name = page.locator("[data-part=groups] tr[aria-selected=true] th").inner_text()
    expect(chosen).to_contain_text(name)
    open_tab(page, "Ops").locator(".chain tbody button").first.click()
    expect(page.locator("[data-step=chosen-words]")).to_contain_text("On the critical chain.")


def test_the_first_look_offers_the_best_move_and_makes_it(page: Page, tmp_path: Path) -> None:
    run_on(node_link(OPS, 4_000_000), page, tmp_path, "First move", "random", 1)
    first = part(page, "first-look")
    expect(first).to_contain_text("Best single move: ")
    promised = re.search(r"→ ([\d.,]+ ms)", first.inner_text())
    assert promised, "a random placement can be made better"
    first.get_by_role("button", name="Make this move").click()
    expect(part(page, "trial")).to_contain_text("1 group moved")
    expect(part(page, "trial")).to_contain_text(promised[1])


def test_tabs_by_pointer_and_keys_and_in_the_address(page: Page, tmp_path: Path) -> None:
    run_on(node_link(OPS, 4_000_000), page, tmp_path, "Tabs", "local_search", 100)
    tabs = page.get_by_role("tab")
    names = ["Episodes", "Ops", "Groups", "Devices", "Gains", "Kept placements", "Settings"]
    expect(tabs).to_have_text(names)
    expect(page.get_by_role("tabpanel")).to_have_count(1)
    expect(part(page, "chart")).to_be_visible()
    page.get_by_role("tab", name="Episodes").press("ArrowRight")
    expect(page.get_by_role("tab", name="Ops")).to_be_focused()
    expect(page.get_by_role("tabpanel", name="Ops")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_role("tabpanel", name="Settings")).to_contain_text("Memory model")
    expect(page).to_have_url(re.compile("#settings$"))
    page.reload()
    expect(page.get_by_role("tabpanel", name="Settings")).to_be_visible()
    page.goto(f"{page.url.partition('#')[0]}#chain-title")
    page.reload()
    expect(page.get_by_role("tabpanel", name="Ops")).to_be_visible()
    expect(page.locator("#chain-title")).to_be_in_viewport()


def test_the_chart_is_first_while_the_run_works(page: Page, training_graph: Path) -> None:
    create_project(page, "Live first")
    upload(page, training_graph)
    start_run(page, evaluations=100_000)
    expect(part(page, "best")).not_to_have_text("–")
    assert box_of(part(page, "chart"))["bottom"] < box_of(part(page, "step"))["y"]
    expect(page.get_by_role("tab", name="Episodes")).to_be_hidden()
    expect(part(page, "verdict")).to_contain_text("Best so far: ")
    page.get_by_role("button", name="Cancel run").click()
    expect_status(page, "cancelled")
    expect(page.get_by_role("tab", name="Episodes")).to_be_visible()
    assert box_of(part(page, "step"))["bottom"] < box_of(part(page, "tabs"))["y"]
    open_tab(page, "Episodes")
    expect(part(page, "chart")).to_be_visible()


def test_a_phone_has_one_column_in_the_same_order(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    run_on(node_link(OPS, 4_000_000), page, tmp_path, "Phone", "local_search", 100)
    places = ("run-words", "step", "canvas", "inspector", "compare", "tabs")
    tops = [box_of(part(page, name))["y"] for name in places]
    assert tops == sorted(tops)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
