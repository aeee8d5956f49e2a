"""A person who exported a Keras model finds its layers by their own names, and the file's names where they ask."""

import csv
import io
import itertools
import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import address_of, open_tab, part, run_on

pytestmark = pytest.mark.e2e
CALL = "StatefulPartitionedCall_1/StatefulPartitionedCall/functional_1"
WRAPPER = "PartitionedCall"


def exported(layers: int) -> bytes:
    """A chain of layers, a loop among them, named as an export names them."""
    body = f"{CALL}/lstm_1/while/body/_27/functional_1/lstm_1/while/lstm_cell_1"
    names = [f"{CALL}/dense_{layer}/{op}" for layer in range(layers) for op in ("MatMul", "BiasAdd")]
    names += [f"{body}/MatMul", f"{body}/Tanh"]
    nodes = [
        {"id": name, "type": "MatMul", "time_us": 50 + at, "output_bytes": [4000]} for at, name in enumerate(names)
    ]
    edges = [{"source": one, "target": other, "output": 0} for one, other in itertools.pairwise(names)]
    graph = {"name": "exported"}
    return json.dumps({"directed": True, "multigraph": False, "graph": graph, "nodes": nodes, "edges": edges}).encode()


def test_layers_have_their_own_names_on_the_page_and_the_files_names_on_hover_in_search_and_in_files(
    page: Page, tmp_path: Path
) -> None:
    run_on(exported(4), page, tmp_path, "Exported", "local_search", 300)
    loop = f"{CALL}/lstm_1/while/body/_27/functional_1/lstm_1/while/lstm_cell_1/Tanh"
    for button in page.get_by_role("button", name="Show").filter(has_text="more of").all():
        button.click()
    expect(page.locator("body")).not_to_contain_text(WRAPPER)
    groups = part(page, "groups")
    for search in ("lstm_1/while/lstm_cell_1/Tanh", "body/_27/functional_1/lstm_1/while/lstm_cell_1/tanh"):
        found = open_tab(page, "Ops").locator("table.ops tbody button")
        page.get_by_label("Search ops").fill(search)
        expect(found).to_have_text(["lstm_1/while/lstm_cell_1/Tanh"])
        expect(found).to_have_attribute("title", loop)
    open_tab(page, "Groups")
    groups.get_by_role("searchbox").fill("functional_1/dense_3")
    rows = groups.locator("tbody th")
    expect(rows.first).to_contain_text("dense_3/")
    assert all(WRAPPER in (row.get_attribute("title") or "") for row in rows.all())
    open_tab(page, "Ops")
    found.click()
    expect(page.locator("[data-step=chosen-words]")).to_contain_text("lstm_1/while/lstm_cell_1/Tanh (MatMul)")
    rows_of_file = csv.DictReader(io.StringIO(page.request.get(f"{address_of(page)}exports/chain.csv").text()))
    assert {row["name"].split(":")[0]: row["short_name"] for row in rows_of_file}[
        loop
    ] == "lstm_1/while/lstm_cell_1/Tanh"
    _stay_in_their_columns_on_a_phone(page)


def _stay_in_their_columns_on_a_phone(page: Page) -> None:
    """Long names take several lines, and lie on no other column."""
    page.set_viewport_size({"width": 390, "height": 844})
    for table in ("chain", "ops"):
        names = page.locator(f"table.{table} tbody tr :is(th, td):first-child button")
        expect(names.first).to_be_visible()
        wider = "buttons => buttons.filter(button => button.scrollWidth > button.clientWidth + 1).length"
        assert names.evaluate_all(wider) == 0, table
        assert names.evaluate_all("buttons => Math.min(...buttons.map(button => button.clientWidth))") > 80, table
    scroller = page.locator(".table-scroller", has=page.locator("table.ops"))
    assert scroller.evaluate("scroller => scroller.scrollWidth - scroller.clientWidth") <= 1, "all columns in sight"
