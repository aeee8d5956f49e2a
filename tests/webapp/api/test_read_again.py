"""A script has a graph read again, with trips of its loops by name."""

from typing import Any

import pytest
from django.test import Client

from tests.webapp.graph_files import graphdef
from webapp.graphs.models import Graph
from webapp.projects.models import Project

LOOP = {"name": "rnn/while", "trips": 100, "source": "at most", "ops": 3}
SUMMARY: dict[str, Any] = {"groups": 3, "ops": 9, "loops": [LOOP], "branches": [], "sizes": [], "batch_helps": []}


@pytest.fixture
def graph_with_loop(project: Project) -> Graph:
    """A graph that has been read, whose loop has trips that nobody knows."""
    graph = Graph.objects.create(
        project=project, name="rnn.pb", suffix=".pb", status=Graph.READY, summary=SUMMARY, file_bytes=9
    )
    graph.source_path.parent.mkdir()
    graph.source_path.write_bytes(graphdef())
    return graph


def again(client: Client, graph: Graph, **given: Any) -> Any:
    return client.post(f"/api/v1/graphs/{graph.id}/again", given, content_type="application/json")


def test_what_is_not_given_stays_and_trips_are_by_name(client: Client, graph_with_loop: Graph) -> None:
    first = again(client, graph_with_loop, groups="2", trips_by_name={"rnn/while": 12})
    assert first.status_code == 202, first.content
    Graph.objects.filter(id=first.json()["id"]).update(status=Graph.READY, summary=SUMMARY)
    second = again(client, Graph.objects.get(id=first.json()["id"]), batch_size=4)
    options = Graph.objects.get(id=second.json()["id"]).own_options
    assert (options.groups, options.reading.batch_size, options.reading.trips) == (2, 4, {"rnn/while": 12})
    assert Graph.objects.get(id=second.json()["id"]).read_again_from_id == Graph.objects.get(id=first.json()["id"]).id


def test_a_loop_that_is_not_there_is_refused(client: Client, graph_with_loop: Graph) -> None:
    answer = again(client, graph_with_loop, trips_by_name={"other/while": 12})
    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "code": "bad_request",
        "message": "This graph has no 'other/while' with an open count; allowed: rnn/while.",
        "field": "trips_by_name",
    }


@pytest.mark.parametrize("trips", [{"rnn/while": "12"}, {"rnn/while": 1.5}, ["rnn/while"]])
def test_trips_are_numbers(trips: Any, client: Client, graph_with_loop: Graph) -> None:
    assert again(client, graph_with_loop, trips_by_name=trips).status_code == 422


def test_a_form_with_a_file_is_taken_too(client: Client, graph_with_loop: Graph) -> None:
    answer = client.post(f"/api/v1/graphs/{graph_with_loop.id}/again", {"groups": "3"})
    assert answer.status_code == 202
    assert Graph.objects.get(id=answer.json()["id"]).own_options.groups == 3
