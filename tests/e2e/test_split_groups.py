"""A person looks into a group that a search has put on several devices, and goes on from there by hand."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import part, run_on
from tests.webapp.graph_files import node_link

pytestmark = pytest.mark.e2e
OPS = 400


def test_a_group_on_several_devices_says_its_parts_and_goes_on_by_hand(page: Page, tmp_path: Path) -> None:
    step = run_on(node_link(OPS, 4_000_000), page, tmp_path, "Split", "local_search", 3000)
    expect(part(page, "shown")).to_contain_text(
        re.compile("by moves of [0-9]+ groups.*on several devices; .* cross devices")
    )
    striped = part(page, "colour-legend").locator("li").filter(has_text="on several devices, by time")
    expect(striped.locator(".stripe")).to_have_count(2)
    split = part(page, "groups").locator("tbody tr").filter(has_text="2 devices").first
    group = split.get_attribute("data-group")
    split.click()
    chosen = part(page, "chosen")
    expect(chosen).to_contain_text("Its ops are on 2 devices:")
    expect(chosen.locator("[data-device-part]")).to_have_count(2)
    expect(chosen).to_contain_text("If all of it went to one device:")
    whole = chosen.locator(".moves [data-device='0'] .move-change")
    expect(whole).to_have_text(re.compile("%|equally"))
    told = whole.inner_text()

    others = part(page, "groups").locator("tbody tr").filter(has_text="2 devices")
    still_split = others.count() - 1
    page.keyboard.press("1")
    bar = part(page, "trial")
    expect(bar).to_contain_text("1 group moved")
    expect(bar).to_contain_text(told)
    row = part(page, "groups").locator(f"tr[data-group='{group}']")
    expect(row).to_contain_text("GPU 0")
    expect(others).to_have_count(still_split)

    bar.get_by_text("Keep", exact=True).click()
    bar.get_by_label("Name of the placement").fill("less split")
    bar.get_by_role("button", name="Keep it").click()
    expect(part(page, "shown")).to_contain_text("Kept placement “less split”")
    expect(page).to_have_url(re.compile("show=placement-"))
    page.reload()
    expect(step).to_have_attribute("data-state", "ready")
    expect(row).to_contain_text("GPU 0")
    expect(others).to_have_count(still_split)
    page.get_by_label("Shown placement with").select_option("best")
    expect(part(page, "compare")).to_have_attribute("data-state", "ready")
    expect(part(page, "compare").locator("[data-compare=sentence]")).to_contain_text("1 group moved")
    expect(part(page, "compare").locator(".moves-table tbody tr")).to_contain_text("was on several devices")
