"""axe-core finds nothing serious on any page, in both schemes, at 390 and 1280 pixels."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.e2e.plan_search import open_form, search
from tests.e2e.steps import address_of, create_project, part

pytestmark = pytest.mark.e2e
AXE = Path(__file__).resolve().parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = ("serious", "critical")
LOOKS: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1280), ("dark", 390))
NAMES_AND_PLACES = """async () => (await axe.run({ resultTypes: ["violations"] })).violations.flatMap(
  ({ id, impact, nodes }) => nodes.map(({ target }) => [impact, `${id} at ${target}`]))"""

DRAWN_MILLISECONDS = 300
"""until a change of the look is drawn: axe would see half of it"""


@pytest.fixture
def bare_page(browser: Browser, address: str, visitor: StorageState | None) -> Iterator[Page]:
    """A page that lets axe in, which is no script of ours; without transitions, which axe would catch half-way."""
    context = browser.new_context(base_url=address, bypass_csp=True, reduced_motion="reduce", storage_state=visitor)
    yield context.new_page()
    context.close()


def serious(page: Page) -> list[str]:
    """What axe finds on the page, serious or worse."""
    if not page.evaluate("'axe' in window"):  # the page is the one before, with another look or tab
        page.evaluate(AXE.read_text())
    return [place for impact, place in page.evaluate(NAMES_AND_PLACES) if impact in SERIOUS]


def found_on(page: Page) -> dict[str, list[str]]:
    """What it finds in each look, and whether the page is wider than the window."""
    found = {}
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(DRAWN_MILLISECONDS)
        faults = serious(page)
        if faults:  # what stays counts, not a change that is half drawn
            page.wait_for_timeout(1000)
            faults = serious(page)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            faults.append("wider than the window")
        found[f"{scheme} {width} {page.url}"] = faults
    return found


def test_axe_finds_nothing_serious(bare_page: Page) -> None:
    page = bare_page
    page.goto("/")
    page.get_by_role("button", name="Open the example").click()
    page.wait_for_url("**/runs/*/**")
    expect(part(page, "canvas").locator("canvas").first).to_be_visible()
    expect(part(page, "step")).to_have_attribute("data-state", "ready")
    run = address_of(page)
    crumbs = page.get_by_role("navigation", name="Breadcrumb").get_by_role("link")
    project, graph = (crumbs.nth(place).get_attribute("href") for place in (1, 2))
    assert graph and project
    found = found_on(page)
    for tab in page.get_by_role("tab").all():
        tab.click()
        found |= {f"{where} {tab.inner_text()}": faults for where, faults in found_on(page).items()}
    places = [
        "/",
        "/projects/",
        project,
        f"{project}delete/",
        f"{project}hooks/",
        graph,
        f"{graph}compare/",
        f"{graph}measure/",
        f"{run}delete/",
    ]
    for place in [*places, "/policies/", "/policies/train/", "/machine/", "/status/", "/help/", "/no/such/page"]:
        page.goto(place, wait_until="networkidle")
        found |= found_on(page)
    assert {where: faults for where, faults in found.items() if faults} == {}


def test_axe_finds_nothing_serious_on_the_pages_of_plans(bare_page: Page, tmp_path: Path) -> None:
    open_form(bare_page, tmp_path)
    found = found_on(bare_page)
    search(bare_page)
    for fold in bare_page.locator("details").all():
        fold.evaluate("details => { details.open = true; }")
    found |= found_on(bare_page)
    assert {where: faults for where, faults in found.items() if faults} == {}


def test_axe_finds_nothing_serious_on_the_pages_of_webhooks(bare_page: Page) -> None:
    page = bare_page
    create_project(page, "Seen by axe")
    page.get_by_role("link", name="Webhooks").click()
    page.get_by_role("button", name="Add webhook").click()
    page.get_by_label("Name", exact=True).fill("Our CI")
    page.get_by_label("Address", exact=True).fill("https://127.0.0.1:9/in")
    page.get_by_role("button", name="Add webhook").click()
    found = found_on(page)
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("It cannot be reached: it refused or ended the connection.")).to_be_visible()
    for fold in page.locator("details").all():
        fold.evaluate("details => { details.open = true; }")
    found |= found_on(page)
    project = page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Webhooks")
    page.get_by_role("link", name="Edit").click()
    found |= found_on(page)
    project.click()
    found |= found_on(page)
    assert {where: faults for where, faults in found.items() if faults} == {}


def test_the_check_sees_a_button_without_a_name(bare_page: Page) -> None:
    bare_page.goto("/help/")
    bare_page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    assert serious(bare_page) == ["button-name at #main > button"]
