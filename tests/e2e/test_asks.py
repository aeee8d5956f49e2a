"""A file that leaves the size of a step open: its page asks before anything is read, and one click reads it."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.open_graph import OPEN_GRAPH
from tests.e2e.steps import create_project, part

pytestmark = pytest.mark.e2e


def test_the_batch_size_is_asked_before_the_reading(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "open.pbtxt"
    path.write_text(OPEN_GRAPH)
    create_project(page, "Asked")
    page.locator("input[name=file]").set_input_files(path)
    page.wait_for_url("**/graphs/*/")
    expect(page.get_by_role("heading", name="What size is a step?")).to_be_visible()
    expect(page.get_by_role("list").filter(has_text="? × 784")).to_be_visible()
    page.get_by_label("Batch size", exact=True).fill("8")
    page.get_by_role("button", name="Read the graph").click()
    expect(page.get_by_role("button", name="Start run")).to_be_visible()
    expect(part(page, "facts")).to_contain_text("Batch size8")
    expect(part(page, "unknown")).to_have_count(0)
