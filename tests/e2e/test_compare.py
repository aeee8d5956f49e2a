"""Methods compared in the browser: figure and table follow the runs until all have ended."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import create_project, part, upload

pytestmark = pytest.mark.e2e


def test_compare_two_methods(page: Page, training_graph: Path) -> None:
    create_project(page, "Comparison")
    upload(page, training_graph)
    page.get_by_role("link", name="Compare methods").click()
    policy = page.get_by_label("Apply a policy")
    expect(policy).to_be_visible()
    for chosen in ("auto", "placeto"):
        page.locator(f"input[name=methods][value={chosen}]").uncheck()
    expect(policy).to_be_hidden()  # none of the others takes one
    page.get_by_label("Evaluations", exact=True).fill("60")
    page.get_by_label("Seeds", exact=True).fill("2")
    expect(part(page, "summary")).to_have_text(
        "2 methods × 2 seeds (1 is deterministic and runs once): 3 runs of at most 60 evaluations each."
    )
    page.get_by_role("button", name="Start comparison").click()
    page.wait_for_url("**/comparisons/*/")
    expect(part(page, "state")).to_have_text("All 3 runs have ended")
    expect(page.get_by_role("button", name="Cancel all")).to_have_count(0)
    rows = part(page, "table").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("2 of 2")
    page.set_viewport_size({"width": 1024, "height": 900})
    overflow = "scroller => scroller.scrollWidth - scroller.clientWidth"
    assert part(page, "table").locator(".table-scroller").evaluate(overflow) == 0
    expect(part(page, "chart").locator(".series-label")).to_have_count(2)
    page.get_by_text("Download", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Figure (.png)").click()
    assert download.value.suggested_filename.endswith("-comparison.png")
