"""The page of a project while a graph on it is being read: nothing that a person has begun there is lost."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.steps import create_project, upload

pytestmark = pytest.mark.e2e


def chain(folder: Path, name: str) -> Path:
    """Three ops in a row, as node-link JSON."""
    nodes = [{"id": f"op{index}", "type": "Op", "time_us": 10, "output_bytes": [100]} for index in range(3)]
    links = [{"source": f"op{index}", "target": f"op{index + 1}", "output": 0} for index in range(2)]
    path = folder / name
    path.write_text(json.dumps({"directed": True, "multigraph": False, "graph": {}, "nodes": nodes, "edges": links}))
    return path


def test_what_is_begun_on_it_survives_the_end_of_a_reading(page: Page, tmp_path: Path) -> None:
    create_project(page, "Two graphs")
    address = page.url
    upload(page, chain(tmp_path, "first.json"))
    loads: list[str] = []
    sending: list[Route] = []
    asking: list[Route] = []

    def answer(route: Route) -> None:
        """The page as it was a moment before the reading ended; what is asked for later is as it is."""
        loads.append(route.request.resource_type)
        response = route.fetch()
        text = response.text()
        before = text.replace('data-status="ready"', 'data-status="reading"')
        route.fulfill(response=response, body=before if len(loads) == 1 else text)

    page.route(address, answer)
    page.route("**/projects/*/graphs/", lambda route: sending.append(route))
    page.route("**/states.json*", lambda route: asking.append(route))
    page.goto(address)
    page.get_by_role("button", name="Rename project Two graphs").click()
    page.get_by_label("New name of this project").fill("Half a na")
    page.locator("input[name=file]").set_input_files(chain(tmp_path, "second.json"))
    page.get_by_label("New name of this project").focus()
    row = page.get_by_role("row", name="first.json")
    row.evaluate("row => { row.dataset.old = 'yes' }")
    asking[0].continue_()
    expect(row).not_to_have_attribute("data-old", "yes")
    expect(row.locator("[data-part=status]")).to_have_text("Ready")
    assert loads == ["document", "fetch"]
    assert page.evaluate("document.activeElement.name") == "name"
    assert page.get_by_label("New name of this project").input_value() == "Half a na"
    assert len(sending) == 1
    sending[0].continue_()
    page.wait_for_url("**/graphs/*/")
