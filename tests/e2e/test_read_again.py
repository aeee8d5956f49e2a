"""A graph whose file leaves things open: its page asks for them, and reads it again with the answers."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.open_graph import OPEN_GRAPH
from tests.e2e.steps import create_project, part, upload

pytestmark = pytest.mark.e2e


def test_batch_size_and_trips_are_asked_for_where_they_are_missed(
    page: Page, tmp_path: Path, faults: list[str]
) -> None:
    path = tmp_path / "open.pbtxt"
    path.write_text(OPEN_GRAPH)
    create_project(page, "Open")
    upload(page, path)
    hint = part(page, "batch-hint")
    expect(hint).to_contain_text("Set a batch size to get the costs of all 2 of these ops.")
    expect(part(page, "loops")).to_contain_text("unknown, so one counts")

    page.get_by_role("link", name="Give the trips").click()
    trips = part(page, "again").get_by_label("rnn/while")
    expect(trips).to_be_focused()
    expect(trips).to_have_value("1")
    trips.fill("0")
    hint.get_by_label("Batch size", exact=True).fill("8")
    hint.get_by_role("button", name="Read again").click()
    expect(part(page, "again").locator(".errorlist")).to_have_text(
        "rnn/while: 0 trips. Allowed: an integer from 1 to 1000000000."
    )
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []
    faults.clear()

    first = page.url
    trips.fill("40")
    hint.get_by_label("Batch size", exact=True).press("Enter")
    page.wait_for_url(lambda url: url != first)
    expect(page.get_by_role("button", name="Start run")).to_be_visible()
    expect(part(page, "facts")).to_contain_text("rnn/while = 40")
    expect(part(page, "loops").locator("tbody")).to_contain_text("40")
    expect(part(page, "unknown")).to_have_count(0)
    expect(page.locator("[data-flops]").first).to_have_text("165 k")  # 2·8·784·10, and 40 trips of 1,000 additions
