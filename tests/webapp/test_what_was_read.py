"""A person looks at what was read of a graph."""

from typing import Any

import pytest
from django.test import Client

from engine import api
from webapp.graphs.format_words import format_words, formats_sentence
from webapp.graphs.models import Graph
from webapp.graphs.what_was_read import reading_facts, shares_of, unknown_ops_of

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


def page_of(client: Client, graph: Graph, summary: dict[str, Any]) -> str:
    """The page of a graph with this summary."""
    Graph.objects.filter(id=graph.id).update(summary=summary)
    response = client.get(f"/graphs/{graph.id}/")
    assert response.status_code == 200
    return response.content.decode()


def test_the_page_tells_all_that_the_engine_tells(client: Client, ready_graph: Graph) -> None:
    page = page_of(client, ready_graph, WHOLE)
    for told in (
        *("SavedModel (.zip)", "serve", "64 × 3", "rate = scalar", "2 functions were inlined."),
        *("it works on strings", "table/find", "its shape is unknown", "no such op", "80 %", "20 %"),
    ):
        assert told in page
    assert HOSTILE not in page
    assert page.count("&lt;img src=x") == 2


def test_a_summary_of_an_earlier_version_is_shown_as_far_as_it_goes(client: Client, ready_graph: Graph) -> None:
    page = page_of(client, ready_graph, EARLIER)
    assert "Lookup" in page
    for part in ("notes", "cpu-ops"):
        assert f'data-part="{part}"' not in page


def test_a_summary_of_almost_nothing_is_shown(client: Client, ready_graph: Graph) -> None:
    page = page_of(client, ready_graph, {"groups": 3, "ops": 3})
    for part in ("notes", "cpu-ops", "unknown", "sources"):
        assert f'data-part="{part}"' not in page


def test_the_list_of_unknown_ops_says_that_it_is_cut(client: Client, ready_graph: Graph) -> None:
    cut = WHOLE | {"unknown_ops": 900, "unknown": [[f"op{index}", "Lookup", "why"] for index in range(200)]}
    assert "The first 200 of them" in page_of(client, ready_graph, cut)
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


def test_usual_options_are_not_told() -> None:
    options: dict[str, Any] = {"signature": "", "batch_size": None, "input_shapes": {}}
    assert reading_facts({"format": ".pb", "options": options}) == [("Format", "GraphDef (.pb)")]


def test_of_many_input_shapes_the_first_are_told() -> None:
    shapes = {f"input{number}": [number] for number in range(11)}
    [(term, value)] = reading_facts({"options": {"input_shapes": shapes}})
    assert term == "Input shapes"
    assert value.startswith("input0 = 0, input1 = 1, ")
    assert value.endswith("input7 = 7, 3 more")


def test_every_format_has_words() -> None:
    for suffix in api.FORMATS:
        assert format_words(suffix) != suffix
        assert format_words(suffix) in formats_sentence(api.FORMATS)
    assert format_words(".onnx") == ".onnx"
