"""A file that leaves lengths open: a person is asked for them before it is read."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from engine.api import Json, OpenInput
from tests.engine.formats.graphdef_samples import identity, placeholder
from tests.webapp.conftest import MemoryBroker
from webapp.graphs.models import Graph
from webapp.projects.models import Project

JSON = {"accept": "application/json"}
IMAGES = OpenInput("images", (-1, 224, 3))
TOKENS = OpenInput("tokens", (-1, -1))


def asking(project: Project, *inputs: OpenInput) -> Graph:
    """A graph that asks for the lengths of `inputs`."""
    asked: list[Json] = [each.to_json() for each in inputs]
    return Graph.objects.create(
        project=project, name="open.pb", suffix=".pb", status=Graph.ASKING, summary={"asked": asked}
    )


def begin(client: Client, graph: Graph, **fields: str) -> Any:
    return client.post(f"/graphs/{graph.id}/begin/", fields, headers=JSON)


def test_it_is_stored_and_asks_and_is_read_with_the_answer(
    client: Client, project: Project, broker: MemoryBroker
) -> None:
    graph = asking(project, IMAGES)
    page = client.get(f"/graphs/{graph.id}/").content.decode()
    assert "images" in page and "? × 224 × 3" in page and 'name="batch_size"' in page
    assert client.get(f"/projects/{project.id}/").status_code == 200
    assert begin(client, graph, batch_size="48").url == f"/graphs/{graph.id}/"
    graph.refresh_from_db()
    assert (graph.status, graph.summary, broker.messages("cpu")) == (Graph.QUEUED, None, [["cpu"]])
    assert graph.own_options.reading.batch_size == 48
    assert begin(client, graph, batch_size="9").status_code == 409
    graph.refresh_from_db()
    assert graph.own_options.reading.batch_size == 48


def test_lengths_beside_the_batch_are_asked_by_input(client: Client, project: Project) -> None:
    graph = asking(project, TOKENS, OpenInput("mask", (-1, 5)))
    assert [each.name for each in graph.asked] == ["tokens", "mask"]
    assert begin(client, graph, batch_size="4", length_0_1="77").status_code == 302
    graph.refresh_from_db()
    assert graph.own_options.reading.input_shapes == {"tokens": (4, 77)}


def test_a_length_may_stay_open(client: Client, project: Project) -> None:
    graph = asking(project, TOKENS)
    assert begin(client, graph, batch_size="4").status_code == 302
    graph.refresh_from_db()
    assert (graph.own_options.reading.input_shapes, graph.own_options.reading.batch_size) == ({}, 4)


def test_it_may_be_read_as_it_is(client: Client, project: Project, broker: MemoryBroker) -> None:
    graph = asking(project, IMAGES)
    assert begin(client, graph, batch_size="", as_it_is="yes").status_code == 302
    graph.refresh_from_db()
    assert (graph.status, graph.own_options.reading.batch_size) == (Graph.QUEUED, None)
    assert broker.messages("cpu") == [["cpu"]]


@pytest.mark.parametrize("batch_size", ["", "0", "-3", "x", "1e9", "9" * 30])
def test_nonsense_is_a_sentence_at_its_field_and_it_still_asks(
    client: Client, project: Project, batch_size: str
) -> None:
    graph = asking(project, IMAGES)
    answer = begin(client, graph, batch_size=batch_size)
    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["batch_size"])
    page = client.post(f"/graphs/{graph.id}/begin/", {"batch_size": batch_size})
    assert page.status_code == 400 and "What size is a step?" in page.content.decode()
    graph.refresh_from_db()
    assert graph.status == Graph.ASKING


@pytest.mark.slow
def test_an_upload_asks_only_for_what_neither_the_file_nor_the_options_say(
    client: Client, project: Project, broker: MemoryBroker
) -> None:
    content = placeholder("images", -1, 224, 3) + placeholder("mask", 8, 5) + identity("left", "images")
    for fields, asked in (({}, ["images"]), ({"batch_size": "7"}, []), ({"input_shapes": "images=2,224,3"}, [])):
        file = SimpleUploadedFile("open.pb", content)
        address = client.post(f"/projects/{project.id}/graphs/", {"file": file, **fields}).headers["Location"]
        graph = Graph.objects.get(id=address.split("/")[2])
        assert [each.name for each in graph.asked] == asked
        assert graph.status == (Graph.ASKING if asked else Graph.QUEUED)
        assert graph.source_path.read_bytes() == content
    assert len(broker.messages("cpu")) == 2


def test_one_that_asks_takes_no_run_and_can_be_deleted(client: Client, project: Project) -> None:
    graph = asking(project, IMAGES)
    run = {"cluster": "2xK80", "method": "heft", "evaluations": "5", "seed": "0"}
    assert client.post(f"/graphs/{graph.id}/runs/", run, headers=JSON).status_code == 400
    assert client.post(f"/graphs/{graph.id}/delete/").status_code == 302
    assert not Graph.objects.exists()
