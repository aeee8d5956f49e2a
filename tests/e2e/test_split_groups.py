"""A person looks into a group that a search has put on several devices, gives it away, and goes on from there."""

import re
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.steps import address_of, expect_status, open_tab, part, run_on
from tests.webapp.graph_files import products

pytestmark = pytest.mark.e2e
TREES, OPS = 5, 80


def splits(page: Page) -> Locator:
    """The rows of groups on several devices."""
    rows: Locator = part(page, "groups").locator("tbody tr").filter(has_text="2 devices")
    return rows


def test_a_group_on_several_devices_says_its_parts_and_goes_on_by_hand(
    page: Page, tmp_path: Path, faults: list[str]
) -> None:
    step = run_on(products(TREES, OPS), page, tmp_path, "Split", "local_search", 3000, ".pb")
    expect(part(page, "shown")).to_contain_text(
        re.compile("found among [0-9]+ groups.*on several devices; .* cross devices")
    )
    group = a_group_has_parts(page)
    placed_graph_has_them(page, group)
    file_shows_them(page, group, tmp_path, faults)
    run = address_of(page)
    moved_by_hand_and_kept(page, step, group)
    kept_one_is_compared(page)
    page.goto(run)
    expect(step).to_have_attribute("data-state", "ready")
    run_goes_on(page)


def a_group_has_parts(page: Page) -> int:
    """Choose a group on several devices; returns its number."""
    striped = part(page, "colour-legend").locator("li").filter(has_text="on several devices, by time")
    expect(striped.locator(".stripe")).to_have_count(2)
    open_tab(page, "Groups")
    split = splits(page).first
    split.click()
    chosen = part(page, "chosen")
    expect(chosen).to_contain_text("Its ops are on 2 devices:")
    expect(chosen.locator("[data-device-part]")).to_have_count(2)
    expect(chosen).to_contain_text("If all of it went to one device:")
    return int(str(split.get_attribute("data-group")))


def placed_graph_has_them(page: Page, group: int) -> None:
    """Download the placed graph: as many ops of the group are on each device as its panel says."""
    reported = part(page, "chosen").locator("[data-device-part]").all_inner_texts()
    parts = {f"/device:GPU:{device}": int(re.findall(r"(\d+) ops?", text)[0]) for device, text in enumerate(reported)}
    menu = part(page, "downloads")
    menu.locator("summary").click()
    with page.expect_download() as download:
        menu.locator("[data-files=best]").get_by_role("link", name="Placed GraphDef as text").click()
    text = Path(download.value.path()).read_text()
    device_of = dict(re.findall(r'name: "([^"]+)"\s+op: "[^"]+".*?device: "[^"]*(/device:GPU:\d)"', text, re.DOTALL))
    assert len(device_of) == TREES * OPS
    ops = page.request.get(str(part(page, "step").get_attribute("data-ops"))).json()
    own = [name for name, of in zip(ops["names"], ops["groups"], strict=True) if of == group]
    assert Counter(device_of[name] for name in own) == parts


def file_shows_them(page: Page, group: int, tmp_path: Path, faults: list[str]) -> None:
    """Open the run as one HTML file, with its parts, and compare there."""
    with page.expect_download() as download:
        part(page, "downloads").get_by_role("link", name="This page as one file").click()
    path = tmp_path / "run.html"
    download.value.save_as(path)
    file, asked = page.context.new_page(), []
    file.on("pageerror", lambda error: faults.append(f"threw {error}"))
    file.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    file.on("request", lambda request: asked.append(request.url))
    file.goto(path.as_uri())
    expect(part(file, "shown")).to_contain_text("on several devices; ")
    expect(part(file, "colour-legend").locator(".stripe").first).to_be_visible()
    expect(splits(file)).to_have_count(splits(page).count())
    open_tab(file, "Groups").locator(f"tr[data-group='{group}']").click()
    facts, words = ".split-places", str(part(page, "chosen").locator(".split-places").text_content())
    expect(part(file, "chosen").locator(facts)).to_have_text(words)
    compare = part(file, "compare")
    compare.get_by_label("Shown placement with").select_option("baseline-single_device")
    expect(compare).to_have_attribute("data-state", "ready")
    sides = compare.locator(".compared-sides > div")
    expect(sides.first).to_contain_text(re.compile("Compared: Single device.*GPU 0"))
    expect(sides.last.locator(facts)).to_have_text(words)
    compare.get_by_role("button", name="Side by side").click()
    expect(compare.locator(".compare-stages .graph-canvas")).to_have_count(2)
    expect(compare.locator(".moves-table thead th")).to_have_text(["Group", "From", "To"])
    expect(compare).to_have_attribute("data-state", "ready")
    expect(compare.locator("[data-compare=failure]")).to_be_empty()
    assert asked == [path.as_uri()], "the file asks for nothing"
    file.close()


def moved_by_hand_and_kept(page: Page, step: Locator, group: int) -> None:
    """Move the chosen group as a whole, and keep what comes of it: the other groups stay split."""
    whole = part(page, "chosen").locator(".moves [data-device='0'] .move-change")
    expect(whole).to_have_text(re.compile("%|equally"))
    reported = whole.inner_text()
    still_split = splits(page).count() - 1
    open_tab(page, "Groups").locator("tr[aria-selected=true]").focus()
    page.keyboard.press("1")
    bar = part(page, "trial")
    expect(bar).to_contain_text("1 group moved")
    expect(bar).to_contain_text(reported)
    row = part(page, "groups").locator(f"tr[data-group='{group}']")
    expect(row).to_contain_text("GPU 0")
    expect(splits(page)).to_have_count(still_split)

    bar.get_by_text("Keep", exact=True).click()
    bar.get_by_label("Name of the placement").fill("less split")
    bar.get_by_role("button", name="Keep it").click()
    expect(part(page, "shown")).to_contain_text("Kept placement “less split”")
    expect(page).to_have_url(re.compile("show=placement-"))
    page.reload()
    expect(step).to_have_attribute("data-state", "ready")
    expect(row).to_contain_text("GPU 0")
    expect(splits(page)).to_have_count(still_split)


def kept_one_is_compared(page: Page) -> None:
    """Compare with the best, from which it differs by one group that was split."""
    page.get_by_label("Shown placement with").select_option("best")
    compare = part(page, "compare")
    expect(compare).to_have_attribute("data-state", "ready")
    expect(compare.locator("[data-compare=sentence]")).to_contain_text("1 group moved")
    [move] = compare.locator(".moves-table tbody tr").all()
    expect(move).to_contain_text("2 devices")
    expect(move).to_contain_text("was on several devices")
    sides = compare.locator(".compared-sides > div")
    expect(sides.first).to_contain_text("Its ops are on 2 devices:")
    expect(sides.last).to_contain_text("GPU 0")


def run_goes_on(page: Page) -> None:
    """Start a run from the shown placement: it begins with the same parts."""
    shown_us = page.request.get(f"{address_of(page)}run.json").json()["best_step_time_us"]
    split = splits(page).count()
    kept = open_tab(page, "Kept placements")
    kept.get_by_text("Go on from here").click()
    kept.get_by_label("Evaluations").fill("1")
    kept.get_by_role("button", name="Start the run").click()
    expect(part(page, "start")).to_contain_text("Goes on from episode")
    expect_status(page, "done")
    report = page.request.get(f"{address_of(page)}report.json").json()
    assert report["start_step_time_us"] == pytest.approx(shown_us, rel=1e-9)
    expect(part(page, "step")).to_have_attribute("data-state", "ready")
    expect(splits(page)).to_have_count(split)
