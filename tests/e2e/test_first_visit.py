"""A person comes for the first time: one click opens a finished example; a file goes straight from the first page."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import expect_status, part

pytestmark = pytest.mark.e2e


def test_one_click_opens_the_example_and_says_what_one_sees(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("img", name=re.compile("One step takes 735 ms on one GPU"))).to_be_visible()
    page.get_by_role("button", name="Open the example").click()
    page.wait_for_url("**/runs/*/")
    expect_status(page, "done")
    expect(page.get_by_role("region", name="About this example")).to_contain_text("Select anything to see why")
    expect(part(page, "best")).to_have_text("621 ms")
    expect(part(page, "canvas").locator("canvas").first).to_be_visible()
    first = page.url
    page.get_by_role("link", name="Placeto Explorer, home").click()
    page.get_by_role("button", name="Open the example").click()
    page.wait_for_url(first.partition("?")[0] + "*")


def test_a_file_goes_from_the_first_page_to_its_graph(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    nodes = '{"id": "a", "time_us": 1, "output_bytes": [1]}, {"id": "b", "time_us": 1, "output_bytes": [1]}'
    path.write_text(f'{{"nodes": [{nodes}], "edges": [{{"source": "a", "target": "b", "output": 0}}]}}')
    page.goto("/")
    page.locator("input[name=file]").set_input_files(path)
    page.wait_for_url("**/graphs/*/")
    expect(page.get_by_role("navigation", name="Breadcrumb")).to_contain_text("My graphs")
