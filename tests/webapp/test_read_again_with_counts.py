"""A person says how often loops run and how long lists are, and has the graph read again."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from engine import api
from tests.webapp.graph_files import graphdef
from webapp.graphs.forms import MOST_ROWS
from webapp.graphs.graph_options import GraphOptions
from webapp.graphs.models import Graph
from webapp.graphs.open_counts import LONGEST_NAME, shortened_in_the_middle
from webapp.projects.models import Project

JSON = {"accept": "application/json"}
LONG = "StatefulPartitionedCall/functional/bidirectional/forward_lstm/lstm_cell/while"
GIVEN = api.ReadingOptions(batch_size=8, trips={"given/while": 12}, sizes={"Where": 7})


def loop(name: str, trips: int, source: str) -> dict[str, Any]:
    return {"name": name, "trips": trips, "source": source, "ops": 3}


def size(name: str, length: int | None, source: str) -> dict[str, Any]:
    return {"name": name, "type": "Where", "length": length, "source": source}


SUMMARY: dict[str, Any] = {
    "groups": 3,
    "ops": 9,
    "loops": [
        loop("fixed/while", 5, "constant"),
        loop("given/while", 12, "given"),
        loop("bounded/while", 100, "at most"),
        loop(LONG, 1, "assumed"),
    ],
    "branches": [],
    "sizes": [size("Where", 7, "given"), size("nms", 50, "bound"), size("odd", None, "unknown")],
    "batch_helps": [],
}
"""of a graph that was read as `GIVEN` says"""


@pytest.fixture
def first(project: Project, data_folder: Path) -> Graph:
    """A graph with loops and a size, some of them given by a person."""
    graph = Graph.objects.create(
        project=project,
        name="rnn.pb",
        suffix=".pb",
        status=Graph.READY,
        options=GraphOptions(GIVEN).to_json(),
        summary=SUMMARY,
    )
    graph.source_path.parent.mkdir()
    graph.source_path.write_bytes(graphdef())
    return graph


def form_of(client: Client, graph: Graph) -> Any:
    """The form on the graph's page."""
    return client.get(f"/graphs/{graph.id}/").context["again_form"]


def as_offered(client: Client, graph: Graph) -> dict[str, str]:
    """What a browser sends where nobody has changed anything."""
    form = form_of(client, graph)
    values = {name: form[name].value() for name in form.fields if name != "run_metadata"}
    return {name: "" if value is None else str(value) for name, value in values.items()}


def field_of(client: Client, graph: Graph, name: str) -> str:
    """The name of the field for this loop or op."""
    form = form_of(client, graph)
    [key] = [row.key for row, _ in (*form.trips_rows, *form.sizes_rows) if row.name == name]
    return str(key)


def again(client: Client, graph: Graph, fields: dict[str, str]) -> Any:
    return client.post(f"/graphs/{graph.id}/again/", fields, headers=JSON)


def read_as(first: Graph) -> api.ReadingOptions:
    """With which the new graph is read."""
    return Graph.objects.exclude(id=first.id).get().own_options.reading


def test_each_number_that_is_not_certain_is_offered_as_it_was_counted(client: Client, first: Graph) -> None:
    form = form_of(client, first)
    assert [(row.name, field.value()) for row, field in form.trips_rows] == [
        (LONG, 1),
        ("bounded/while", 100),
        ("given/while", 12),
    ]
    assert [(row.name, field.value()) for row, field in form.sizes_rows] == [
        ("odd", None),
        ("nms", 50),
        ("Where", 7),
    ]
    assert "trips" not in form.fields, "there are no other loops to name"
    page = client.get(f"/graphs/{first.id}/").content.decode()
    assert f'class="name" title="{LONG}">{shortened_in_the_middle(LONG)}</label>' in page


def test_what_nobody_changes_stays_as_it_was(client: Client, first: Graph) -> None:
    assert again(client, first, as_offered(client, first)).status_code == 302
    assert read_as(first) == GIVEN


def test_trips_and_sizes_that_are_given_are_kept(client: Client, first: Graph) -> None:
    changed = {
        field_of(client, first, LONG): "40",
        field_of(client, first, "nms"): "0",
        field_of(client, first, "odd"): "9",
    }
    response = again(client, first, as_offered(client, first) | changed)
    reading = read_as(first)
    assert reading.trips == {"given/while": 12, LONG: 40}
    assert reading.sizes == {"Where": 7, "nms": 0, "odd": 9}
    assert reading.batch_size == 8
    assert client.get(response.url).status_code == 200
    assert "trips of 2 loops, 3 sizes" in client.get(f"/projects/{first.project_id}/").content.decode()


def test_a_number_that_is_taken_out_is_open_again(client: Client, first: Graph) -> None:
    emptied = {field_of(client, first, name): "" for name in ("given/while", "Where", LONG)}
    assert again(client, first, as_offered(client, first) | emptied).status_code == 302
    assert (read_as(first).trips, read_as(first).sizes) == ({}, {})


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (LONG, "0", f"{LONG}: 0 trips; allowed: an integer from 1 to 1000000000"),
        (LONG, str(10**18), f"{LONG}: {10**18} trips; allowed: an integer from 1 to 1000000000"),
        (LONG, "many", "Enter an integer."),
        (LONG, "9" * 5000, "Enter an integer."),
        ("nms", "-1", "nms: the length -1; allowed: an integer from 0 to 2147483647"),
        ("nms", "1.5", "Enter an integer."),
    ],
)
def test_nonsense_is_one_sentence_at_its_field(
    client: Client, first: Graph, name: str, value: str, sentence: str
) -> None:
    field = field_of(client, first, name)
    response = again(client, first, as_offered(client, first) | {field: value})
    assert (response.status_code, response.json()) == (400, {"errors": {field: [sentence]}})
    assert Graph.objects.count() == 1


def test_of_very_many_loops_the_first_have_a_field_and_the_others_lines(client: Client, first: Graph) -> None:
    loops = [loop(f"loop_{index:02}", 1, "assumed") for index in range(MOST_ROWS + 2)]
    Graph.objects.update(summary=SUMMARY | {"loops": loops})
    form = form_of(client, first)
    assert [row.name for row, _ in form.trips_rows] == [each["name"] for each in loops[:MOST_ROWS]]
    assert (form["trips"].label, form["trips"].value()) == ("Trips of other loops", "given/while=12")
    lines = {"trips": f"loop_{MOST_ROWS}=3\nloop_00=4"}
    response = again(client, first, as_offered(client, first) | lines)
    assert response.json() == {"errors": {"trips": ["loop_00: it has a field of its own; allowed: names without one"]}}
    given = {"trips": f"loop_{MOST_ROWS}=3", field_of(client, first, "loop_00"): "4"}
    assert again(client, first, as_offered(client, first) | given).status_code == 302
    assert read_as(first).trips == {f"loop_{MOST_ROWS}": 3, "loop_00": 4}


def test_two_loops_of_one_name_have_one_field(client: Client, first: Graph) -> None:
    Graph.objects.update(summary=SUMMARY | {"loops": [loop("while", 1, "assumed"), loop("while", 1, "assumed")]})
    changed = {field_of(client, first, "while"): "3"}
    assert again(client, first, as_offered(client, first) | changed).status_code == 302
    assert read_as(first).trips["while"] == 3


@pytest.mark.parametrize("summary", [None, {"groups": 3, "ops": 9}, {"loops": None, "sizes": None}])
def test_where_nobody_knows_the_names_they_are_lines(
    client: Client, first: Graph, summary: dict[str, Any] | None
) -> None:
    Graph.objects.update(summary=summary, status=Graph.READY if summary else Graph.FAILED)
    form = form_of(client, first)
    assert (form["trips"].value(), form["sizes"].value()) == ("given/while=12", "Where=7")
    response = again(client, first, as_offered(client, first) | {"trips": "while=9"})
    assert response.status_code == 302
    assert (read_as(first).trips, read_as(first).sizes) == ({"while": 9}, GIVEN.sizes)


def test_loops_are_called_as_on_other_pages_and_answer_to_their_names_in_the_file(client: Client, first: Graph) -> None:
    whole = "PartitionedCall/functional_1/lstm/while"
    Graph.objects.update(summary=SUMMARY | {"loops": [loop(whole, 1, "assumed")], "short_names": {whole: "lstm/while"}})
    field = field_of(client, first, whole)
    page = client.get(f"/graphs/{first.id}/").content.decode()
    assert f'<th scope="row" class="name" title="{whole}">lstm/while</th>' in page
    assert f'class="name" title="{whole}">lstm/while</label>' in page
    assert again(client, first, as_offered(client, first) | {field: "3"}).status_code == 302
    assert read_as(first).trips[whole] == 3


def test_a_graph_without_loops_asks_for_none(client: Client, first: Graph) -> None:
    Graph.objects.update(summary=SUMMARY | {"loops": [], "sizes": []}, options=GraphOptions().to_json())
    assert not {"trips", "sizes"} & form_of(client, first).fields.keys()


def test_the_page_comes_again_with_what_was_entered(client: Client, first: Graph) -> None:
    field = field_of(client, first, LONG)
    page = client.post(f"/graphs/{first.id}/again/", as_offered(client, first) | {field: "-4"})
    assert page.status_code == 400
    assert page.context["again_form"][field].value() == "-4"
    assert '<details class="options" data-part="again" open>' in page.content.decode()


@pytest.mark.parametrize("length", [1, LONGEST_NAME - 1, LONGEST_NAME, LONGEST_NAME + 1, 10**6])
def test_a_long_name_keeps_both_ends(length: int) -> None:
    name = "a" + "b" * (length - 2) + "c" * (length > 1)
    shown = shortened_in_the_middle(name)
    assert len(shown) == min(length, LONGEST_NAME)
    assert (shown[0], shown[-1]) == (name[0], name[-1])
    assert ("…" in shown) == (length > LONGEST_NAME)
