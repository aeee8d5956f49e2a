"""A run on the machine that was measured: chosen as a whole, named on the run's page, and measured on that machine."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import create_project, expect_status, part, upload

pytestmark = pytest.mark.e2e

KIND = {"class": "CPU", "peak_gflops": 200.0, "memory_bandwidth_bytes_per_us": 28_000.0, "memory_bytes": 10**10}
MACHINE: dict[str, Any] = {
    "devices": [{"name": f"/device:CPU:{index}", "kind": "this-CPU"} for index in range(2)],
    "kinds": {"this-CPU": KIND},
    "links": {"bandwidth_bytes_per_us": 1200.0, "latency_us": 200.0},
    "calibration": {"machine": "2 × a processor", "date": "2026-01-31", "figures": {}},
}
WORDS = "this machine, 2 × a processor, measured 2026-01-31"


@pytest.fixture(autouse=True)
def measured(data_folder: Path, address: str) -> Iterator[None]:
    """Calibrate has written the machine into the data folder of the application at `address`."""
    assert address
    path = data_folder / "machine.json"
    path.write_text(json.dumps(MACHINE))
    yield
    path.unlink()


def test_this_machine_is_chosen_as_a_whole_and_its_run_is_measured(page: Page, training_graph: Path) -> None:
    create_project(page, "This machine")
    upload(page, training_graph)
    rows, machine = page.get_by_role("list", name="Devices"), page.get_by_label("Machine and links")
    expect(rows.get_by_role("listitem")).to_have_count(2)
    machine.select_option(WORDS)
    expect(rows).to_have_count(0)
    expect(page.get_by_label("As text", exact=True)).to_have_value("this-machine")
    expect(part(page, "summary")).to_contain_text(f"on {WORDS}, at most")
    machine.select_option("other devices")
    expect(rows.get_by_role("listitem")).to_have_count(1)
    machine.select_option(WORDS)
    expect(part(page, "summary")).to_contain_text(f"on {WORDS}, at most")
    page.get_by_label("Evaluations", exact=True).fill("50")
    page.get_by_role("button", name="Start run").click()
    page.wait_for_url("**/runs/*/")
    expect_status(page, "done")
    expect(page.locator("p.lead")).to_contain_text("2 × this-CPU (measured 2026-01-31)")
    page.get_by_role("link", name="Run again").click()
    expect(page.get_by_label("As text", exact=True)).to_have_value("this-machine")
    expect(page.get_by_label("Evaluations", exact=True)).to_have_value("50")
    page.go_back()
    measure_beside_others(page)


def measure_beside_others(page: Page) -> None:
    """Have the placement of the run measured, from the run's page on."""
    page.get_by_role("navigation", name="Breadcrumb").get_by_role("link").last.click()
    page.get_by_role("link", name="Measure placements on this worker").click()
    expect(page.get_by_label("Auto, seed 0")).to_be_checked()
    for label, value in (("Random placements", "2"), ("Rounds", "1"), ("Steps in a round", "2")):
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("I trust this graph").check()
    page.get_by_role("button", name="Measure placements on this worker").click()
    page.wait_for_url("**/measurements/*/")
    said = page.get_by_text("The simulator orders these 5 placements")
    expect(said.or_(page.get_by_role("alert"))).to_be_visible()
    if page.get_by_role("alert").count():
        expect(page.get_by_role("alert")).to_have_text(re.compile("too noisy|network"))
    else:  # an idle machine that allows processes a network of their own
        row = page.get_by_role("region", name="Placements").get_by_role("row").filter(has_text="Auto, seed 0")
        expect(row.get_by_role("strong")).to_have_text(re.compile(r"^[\d.,]+ (µs|ms|s)$"))
        expect(page.get_by_role("img", name="Measured over simulated")).to_be_visible()
