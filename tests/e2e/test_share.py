"""A person gives a run away: as a secret link that can be revoked, and as one file that opens without a server."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from engine import VERSION
from tests.e2e.steps import create_project, expect_status, open_tab, part, start_run, upload

pytestmark = pytest.mark.e2e
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "__proto__",
    "\u202ertl",
    "constructor",
]


def hostile_graph(folder: Path) -> Path:
    """A chain of ops with hostile names."""
    nodes = [{"id": name, "type": name, "time_us": 1000.0, "output_bytes": [4_000_000]} for name in HOSTILE]
    edges = [{"source": HOSTILE[at], "target": HOSTILE[at + 1]} for at in range(len(HOSTILE) - 1)]
    path = folder / "hostile.json"
    path.write_text(json.dumps({"nodes": nodes, "edges": edges}))
    return path


def look_around(page: Page) -> None:
    """What a reader of a run does: the explained step, a group, with names as text."""
    expect(part(page, "step")).to_have_attribute("data-state", "ready")
    rows = open_tab(page, "Groups").locator("tbody tr")
    rows.filter(has_text="<img src=x").first.click()
    expect(part(page, "chosen")).to_contain_text(HOSTILE[0])
    page.locator("[data-step=timeline]").press("]")
    expect(page.locator("[data-step=chosen-words]")).not_to_be_empty()
    assert page.locator("img[src=x]").count() == 0


def test_a_link_and_a_file_show_the_run_and_run_nothing_else(page: Page, faults: list[str], tmp_path: Path) -> None:
    create_project(page, "Given away")
    upload(page, hostile_graph(tmp_path))
    start_run(page, evaluations=60, method="local_search")
    expect_status(page, "done")
    page.reload()
    expect(part(page, "step")).to_have_attribute("data-state", "ready")

    menu = part(page, "downloads")
    menu.locator("summary").click()
    with page.expect_download() as download:
        menu.get_by_role("link", name="This page as one file").click()
    path = tmp_path / "run.html"
    download.value.save_as(path)
    with page.expect_download() as download:
        menu.locator("[data-picture=timeline]").get_by_role("button", name="Timeline (.svg)").click()
    picture = Path(download.value.path()).read_text()
    assert picture.startswith("<svg ") and "<img" not in picture and "<script" not in picture

    share = part(page, "share")
    share.locator("summary").click()
    share.get_by_role("button", name="Create link").click()
    link = share.get_by_label("The new link, shown this once")
    expect(link).to_have_value(re.compile(r"/shared/[\w-]{43}/"))
    address = link.input_value()

    other = page.context.new_page()
    other.on("pageerror", lambda error: faults.append(f"threw {error}"))
    other.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    other.on("dialog", lambda dialog: faults.append(f"a name ran: {dialog.message}"))
    asked: list[str] = []
    other.on("request", lambda request: asked.append(request.url))
    other.goto(address)
    look_around(other)
    assert all("/shared/" in url or "/static/" in url for url in asked), asked
    for early in ("/graph.json", "/events.json?after=0&limit=2000"):
        assert len([url for url in asked if url.endswith(early)]) == 1, "the page takes what its head has asked for"
    explained = [url for url in asked if "/explanations/" in url]
    assert explained and all(url.endswith(f"?version={VERSION}") for url in explained), "another version is asked anew"
    part(other, "chosen").locator("[data-device='0'], [data-device='1']").last.click()
    expect(part(other, "trial")).to_be_visible()
    expect(other.get_by_role("button", name="Delete run")).to_have_count(0)

    other.goto("about:blank")  # what the shared page still asked for is none of the file's
    asked.clear()
    other.goto(path.as_uri())
    look_around(other)
    part(other, "player").locator("[data-player=first]").click()
    expect(part(other, "step")).to_contain_text("holds the explained steps of the best placement and of the baselines")
    expect(part(other, "step").get_by_role("button", name="Try again")).to_have_count(0)
    part(other, "player").get_by_role("button", name="Best").click()
    expect(part(other, "step")).to_have_attribute("data-state", "ready")
    assert asked == [path.as_uri()], "the file asks for nothing"
    other.close()

    share.get_by_role("button", name="Revoke").click()
    expect(share.get_by_role("button", name="Revoke")).to_have_count(0)
    assert page.request.get(address).status == 404
