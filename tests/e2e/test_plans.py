"""Plans in the browser: from the form to the live page and on to a replica in the explorer."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.plan_search import open_form, search
from tests.e2e.steps import address_of, expect_status, part

pytestmark = pytest.mark.e2e


def test_plan_watch_and_open_a_replica(page: Page, tmp_path: Path) -> None:
    open_form(page, tmp_path)
    expect(page.get_by_label("As text", exact=True)).to_have_value("2xV100+2xK80")
    search(page)
    address = address_of(page)
    expect(part(page, "verdict")).to_contain_text(re.compile(r"^[\d,.]+ samples a second, |^Nothing that was found"))
    expect(page.get_by_role("button", name="Cancel search")).to_have_count(0)
    _walk_through_the_chart(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download (.json)").click()
    report = json.loads(Path(download.value.path()).read_text())
    assert report["batch"] == 64 and report["read_at"] == [1, 2]
    page.reload()
    expect(page.locator(".plan-mark")).not_to_have_count(0)
    page.get_by_role("button", name=re.compile("^Open the replica on .* of Plan 1 ")).first.click()
    page.wait_for_url("**/runs/*/**")
    expect_status(page, "done")
    expect(part(page, "step")).to_have_attribute("data-state", "ready")
    expect(part(page, "start")).to_contain_text("by itself")
    assert page.get_by_role("heading", level=1).inner_text().startswith("Replica ")
    part(page, "start").get_by_role("link").click()
    assert address_of(page) == address
    page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Plans").click()
    line = page.locator("tr[data-job=plans]")
    expect(line).to_contain_text("batch of 64 samples")
    line.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name=re.compile("^Delete")).click()
    page.wait_for_url("**/graphs/*/")
    expect(line).to_have_count(0)


def _walk_through_the_chart(page: Page) -> None:
    """Keys go from point to point; the table has as many rows as there are points."""
    expect(page.locator(".plan-label", has_text="all weights sharded")).to_be_visible()  # which no event tells
    points = page.locator(".plan-mark").count()
    assert points >= 3 and page.locator(".plan-mark.is-usual").count() >= 2
    chart = page.get_by_role("slider", name="Plan in the chart")
    chart.focus()
    page.keyboard.press("End")
    last = part(page, "shown").inner_text()
    assert "samples a second, at most" in last
    page.keyboard.press("ArrowLeft")
    assert part(page, "shown").inner_text() != last
    expect(chart).to_have_attribute("aria-valuenow", str(points - 2))
    page.get_by_text("The points as a table").click()
    expect(part(page, "twin").get_by_role("row")).to_have_count(points)
