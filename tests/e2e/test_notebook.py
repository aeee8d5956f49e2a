"""An answer of the client in a notebook: the run's page, in a frame that reaches nothing around it."""

import json
from pathlib import Path

import placeto
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ACCOUNTS

NODES = [{"id": f"op{number}", "type": "x", "time_us": 100.0, "output_bytes": [4]} for number in range(3)]
EDGES = [{"source": "op0", "target": "op1", "output": 0}, {"source": "op1", "target": "op2", "output": 0}]
GRAPH = {"directed": True, "multigraph": False, "graph": {}, "nodes": NODES, "edges": EDGES}


@pytest.mark.e2e
@pytest.mark.skipif(ACCOUNTS != "off", reason="the client's own tests have a token")
def test_an_answer_shows_its_page_in_a_frame(page: Page, address: str, tmp_path: Path) -> None:
    path = tmp_path / "three.json"
    path.write_text(json.dumps(GRAPH))
    placed = placeto.Client(address).place(path, "2xK80", "heft", evaluations=20, project="Notebooks")
    page.set_content(f"<!doctype html><title>A notebook</title><p>{placed._repr_html_()}</p>")
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", level=1)).to_contain_text("HEFT on three.json")
    expect(frame.locator("canvas").first).to_be_visible()
    assert page.frames[1].evaluate("self.origin") == "null", "it is of no origin, so that nothing here is its own"
