"""What a person does in every browser test, in few words."""

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

PARTS = "[data-part={}]"
WAIT = "milliseconds => new Promise(done => setTimeout(done, milliseconds))"
REST_MILLISECONDS = 450


def part(page: Page, name: str) -> Any:
    return page.locator(PARTS.format(name)).first


def address_of(page: Page) -> str:
    """The address of the page without the view that it shows."""
    return page.url.partition("#")[0].partition("?")[0]


def create_project(page: Page, name: str, *, is_live: bool = True) -> None:
    """Create a project and wait for its page; where it is to be live, until its scripts have run."""
    page.goto("/")
    page.get_by_label("Name of a new project").fill(name)
    page.get_by_role("button", name="Create project").click()
    page.wait_for_url("**/projects/*/", wait_until="load" if is_live else "commit")
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()


def upload(page: Page, path: Path) -> None:
    """Choose the file and wait until the graph's page offers to start a run."""
    page.locator("input[name=file]").set_input_files(path)
    page.wait_for_url("**/graphs/*/")
    start, as_it_is = (page.get_by_role("button", name=name) for name in ("Start run", "Read it as it is"))
    expect(start.or_(as_it_is)).to_be_visible()
    if as_it_is.is_visible():  # the file leaves lengths open
        as_it_is.click()
        expect(start).to_be_visible()


def start_run(page: Page, *, evaluations: int, method: str = "placeto", seed: int = 0, with_cpu: bool = False) -> None:
    page.get_by_label("As text", exact=True).fill("2xK80+CPU" if with_cpu else "2xK80")
    page.get_by_label("Method", exact=True).select_option(method)
    page.get_by_label("Evaluations", exact=True).fill(str(evaluations))
    page.get_by_label("Seed", exact=True).fill(str(seed))
    page.get_by_role("button", name="Start run").click()
    page.wait_for_url("**/runs/*/")


def train(page: Page) -> None:
    """Open the form of a training; with accounts in the first project that the policy may belong to."""
    page.goto("/policies/train/")
    choose_place(page)


def choose_place(page: Page) -> None:
    """Choose the newest project, if the page asks for the one that a policy will belong to."""
    places = page.get_by_text("Choose the project that the policy will belong to.")
    expect(places.or_(page.get_by_label("Clusters", exact=True))).to_be_visible()
    if places.is_visible():
        page.locator("main li a").first.click()


def show_groups(page: Page) -> None:
    """Draw the groups of a graph that reads by its blocks at first."""
    page.get_by_role("button", name="Groups", exact=True).click()
    expect(page.locator("[data-part=canvas] > .graph-canvas")).to_be_visible()


def expect_status(page: Page, status: str) -> None:
    expect(part(page, "status")).to_have_attribute("data-status", status)


def open_tab(page: Page, name: str) -> Locator:
    """Choose one of the tabs below the pictures of a run; returns the panel that it shows."""
    page.get_by_role("tab", name=name, exact=True).click()
    return page.get_by_role("tabpanel", name=name)


def rest(page: Page, address: str | re.Pattern[str]) -> None:
    """Wait until the page has this address and a person has rested: what they do then is another step of the history.

    The page's own clock counts, which is late with all timers of a page that is late.
    """
    expect(page).to_have_url(address)
    page.evaluate(WAIT, REST_MILLISECONDS)


def run_on(
    graph: bytes, page: Page, tmp_path: Path, name: str, method: str, evaluations: int, suffix: str = ".json"
) -> Locator:
    """Place a graph; returns the part of the run's page that explains a step, once it does so."""
    path = tmp_path / f"graph{suffix}"
    path.write_bytes(graph)
    create_project(page, name)
    upload(page, path)
    start_run(page, evaluations=evaluations, method=method)
    expect_status(page, "done")
    page.reload()
    step: Locator = part(page, "step")
    expect(step).to_have_attribute("data-state", "ready")
    return step
