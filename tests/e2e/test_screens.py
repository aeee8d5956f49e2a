"""What a person sees on small screens and at 200 %: errors in view, whole breadcrumbs, panels within the screen."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.e2e.steps import part

pytestmark = pytest.mark.e2e
LAPTOP: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
AT_200_PERCENT: ViewportSize = {"width": 720, "height": 450}


def open_example(page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name="Open the example").click()
    page.wait_for_url("**/runs/*/**")


@pytest.mark.parametrize("is_refused_by_server", [False, True])
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_an_upload_error_is_in_view_and_has_the_focus(
    page: Page, tmp_path: Path, faults: list[str], size: ViewportSize, is_refused_by_server: bool
) -> None:
    path = tmp_path / ("picture.pb" if is_refused_by_server else "picture.exe")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    page.set_viewport_size(size)
    page.goto("/")
    page.locator("input[name=file]").set_input_files(path)
    error = part(page, "upload-error")
    expect(error).to_be_visible()
    expect(error).to_be_in_viewport(ratio=1)
    expect(error).to_be_focused()
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []
    faults.clear()


def test_breadcrumbs_are_whole_at_200_percent_and_the_share_panel_is_within_a_phone(page: Page) -> None:
    page.set_viewport_size(AT_200_PERCENT)
    open_example(page)
    links = page.get_by_role("navigation", name="Breadcrumb").get_by_role("link")
    cut = "links => links.filter((link) => link.scrollWidth > link.clientWidth + 1).map((link) => link.textContent)"
    names = links.evaluate_all(cut)
    assert "Projects" not in names and "Example" not in names, "short names are whole"
    page.set_viewport_size(PHONE)
    share = part(page, "share")
    share.locator("summary").click()
    box = share.locator(".menu-body").bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_short_names_stay_on_one_line_in_tables(page: Page, width: int) -> None:
    open_example(page)
    page.get_by_role("navigation", name="Breadcrumb").get_by_role("link").last.click()
    page.wait_for_url("**/graphs/*/")
    page.set_viewport_size({"width": width, "height": 900})
    for name in ("Placeto", "Random"):
        link = page.get_by_role("link", name=name, exact=True).first
        expect(link).to_be_visible()
        assert link.evaluate("link => link.getClientRects().length") == 1
