"""Moves by hand stand in the address: they survive reload, back, forward and a link; what cannot be made is said."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Locator, Page, expect

from tests.e2e.steps import address_of, open_tab, part, rest, run_on
from tests.webapp.graph_files import node_link

pytestmark = pytest.mark.e2e
FIXED = "op5"
"""the op whose device the file fixes"""


def fixed_tree() -> bytes:
    """A tree of ops, one of which may be on the first GPU alone."""
    graph = json.loads(node_link(12, 4_000_000))
    for node in graph["nodes"]:
        if node["id"] == FIXED:
            node["device"] = "/device:GPU:0"
    return json.dumps(graph).encode()


def move(page: Page, row: Locator) -> None:
    """Move the group of a row to the other device."""
    row.click()
    there = part(page, "chosen").locator(".moves button[aria-pressed=false]")
    expect(there.locator(".move-change")).to_have_text(re.compile("%|fit"))
    there.click()


def asked_on_leaving(page: Page) -> list[str]:
    """The types of the dialogs that the page opens from now on; each is accepted."""
    types: list[str] = []

    def accept(dialog: Dialog) -> None:
        types.append(dialog.type)
        dialog.accept()

    page.on("dialog", accept)
    return types


def test_moves_by_hand_survive_and_bad_ones_are_refused(page: Page, tmp_path: Path, faults: list[str]) -> None:
    step = run_on(fixed_tree(), page, tmp_path, "Nothing vanishes", "random", 60)
    bar, shown = part(page, "trial"), part(page, "shown")
    run = address_of(page)
    names = [group["name"] for group in page.request.get(f"{run}graph.json").json()["groups"]]
    rows = open_tab(page, "Groups").locator("tbody tr").filter(has_not_text=FIXED)
    rows.nth(2).click()
    page.keyboard.press("k")
    expect(rows.nth(2)).to_contain_text("locked")
    rest(page, re.compile(r"lock=\d+"))
    move(page, rows.nth(0))
    expect(bar).to_contain_text("1 group moved")
    rest(page, re.compile(r"show=(best|episode-\d+)~\d+:[01]&"))
    move(page, rows.nth(1))
    expect(bar).to_contain_text("2 groups moved")
    expect(page).to_have_url(re.compile(r"show=(best|episode-\d+)~\d+:[01],\d+:[01]&"))
    two = re.compile(re.escape(re.findall("show=[^&]+", page.url)[0]))

    page.go_back()
    expect(bar).to_contain_text("1 group moved")
    page.go_forward()
    expect(bar).to_contain_text("2 groups moved")
    page.go_back()
    expect(bar).to_contain_text("1 group moved")
    bar.get_by_role("button", name="Redo").click()
    expect(bar).to_contain_text("2 groups moved")
    rest(page, two)
    bar.get_by_role("button", name="Discard").click()
    expect(bar).to_be_hidden()
    rest(page, re.compile("^[^~]*$"))
    page.go_back()
    expect(bar).to_contain_text("2 groups moved")
    expect(page).to_have_url(two)

    page.reload()
    expect(bar).to_contain_text(re.compile("2 groups moved, .* simulated"))
    expect(rows.nth(2)).to_contain_text("locked")
    expect(shown).to_contain_text("By hand, from")
    words = bar.inner_text()
    page.locator("[data-compare=against]").select_option("now")
    rest(page, re.compile(r"against=(best|episode-\d+)~"))
    bar.get_by_role("button", name="Undo").click()
    expect(bar).to_contain_text("1 group moved")
    expect(page).not_to_have_url(two)
    page.reload()
    expect(part(page, "compare")).to_contain_text(re.compile(r"From .+ with 2 moves by hand"))
    page.go_back()
    expect(bar).to_contain_text("2 groups moved")

    share = part(page, "share")
    share.locator("summary").click()
    share.get_by_role("button", name="Create link").click()
    link = share.get_by_label("The new link, shown this once")
    expect(link).to_have_value(re.compile(r"/shared/.*show=(best|episode-\d+)(~|%7E)\d"))
    other = page.context.new_page()
    other.goto(link.input_value())
    expect(part(other, "trial")).to_contain_text(words.partition(", simulated")[0].partition("\n")[0])
    expect(part(other, "shown")).to_contain_text("By hand, from")
    other.close()

    dialogs = asked_on_leaving(page)
    for moves, why in {
        f"{names.index(FIXED)}:1": "its group may not go to /device:GPU:1",
        f"{len(names)}:0": f"group {len(names)}; allowed: 0 to {len(names) - 1}",
        "0:2": "device 2; allowed: 0 to 1",
        "0:1," * 500 + "0:1": "2,003 characters; allowed: 1,500",
        "<b>:1": "cannot be read at",
    }.items():
        page.goto(f"{run}?show=episode-1~{moves}")
        expect(part(page, "view-message")).to_contain_text(why)
        expect(bar).to_be_hidden()
        expect(shown).to_contain_text("Episode 1:")
        expect(step).to_have_attribute("data-state", "ready")
    assert dialogs == [], "nothing that the address has is lost"
    assert [fault for fault in faults if "400" not in fault] == []
    faults.clear()  # the browser notes the refused step


def test_leaving_asks_only_where_moves_would_be_lost(page: Page, tmp_path: Path) -> None:
    """More moves than an address takes, in a browser that stores them, and in one that does not."""
    run_on(node_link(40, 1000), page, tmp_path, "Too many moves", "random", 20)
    bar = part(page, "trial")
    dialogs = asked_on_leaving(page)

    rows = open_tab(page, "Groups").locator("tbody tr")

    def move_often() -> None:
        rows.first.click()
        for _ in range(200):
            page.keyboard.press("1")
            page.keyboard.press("2")

    move_often()
    expect(page).to_have_url(re.compile(r"show=(best|episode-\d+)~draft-[0-9a-z]+&"))
    page.reload()
    expect(bar).to_contain_text("moved")
    assert dialogs == []
    share = part(page, "share")
    share.locator("summary").click()
    share.get_by_role("button", name="Create link").click()
    expect(part(page, "share-words")).to_contain_text("too many for a link. Keep the placement, then share it.")

    page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full'); }; }")
    page.keyboard.press("Escape")
    stored = re.findall(r"draft-[0-9a-z]+", page.url)[0]
    rows.nth(1).click()
    page.keyboard.press("1")
    page.keyboard.press("2")
    expect(page).not_to_have_url(re.compile(stored))
    page.reload()
    assert dialogs == ["beforeunload"]
    expect(part(page, "view-message")).to_contain_text("too many for an address")
    expect(bar).to_be_hidden()
