"""A search for plans of a small training step, read at one and at two samples."""

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.steps import create_project, part, upload
from tests.engine.plans.layered_step import step


def open_form(page: Page, folder: Path) -> None:
    """Upload both readings and open the form of a new plan for the first one, filled in."""
    create_project(page, "Plans")
    project = page.url
    for samples in (2, 1):
        path = folder / f"step{samples}.json"
        path.write_text(json.dumps(step(samples)))
        page.goto(project)
        upload(page, path)
    page.get_by_label("As text", exact=True).fill("2xV100+2xK80")
    page.get_by_role("link", name="New plan").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("New plan for step1.json")
    page.get_by_label("Second reading", exact=True).select_option("step2.json")
    page.get_by_label("Seconds of the search", exact=True).fill("4")


def search(page: Page) -> None:
    """Start the search and wait for its end on its page, which is not loaded again."""
    page.get_by_role("button", name="Search for plans").click()
    page.wait_for_url("**/plans/*/")
    page.evaluate("window.isTheSamePage = true")
    expect(part(page, "status")).to_have_attribute("data-status", "done", timeout=60_000)
    expect(page.get_by_role("heading", name="Collectives")).to_be_visible()
    assert page.evaluate("window.isTheSamePage")
