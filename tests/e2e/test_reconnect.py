"""The connection of a run's page breaks again and again: at the end it holds what is stored."""

import random
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import address_of, create_project, expect_status, part, start_run, upload
from tests.e2e.wire import Wire
from tests.webapp.graph_files import node_link

pytestmark = pytest.mark.e2e


PARTS = ("status", "best", "speed-up", "used", "left", "bound", "bound-gap", "chart-legend")
"""what two tabs of one run show alike"""
LOSSES = 5


def test_a_page_that_loses_its_connection_again_and_again_holds_what_is_stored(
    page: Page, address: str, tmp_path: Path
) -> None:
    path = tmp_path / "tree.json"
    path.write_bytes(node_link(40, 4_000_000))
    create_project(page, "Bad connection")
    upload(page, path)
    start_run(page, evaluations=20_000)
    expect(page.get_by_label("Episode shown"), "the run has begun").to_be_enabled()
    with Wire(address).working() as wire:
        watched = page.context.new_page()
        watched.goto(page.url.replace(address, wire.address))
        chance = random.Random(0)
        for _ in range(LOSSES):
            expect(part(watched, "connection")).to_have_text("Live")
            wire.cut()
            expect(part(watched, "connection")).to_have_text("Connection lost, trying again…")
            watched.wait_for_timeout(chance.uniform(0, 500))
            wire.mend()
        expect(part(watched, "connection")).to_have_text("Live")
        watched.get_by_role("button", name="Cancel run").click()
        expect_status(watched, "cancelled")
        expect_status(page, "cancelled")
        expect_what_is_stored(watched, page)


def expect_what_is_stored(page: Page, other: Page) -> None:
    """Both show the same; six drawn episodes are those of the server."""
    chance = random.Random(1)
    expect(part(page, "connection")).to_be_empty()
    for name in PARTS:
        expect(part(other, name)).to_have_text(part(page, name).inner_text(), use_inner_text=True)
    slider = page.get_by_label("Episode shown")
    episodes = [event for event in stored_events(page) if event["type"] == "episode"]
    expect(slider).to_have_attribute("max", str(len(episodes) - 1))
    for index in [0, *sorted(chance.sample(range(len(episodes)), 5))]:
        slider.fill(str(index))
        expect(part(page, "shown")).to_contain_text(f"Episode {episodes[index]['episode']:,}:")
        devices = (
            part(page, "groups")
            .locator("tbody tr")
            .evaluate_all("rows => rows.map(row => [Number(row.dataset.group), row.cells[1].textContent.trim()])")
        )
        placement = episodes[index]["placement"]
        assert dict(devices) == {group: f"GPU {placement[group]}" for group, _ in devices}


def stored_events(page: Page) -> list[Any]:
    """All events of the run, page by page."""
    stored: list[Any] = []
    while True:
        last = stored[-1]["seq"] if stored else 0
        following = page.request.get(f"{address_of(page)}events.json?limit=2000&after={last}").json()["events"]
        if not following:
            return stored
        stored += following
