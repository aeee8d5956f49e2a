"""A person reads whether splitting pays, looks at the simplest placement, and takes its files."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import create_project, expect_status, part, start_run, upload

pytestmark = pytest.mark.e2e


def two_chains(length: int = 12) -> dict[str, Any]:
    """Two long chains that pay to be split, with a tiny op beside each op, which may be anywhere."""
    nodes: list[dict[str, Any]] = [{"id": "input", "time_us": 1.0, "output_bytes": [1000]}]
    edges = []
    for chain in range(2):
        before = "input"
        for index in range(length):
            name = f"chain_{chain}/op_{index}"
            nodes.append({"id": name, "time_us": 300.0 + 7 * ((5 * index + chain) % 11), "output_bytes": [100_000]})
            nodes.append({"id": f"{name}/small", "time_us": 0.5, "output_bytes": [4]})
            edges += [{"source": before, "target": name, "output": 0}]
            edges += [{"source": name, "target": f"{name}/small", "output": 0}]
            before = name
    return {"directed": True, "multigraph": False, "graph": {"name": "chains"}, "nodes": nodes, "edges": edges}


def test_the_verdict_and_both_placements(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "chains.json"
    path.write_text(json.dumps(two_chains()))
    create_project(page, "Verdict")
    upload(page, path)
    page.get_by_label("Placement to offer first").select_option("simplest=1%")
    start_run(page, evaluations=400, method="random")
    expect_status(page, "done")
    expect(part(page, "advice")).to_contain_text("Split over 2 devices: ")
    expect(part(page, "advice")).to_contain_text("is the bottleneck, busy")
    both = part(page, "both").locator("button")
    expect(both).to_have_count(2)
    expect(both.first).to_contain_text("Simplest")
    edges = [int(found[1]) for text in both.all_inner_texts() if (found := re.search(r"(\d+) crossing", text))]
    assert len(edges) == 2 and edges[0] < edges[1]

    both.first.click()
    expect(part(page, "shown")).to_contain_text("The simplest placement: ")
    expect(part(page, "step")).to_have_attribute("data-state", "ready")
    expect(part(page, "verdict")).to_contain_text("Simplest placement: ")
    expect(both.first).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("=simplest"))
    page.reload()
    expect(part(page, "shown")).to_contain_text("The simplest placement: ")
    both.last.click()
    expect(both.last).to_have_attribute("aria-pressed", "true")

    page.get_by_label("Episode shown").fill("0")
    expect(part(page, "both").locator("[aria-pressed=true]")).to_have_count(0)
    page.locator("[data-player=best]").click()
    expect(both.last).to_have_attribute("aria-pressed", "true")

    part(page, "downloads").locator("summary").first.click()
    titles = part(page, "placement-files").locator("h2")
    names = both.locator("strong").all_inner_texts()
    assert titles.all_inner_texts() == [f"{name} placement" for name in names], "the page and the menu say the same"
    files = [download_of(page, f"[data-files={of}]") for of in ("simplest", "best")]
    assert files[0] != files[1] and files[0].keys() == files[1].keys()


def download_of(page: Page, files: str) -> dict[str, str]:
    with page.expect_download() as download:
        part(page, "downloads").locator(f"{files} a", has_text="Placement (.json)").click()
    placement: dict[str, str] = json.loads(Path(download.value.path()).read_text())
    return placement
