"""A person looks at what was read of a graph."""

import re
from typing import Any

import pytest
from django.test import Client

from engine import api
from webapp.graphs.format_words import format_words, formats_sentence
from webapp.graphs.models import Graph
from webapp.pages.graphs.reading_summary import (
    MOST_ROWS,
    ROWS_SHOWN,
    reading_facts,
    shares_of,
    tables_of,
    unknown_ops_of,
)

HOSTILE = "<img src=x onerror=alert(1)>"
EARLIER: dict[str, Any] = {
    "name": "small.json",
    "ops": 10,
    "edges": 9,
    "groups": 3,
    "group_edges": 2,
    "types": [["MatMul", 10]],
    "output_bytes": 10,
    "persistent_bytes": 0,
    "unknown_ops": 2,
    "unknown_types": [["Lookup", 2]],
    "sources": {"estimated": 8, "unknown": 2},
    "time_us": {"K80": 5.0},
    "back_edges": 0,
    "feedback_edges": 0,
}
"""as the first version stored it"""
WHOLE = EARLIER | {
    "format": ".zip",
    "options": {"signature": "serve", "batch_size": 64, "input_shapes": {"x": [64, 3], "rate": []}},
    "signatures": ["serve", "train"],
    "notes": ["2 functions were inlined."],
    "cpu_ops": {"ops": 2, "reasons": [["it works on strings", 2, ["words", HOSTILE]]]},
    "unknown": [["table/find", "Lookup", "its shape is unknown"], [HOSTILE, "Lookup", "no such op"]],
}
NEW_PARTS = ("loops", "branches", "layers", "sizes", "batch-hint")


def loop(name: str, trips: int, source: str, ops: int = 3) -> dict[str, Any]:
    return {"name": name, "trips": trips, "source": source, "ops": ops}


COUNTED = WHOLE | {
    "sources": {"estimated": 6, "bounded": 2, "unknown": 2},
    "bounded_ops": 2,
    "flops": 3.87e9,
    "flops_by_source": {"estimated": 3.87e9 * 0.999, "bounded": 3.87e9 * 0.001},
    "options": {"trips": {"decode/while": 12}, "sizes": {"Where": 7}},
    "loops": [loop("rnn/while", 40, "length", 1234), loop(HOSTILE, 1, "assumed"), loop("decode/while", 12, "given")],
    "branches": [{"name": "cond", "taken": "case 2", "ops": 30, "ops_not_taken": 12}],
    "sizes": [
        {"name": "Where", "type": "Where", "length": 7, "source": "given"},
        {"name": "nms", "type": "NonMaxSuppressionV3", "length": 100, "source": "bound"},
        {"name": "odd", "type": "Unique", "length": None, "source": "unknown"},
    ],
    "batch_helps": [1, 2],
    "layers": [
        {
            "name": "model/dense",
            "label": "dense",
            "ops": 5,
            "flops": 3.0e9,
            "parameters": 1_000_000,
            "constants": 0,
            "persistent_bytes": 4_000_000,
            "output_bytes": 640,
        },
        {
            "name": HOSTILE,
            "label": HOSTILE,
            "ops": 2,
            "flops": 0.87e9,
            "parameters": 24,
            "constants": 7,
            "persistent_bytes": 96,
            "output_bytes": 64,
        },
        {
            "name": "",
            "label": "other ops",
            "ops": 3,
            "flops": 0.0,
            "parameters": 0,
            "constants": 0,
            "persistent_bytes": 0,
            "output_bytes": 8,
        },
    ],
}


@pytest.fixture
def tensorflow_graph(ready_graph: Graph) -> Graph:
    """A graph whose file leaves things open."""
    Graph.objects.filter(id=ready_graph.id).update(suffix=".zip")
    ready_graph.refresh_from_db()
    return ready_graph


def page_of(client: Client, graph: Graph, summary: dict[str, Any]) -> str:
    """The page of a graph with this summary."""
    Graph.objects.filter(id=graph.id).update(summary=summary)
    response = client.get(f"/graphs/{graph.id}/")
    assert response.status_code == 200
    return response.content.decode()


def test_the_page_shows_all_that_the_engine_reports(client: Client, ready_graph: Graph) -> None:
    page = page_of(client, ready_graph, WHOLE)
    for text in (
        *("SavedModel (.zip)", "serve", "64 × 3", "rate = scalar", "2 functions were inlined."),
        *("it works on strings", "table/find", "its shape is unknown", "no such op", "80 %", "20 %"),
    ):
        assert text in page
    assert HOSTILE not in page
    assert page.count("&lt;img src=x") == 4, "each of the two lists, and its title"


def test_a_summary_of_an_earlier_version_is_shown_as_far_as_it_goes(client: Client, ready_graph: Graph) -> None:
    page = page_of(client, ready_graph, EARLIER)
    assert "Lookup" in page
    assert "An earlier version read this graph" in page
    assert "An earlier version" not in page_of(client, ready_graph, {**EARLIER, "at_peaks": False})
    for part in ("cpu-ops", *NEW_PARTS):
        assert f'data-part="{part}"' not in page


def test_a_summary_of_almost_nothing_is_shown(client: Client, ready_graph: Graph) -> None:
    page = page_of(client, ready_graph, {"groups": 3, "ops": 3})
    for part in ("notes", "cpu-ops", "unknown", "sources", *NEW_PARTS):
        assert f'data-part="{part}"' not in page


def test_flops_are_a_lower_bound_while_heavy_ops_are_unknown(client: Client, tensorflow_graph: Graph) -> None:
    heavy = [["Conv2D", 2], ["MatMul", 1]]
    page = page_of(client, tensorflow_graph, COUNTED | {"unknown_ops": 9, "heavy_unknown": heavy})
    assert "<dd>at least <span data-flops=" in page
    words = without_tags(page)
    assert "3 of them may be heavy, so the FLOPs per step are a lower bound." in words
    assert "of the FLOPs," not in words
    page = page_of(client, tensorflow_graph, COUNTED | {"heavy_unknown": []})
    assert "at least" not in without_tags(page)
    assert "of the FLOPs," in without_tags(page)


def test_inputs_whose_lengths_stay_open_are_named_with_their_option(client: Client, tensorflow_graph: Graph) -> None:
    rows = [{"name": "image_tensor", "shape": "8,?,?,3"}, {"name": HOSTILE, "shape": ""}]
    page = page_of(client, tensorflow_graph, COUNTED | {"open_inputs": rows})
    assert '<code class="name">image_tensor=8,?,?,3</code>' in page
    assert HOSTILE not in page
    assert 'data-part="open-inputs"' not in page_of(client, tensorflow_graph, COUNTED | {"open_inputs": []})


def without_tags(page: str) -> str:
    """The words alone, one space between them."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def rows_of(page: str, part: str) -> list[str]:
    """The rows of a table, heads left out."""
    found = re.search(f'<div data-part="{part}">(.*?)</div>', page, re.DOTALL)
    assert found, f"the page has no {part}"
    return [without_tags(row) for row in found[1].split("<tr>")[2:]]


def test_loops_branches_and_sizes_are_shown_the_unknown_first(client: Client, tensorflow_graph: Graph) -> None:
    page = page_of(client, tensorflow_graph, COUNTED)
    assert rows_of(page, "loops") == [
        "&lt;img src=x onerror=alert(1)&gt; 1 unknown, so one counts Give the trips 3",
        "decode/while 12 given 3",
        "rnn/while 40 the length of what it loops over 1234",
    ]
    assert rows_of(page, "branches") == ["cond case 2 12 of 30"]
    assert rows_of(page, "sizes") == [
        "odd Unique – unknown",
        "nms NonMaxSuppressionV3 100 the largest possible",
        "Where Where 7 given",
    ]
    assert HOSTILE not in page
    text = without_tags(page)
    assert "Loop trips decode/while = 12" in text
    assert "Sizes Where = 7" in text


def test_operations_are_shown_and_how_well_they_are_known(client: Client, tensorflow_graph: Graph) -> None:
    page = page_of(client, tensorflow_graph, COUNTED)
    assert '<dd data-flops="3870000000">' in page
    text = without_tags(page)
    assert "Estimated 60 % 6 ops with &gt; 99 % of the FLOPs," in text
    assert "Bounded 20 % 2 ops with &lt; 1 % of the FLOPs, estimated for the largest sizes" in text
    assert "Unknown 20 % 2 ops, counted as nothing" in text


def test_where_trips_are_not_known_a_link_leads_to_the_field(client: Client, tensorflow_graph: Graph) -> None:
    page = page_of(client, tensorflow_graph, COUNTED)
    [place] = re.findall(r'<a href="#(\w+)" data-to-field', page)
    assert page.count(f'id="{place}"') == 1
    [control] = re.findall(f'<input [^>]*id="{place}"[^>]*>', page)
    assert 'type="number"' in control and 'value="1"' in control


@pytest.mark.parametrize(
    ("helps", "words"),
    [
        ([1, 2], "Set a batch size to get the costs of 1 of these 2 ops."),
        ([2, 2], "Set a batch size to get the costs of all 2 of these ops."),
        ([1, 1], "Set a batch size to get the cost of this op."),
    ],
)
def test_a_batch_size_that_helps_is_asked_for_at_once(
    client: Client, tensorflow_graph: Graph, helps: list[int], words: str
) -> None:
    page = page_of(client, tensorflow_graph, COUNTED | {"batch_helps": helps})
    assert words in without_tags(page)
    [field] = re.findall(r'<input [^>]*name="batch_size"[^>]*>', page)
    assert 'form="read-again"' in field, "it belongs to the form, and stands where the sentence is"
    assert page.index('data-part="batch-hint"') < page.index(field) < page.index('id="read-again"')


@pytest.mark.parametrize("helps", [[0, 2], [], None])
def test_a_batch_size_that_helps_nothing_is_one_option_among_others(
    client: Client, tensorflow_graph: Graph, helps: list[int] | None
) -> None:
    page = page_of(client, tensorflow_graph, COUNTED | {"batch_helps": helps})
    assert 'data-part="batch-hint"' not in page
    [field] = re.findall(r'<input [^>]*name="batch_size"[^>]*>', page)
    assert page.index('id="read-again"') < page.index(field)


def test_nothing_is_made_of_keys_that_are_null(client: Client, tensorflow_graph: Graph) -> None:
    null = dict.fromkeys(("flops", "flops_by_source", "bounded_ops", "loops", "branches", "sizes"))
    page = page_of(client, tensorflow_graph, WHOLE | null | {"batch_helps": []})
    assert "FLOPs" not in page
    for part in NEW_PARTS:
        assert f'data-part="{part}"' not in page


def test_of_many_loops_the_first_are_shown_the_others_folded_and_the_rest_counted() -> None:
    loops = [loop(f"loop_{index}", 2, "constant") for index in range(MOST_ROWS + 7)]
    [table] = tables_of({"loops": loops}, str)
    assert [row.name for row in (*table.shown, *table.folded)] == [each["name"] for each in loops[:MOST_ROWS]]
    assert (len(table.shown), table.left_out) == (ROWS_SHOWN, 7)
    [small] = tables_of({"loops": loops[:ROWS_SHOWN]}, str)
    assert (small.folded, small.left_out) == ([], 0)


def test_the_list_of_unknown_ops_says_that_it_is_cut(client: Client, ready_graph: Graph) -> None:
    cut = WHOLE | {"unknown_ops": 900, "unknown": [[f"op{index}", "Lookup", "why"] for index in range(200)]}
    assert "The first 200 ops" in page_of(client, ready_graph, cut)
    assert "The first" not in page_of(client, ready_graph, WHOLE)


def test_a_graph_with_all_costs_known_has_no_list(client: Client, ready_graph: Graph) -> None:
    known = WHOLE | {"unknown_ops": 0, "unknown_types": [], "unknown": [], "cpu_ops": {"ops": 0, "reasons": []}}
    assert unknown_ops_of(known) is None
    page = page_of(client, ready_graph, known)
    assert 'data-part="unknown"' not in page
    assert 'data-part="cpu-ops"' not in page


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        ({"estimated": 5}, [("estimated", "100 %")]),
        ({"measured": 1, "unknown": 99_999}, [("measured", "< 1 %"), ("unknown", "> 99 %")]),
        ({"given": 1, "unknown": 1, "estimated": 2}, [("estimated", "50 %"), ("given", "25 %"), ("unknown", "25 %")]),
        ({}, []),
    ],
)
def test_shares_are_never_rounded_to_none_or_all(sources: dict[str, int], words: list[tuple[str, str]]) -> None:
    shares = shares_of({"sources": sources})
    assert [(share.source, share.words) for share in shares] == words
    assert sum(share.percent for share in shares) == pytest.approx(100.0 if sources else 0.0)
    ends = [0.0, *(share.start_percent + share.percent for share in shares)]
    assert [share.start_percent for share in shares] == pytest.approx(ends[:-1])


def test_layers_have_their_work_and_what_they_hold() -> None:
    [table] = [table for table in tables_of(COUNTED, str) if table.part == "layers"]
    assert table.meaning == (
        "A layer is a name scope of ops. Parameters are elements of variables, without an optimiser's own: 1,000,024 "
        "in all. Constants, in which a frozen graph keeps its weights, have 7 elements."
    )
    dense, _, rest = table.rows
    assert (dense.name, dense.label, rest.label) == ("model/dense", "dense", "other ops")
    assert [(cell.head, cell.value, cell.unit) for cell in dense.cells] == [
        ("FLOPs", 3_000_000_000, "flops"),
        ("Parameters", 1_000_000, "count"),
        ("In constants", 0, "count"),
        ("Ops", 5, "count"),
        ("Outputs", 640, "bytes"),
    ]


def test_flops_of_layers_are_lower_bounds_where_heavy_ops_are_unknown() -> None:
    unknown = COUNTED | {"heavy_unknown": [["Conv2D", 1]]}
    [table] = [table for table in tables_of(unknown, str) if table.part == "layers"]
    assert {row.cells[0].head for row in table.rows} == {"FLOPs, at least"}


def test_one_layer_is_no_table_and_what_is_not_counted_is_no_column() -> None:
    layers = COUNTED["layers"]
    assert "layers" not in [table.part for table in tables_of(COUNTED | {"layers": layers[:1]}, str)]
    uncounted = [layer | {"flops": None, "parameters": None, "constants": None} for layer in layers]
    [table] = [table for table in tables_of(COUNTED | {"layers": uncounted}, str) if table.part == "layers"]
    assert [cell.head for cell in table.rows[0].cells] == ["Ops", "Outputs"]
    assert table.meaning == "A layer is a name scope of ops."


def test_usual_options_are_not_shown() -> None:
    options: dict[str, Any] = {"signature": "", "batch_size": None, "input_shapes": {}}
    assert reading_facts({"format": ".pb", "options": options}) == [("Format", "GraphDef (.pb)")]


def test_of_many_input_shapes_the_first_are_shown() -> None:
    shapes = {f"input{number}": [number] for number in range(11)}
    [(term, value)] = reading_facts({"options": {"input_shapes": shapes}})
    assert term == "Input shapes"
    assert value.startswith("input0 = 0, input1 = 1, ")
    assert value.endswith("input7 = 7, 3 more")


def test_every_format_has_words() -> None:
    for suffix in api.FORMATS:
        assert format_words(suffix) != suffix
        assert format_words(suffix) in formats_sentence(api.FORMATS)
    assert format_words(".tflite") == ".tflite"
