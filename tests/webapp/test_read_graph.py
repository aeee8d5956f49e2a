"""A worker reads, costs and groups a graph, and reports its progress."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from engine import api
from tests.webapp.graph_files import graphdef, node_link
from tests.webapp.purge import purge
from webapp.graphs.models import Graph, PreparedBlob
from webapp.graphs.reading import read_graph
from webapp.graphs.uploads import accept_sample
from webapp.jobs import heartbeat
from webapp.projects.models import Project

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture
def uploaded(project: Project, data_folder: Path) -> Graph:
    """A GraphDef in its place."""
    graph = Graph.objects.create(project=project, name="small.pb", suffix=".pb")
    graph.source_path.parent.mkdir(exist_ok=True)
    graph.source_path.write_bytes(graphdef())
    return graph


def test_a_graphdef_becomes_ready(client: Client, uploaded: Graph) -> None:
    read_graph(uploaded.id)
    uploaded.refresh_from_db()
    assert (uploaded.status, uploaded.error, uploaded.stage, uploaded.claim) == (Graph.READY, "", "", None)
    prepared = api.PreparedGraph.from_bytes(bytes(uploaded.prepared.blob))
    assert uploaded.summary == json.loads(json.dumps(prepared.summary()))
    assert isinstance(uploaded.summary, dict)
    assert (uploaded.summary["name"], uploaded.summary["ops"]) == ("small.pb", 5)
    assert client.get(f"/graphs/{uploaded.id}/view.json").json() == prepared.view()
    older = prepared.view()
    for group in older["groups"]:  # type: ignore[union-attr]
        del group["short_name"]  # type: ignore[arg-type, union-attr]
    PreparedBlob.objects.update(view=json.dumps(older))
    assert client.get(f"/graphs/{uploaded.id}/view.json").json() == prepared.view(), "an older version stored no names"
    status = {"status": "ready", "stage": "", "done": 0, "total": 0, "error": ""}
    assert client.get(f"/graphs/{uploaded.id}/status.json").json() == status
    assert client.get(f"/graphs/{uploaded.id}/").context["summary"] == uploaded.summary


def test_a_second_message_does_nothing(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    Graph.objects.update(status=Graph.READY)
    monkeypatch.setattr(api, "prepare", lambda *_, **__: pytest.fail("it is read already"))
    read_graph(graph.id)


def test_a_graph_that_cannot_be_read_has_failed_with_its_sentence(client: Client, uploaded: Graph) -> None:
    uploaded.source_path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    read_graph(uploaded.id)
    uploaded.refresh_from_db()
    sentence = "this is a PNG picture; allowed: a GraphDef in binary form"
    assert (uploaded.status, uploaded.error) == (Graph.FAILED, sentence)
    assert client.get(f"/graphs/{uploaded.id}/view.json").status_code == 404
    assert sentence in client.get(f"/graphs/{uploaded.id}/").content.decode()


def test_progress_is_shown(client: Client, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def prepare(*arguments: object, **_: object) -> None:
        report = arguments[2]
        assert callable(report)
        report("estimating the costs", 3, 7)
        seen.append(client.get(f"/graphs/{graph.id}/status.json").json())
        page = client.get(f"/graphs/{graph.id}/events.json").json()
        assert page == {"events": [], "last_seq": 0, **seen[-1]}, "the stream of its page begins with this"
        raise api.GraphError("enough")

    monkeypatch.setattr(api, "prepare", prepare)
    read_graph(graph.id)
    assert seen == [{"status": "reading", "stage": "estimating the costs", "done": 3, "total": 7, "error": ""}]


def test_a_graph_that_is_deleted_while_it_is_read_leaves_nothing(
    client: Client, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)

    def prepare(*arguments: object, **_: object) -> None:
        assert client.post(f"/graphs/{graph.id}/delete/").status_code == 302
        report = arguments[2]
        assert callable(report)
        report("grouping the ops", 0, 0)
        pytest.fail("the report ends the work")

    monkeypatch.setattr(api, "prepare", prepare)
    read_graph(graph.id)
    assert not Graph.objects.exists()
    assert not PreparedBlob.objects.exists()
    purge()
    assert not graph.source_path.exists()


def test_the_reading_of_a_graph_that_is_deleted_ends_although_it_reports_nothing(
    client: Client, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)

    def prepare(*_: object, pulse: Callable[[], None], **__: object) -> None:
        assert client.post(f"/graphs/{graph.id}/delete/").status_code == 302
        for _step in range(2000):
            pulse()
            time.sleep(0.01)
        pytest.fail("the pulse ends the work")

    monkeypatch.setattr(api, "prepare", prepare)
    read_graph(graph.id)
    assert not Graph.objects.exists()


def test_the_building_of_a_sample_that_is_deleted_ends_although_it_reports_nothing(
    client: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)
    graph = accept_sample(project, "tiny_cnn")

    def build(*_: object, pulse: Callable[[], None]) -> None:
        assert client.post(f"/graphs/{graph.id}/delete/").status_code == 302
        for _step in range(2000):
            pulse()
            time.sleep(0.01)
        pytest.fail("the pulse ends the work")

    monkeypatch.setattr(api, "build", build)
    read_graph(graph.id)
    assert not Graph.objects.exists()


def test_a_sample_is_built_then_read(project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = graphdef()

    def build(name: str, destination: Path, report_progress: api.ReportProgress, **_: object) -> None:
        assert name == "tiny_cnn"
        report_progress("building", 1, 3)
        destination.write_bytes(content)

    read = []

    def prepare(path: Path, suffix: str, *_: object, **__: object) -> None:
        read.append((path.read_bytes(), suffix))
        raise api.GraphError("enough")

    monkeypatch.setattr(api, "build", build)
    monkeypatch.setattr(api, "prepare", prepare)
    graph = accept_sample(project, "tiny_cnn")
    read_graph(graph.id)
    graph.refresh_from_db()
    assert read == [(content, ".pb")]
    assert graph.file_bytes == len(content)
    assert list((data_folder / "graphs").iterdir()) == [graph.source_path]


def test_a_sample_that_cannot_be_built_leaves_no_file(
    project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(name: str, destination: Path, report_progress: api.ReportProgress, **_: object) -> None:
        destination.write_bytes(b"half")
        raise api.LimitError("it needs more than 12 GiB")

    monkeypatch.setattr(api, "build", build)
    graph = accept_sample(project, "tiny_cnn")
    read_graph(graph.id)
    graph.refresh_from_db()
    assert (graph.status, graph.error) == (Graph.FAILED, "it needs more than 12 GiB")
    assert list((data_folder / "graphs").iterdir()) == []


def test_node_link_json_becomes_ready(graph: Graph) -> None:
    graph.source_path.write_bytes(node_link())
    read_graph(graph.id)
    graph.refresh_from_db()
    assert (graph.status, graph.error) == (Graph.READY, "")
    assert isinstance(graph.summary, dict)
    assert graph.summary["ops"] == 12
