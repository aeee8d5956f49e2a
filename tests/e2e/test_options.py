"""A graph with options, read again, and with op times that a worker measures; all on the page, without a reload."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.steps import create_project, part

pytestmark = pytest.mark.e2e


def expect_ready(page: Page, fact: str) -> None:
    """Wait until a graph has been read, and its page shows this text."""
    expect(page.get_by_role("button", name="Start run")).to_be_visible()
    expect(part(page, "facts")).to_contain_text(fact)


class HeldBack:
    """The script of the project's page, which the browser does not get until it is let go."""

    def __init__(self, page: Page) -> None:
        self.waiting: list[Route] = []
        page.route("**/project-page*.js", lambda route: self.waiting.append(route))  # Playwright marks it

    def let_go(self, page: Page) -> None:
        for script in self.waiting:
            script.continue_()
        self.waiting.clear()
        page.wait_for_load_state("load")


def test_what_is_entered_before_the_page_s_script_is_there_stays(page: Page, training_graph: Path) -> None:
    script = HeldBack(page)
    create_project(page, "Quick", is_live=False)
    options = part(page, "options")
    options.locator("summary").click()
    options.get_by_label("Groups", exact=True).fill("12")
    script.let_go(page)
    assert options.get_by_label("Groups", exact=True).input_value() == "12"
    page.locator("input[name=file]").set_input_files(training_graph)
    page.get_by_role("button", name="Upload and read").click()
    page.wait_for_url("**/graphs/*/")
    expect_ready(page, "12")


@pytest.mark.parametrize("is_typing", [False, True])
def test_what_is_refused_before_the_page_s_script_is_there_is_shown_and_stays(
    page: Page, training_graph: Path, faults: list[str], is_typing: bool
) -> None:
    script = HeldBack(page)
    create_project(page, "Quicker", is_live=False)
    options = part(page, "options")
    options.locator("summary").click()
    options.get_by_label("Groups", exact=True).fill("few")
    page.locator("input[name=file]").set_input_files(training_graph)
    page.get_by_role("button", name="Upload and read").click()
    error = options.get_by_text("groups: 'few'")
    expect(error).to_be_visible()
    if is_typing:
        options.get_by_label("Batch size", exact=True).press_sequentially("3")
    script.let_go(page)
    expect(options.get_by_label("Batch size" if is_typing else "Groups", exact=True)).to_be_focused()
    page.locator("input[name=file]").set_input_files(training_graph)
    expect(part(page, "chosen-file")).to_contain_text(training_graph.name)
    expect(error).to_be_visible()  # the field is as wrong as before
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []
    faults.clear()


def test_upload_with_options_read_again_and_measure(
    page: Page, training_graph: Path, tmp_path: Path, faults: list[str]
) -> None:
    create_project(page, "Options")
    options = part(page, "options")
    options.locator("summary").click()
    options.get_by_label("Groups", exact=True).fill("few")
    page.locator("input[name=file]").set_input_files(training_graph)
    page.get_by_role("button", name="Upload and read").click()
    expect(options.get_by_role("alert")).to_have_text("groups: 'few'. Allowed: auto, an integer from 1, or all.")
    expect(options.get_by_label("Groups", exact=True)).to_be_focused()
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []
    faults.clear()
    options.get_by_label("Groups", exact=True).fill("12")
    page.get_by_role("button", name="Upload and read").click()
    page.wait_for_url("**/graphs/*/")
    expect_ready(page, "12")

    first = page.url
    again = part(page, "again")
    again.locator("summary").click()
    again.get_by_label("Groups", exact=True).fill("all")
    again.get_by_role("button", name="Read again").click()
    page.wait_for_url(lambda url: url != first)
    expect_ready(page, "all")
    again = page.url
    page.goto(first)  # nothing was made with that reading
    expect(page).to_have_url(again)
    page.get_by_label("I trust this graph").check()
    page.get_by_role("button", name="Measure op times on this worker").click()
    expect(page.get_by_role("button", name="Cancel measurement")).to_be_visible()
    page.get_by_label("Seed", exact=True).fill("78")
    page.evaluate("window.stayed = true")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download RunMetadata").click()
    times = tmp_path / "times.pb"
    download.value.save_as(times)
    assert b"/device:CPU:0" in times.read_bytes()
    assert page.evaluate("window.stayed"), "no reload: the rest of the page stays as it was"
    assert page.get_by_label("Seed", exact=True).input_value() == "78"
    page.get_by_role("button", name="Read again with these times").click()
    page.wait_for_url(lambda url: url != first)
    expect_ready(page, "Measured times")
    expect(part(page, "sources")).to_contain_text("Measured")
