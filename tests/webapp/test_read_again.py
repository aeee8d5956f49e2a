"""A person has a graph's file read again with other options."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from tests.webapp.conftest import MemoryBroker
from tests.webapp.graph_files import graphdef, measured_times
from webapp.graphs import uploads
from webapp.graphs.graph_options import GraphOptions
from webapp.graphs.models import Graph
from webapp.graphs.orphan_files import SECONDS_BETWEEN_LOOKS, OrphanFiles, unknown_files
from webapp.projects.models import Project
from webapp.runs.models import Run

JSON = {"accept": "application/json"}


@pytest.fixture
def first(project: Project, data_folder: Path) -> Graph:
    """A graph with its file and measured times."""
    graph = Graph.objects.create(
        project=project, name="mine.pb", suffix=".pb", status=Graph.READY, sample="tiny_cnn", times_name="step.pb"
    )
    graph.source_path.parent.mkdir()
    for path, content in zip(graph.paths, (graphdef(), b"times"), strict=True):
        path.write_bytes(content)
    return graph


def again(client: Client, graph: Graph, **fields: Any) -> Any:
    """Send the form."""
    return client.post(f"/graphs/{graph.id}/again/", fields, headers=JSON)


def the_new_one(first: Graph) -> Graph:
    """The graph that was made."""
    return Graph.objects.exclude(id=first.id).get()


def test_it_is_another_reading_of_the_same_file(client: Client, first: Graph, broker: MemoryBroker) -> None:
    response = again(client, first, groups="7", batch_size="2")
    new = the_new_one(first)
    assert response.url == f"/graphs/{new.id}/"
    assert (new.name, new.suffix, new.sample, new.status) == ("mine.pb", ".pb", "", Graph.QUEUED)
    assert (new.own_options.groups, new.own_options.reading.batch_size) == (7, 2)
    assert new.read_again_from == first
    assert new.source_path.read_bytes() == graphdef()
    assert not new.has_times
    assert not new.times_path.exists()
    assert broker.messages("cpu") == [["cpu"]]
    assert client.get(response.url).status_code == 200
    assert "batch size 2, groups: 7" in client.get(f"/projects/{first.project_id}/").content.decode()


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_neither_needs_the_other(client: Client, first: Graph, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no links on this disk")

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    again(client, first, keep_times="on")
    new = the_new_one(first)
    client.post(f"/graphs/{first.id}/delete/")
    new.refresh_from_db()
    assert new.read_again_from is None
    assert new.source_path.read_bytes() == graphdef()
    assert (new.times_path.read_bytes(), new.times_name, new.times_bytes) == (b"times", "step.pb", 5)
    assert client.get(f"/graphs/{new.id}/").status_code == 200


@pytest.mark.slow
def test_new_times_take_the_place_of_the_old(client: Client, first: Graph) -> None:
    again(
        client, first, keep_times="on", run_metadata=SimpleUploadedFile("new.pb", measured_times()), profile_kind="K80"
    )
    new = the_new_one(first)
    assert (new.times_path.read_bytes(), new.times_name) == (measured_times(), "new.pb")
    assert new.own_options == GraphOptions(profile_kind="K80")
    assert first.times_path.read_bytes() == b"times"


def test_a_file_that_just_got_its_name_is_no_leftover(
    client: Client, first: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, clock = uploads._queue, 0.0
    chore = OrphanFiles(unknown_files, lambda: clock)

    def queue_late(*arguments: Any) -> None:
        chore()  # the row is not there yet
        queue(*arguments)

    monkeypatch.setattr(uploads, "_queue", queue_late)
    assert again(client, first, keep_times="on").status_code == 302
    clock = SECONDS_BETWEEN_LOOKS
    chore()
    new = the_new_one(first)
    assert new.source_path.exists()
    assert new.times_path.exists()


BAD = [
    ({"groups": "x"}, "groups"),
    ({"batch_size": "0"}, "batch_size"),
    ({"input_shapes": "x"}, "input_shapes"),
    ({"profile_kind": "K80"}, "profile_kind"),
    ({"run_metadata": SimpleUploadedFile("t.txt", b"x")}, "run_metadata"),
    ({"run_metadata": SimpleUploadedFile("t.pb", b"x")}, "run_metadata"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("fields", "field"), BAD, ids=str)
def test_nonsense_is_a_sentence_at_its_field(client: Client, first: Graph, fields: dict[str, Any], field: str) -> None:
    response = again(client, first, **fields)
    assert response.status_code == 400
    assert list(response.json()["errors"]) == [field]
    assert Graph.objects.count() == 1
    assert len(list(first.source_path.parent.iterdir())) == 2


def test_the_page_comes_again_with_what_was_entered(client: Client, first: Graph) -> None:
    page = client.post(f"/graphs/{first.id}/again/", {"groups": "x", "batch_size": "9"})
    assert page.status_code == 400
    assert page.context["again_form"]["batch_size"].value() == "9"
    assert '<details class="options" data-part="again" open>' in page.content.decode()


def test_both_files_together_are_within_the_limit(client: Client, first: Graph, settings: Settings) -> None:
    Graph.objects.update(file_bytes=len(graphdef()))
    settings.UPLOAD_LIMIT_BYTES = len(graphdef()) + 3
    response = again(client, first, run_metadata=SimpleUploadedFile("t.pb", b"four"))
    assert response.status_code == 413
    assert "both files together" in response.json()["errors"]["run_metadata"][0]
    assert Graph.objects.count() == 1


def test_signatures_that_the_file_offers_are_a_choice(client: Client, first: Graph) -> None:
    Graph.objects.update(suffix=".zip", summary={"signatures": ["serve", "train"]}, status=Graph.FAILED)
    first.refresh_from_db()
    first.source_path.write_bytes(b"zip")
    field = client.get(f"/graphs/{first.id}/").context["again_form"].fields["signature"]
    assert [value for value, _ in field.choices] == ["", "serve", "train"]
    assert list(again(client, first, signature="other").json()["errors"]) == ["signature"]
    assert again(client, first, signature="train").status_code == 302
    assert the_new_one(first).own_options.reading.signature == "train"


def test_a_graph_that_could_not_be_read_offers_it_too(client: Client, graph: Graph) -> None:
    Graph.objects.update(status=Graph.FAILED, error="no signature 'x'; allowed: serve")
    assert f"/graphs/{graph.id}/again/" in client.get(f"/graphs/{graph.id}/").content.decode()


def test_of_a_node_link_file_only_the_groups_can_be_chosen(client: Client, ready_graph: Graph) -> None:
    page = client.get(f"/graphs/{ready_graph.id}/").content.decode()
    assert 'name="groups"' in page
    assert 'name="batch_size"' not in page
    assert list(again(client, ready_graph, batch_size="2").json()["errors"]) == ["batch_size"]
    assert again(client, ready_graph, groups="2").status_code == 302
    assert the_new_one(ready_graph).own_options.groups == 2


def test_a_file_that_is_not_there_is_reported(client: Client, first: Graph, data_folder: Path) -> None:
    first.source_path.unlink()
    response = again(client, first)
    assert response.status_code == 404
    assert response.json() == {"errors": {"": ["The graph's file is not on this machine."]}}
    assert Graph.objects.count() == 1
    assert [path.name for path in first.source_path.parent.iterdir()] == [first.times_path.name]


def test_a_project_that_is_deleted_meanwhile_leaves_nothing(
    client: Client, first: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = uploads.share_file

    def delete_and_share(*arguments: Any) -> None:
        share(*arguments)
        Project.objects.all().delete()

    monkeypatch.setattr(uploads, "share_file", delete_and_share)
    assert again(client, first).status_code == 404
    assert sorted(first.source_path.parent.iterdir()) == sorted(first.paths)


def test_a_graph_that_does_not_exist_is_reported(client: Client, first: Graph) -> None:
    graph_id = first.id
    first.delete()
    assert client.post(f"/graphs/{graph_id}/again/", headers=JSON).status_code == 404
    assert client.get(f"/graphs/{graph_id}/again/").status_code == 405


def read(graph: Graph) -> None:
    """Let a worker have read it."""
    Graph.objects.filter(id=graph.id).update(status=Graph.READY, summary={"groups": 3, "ops": 3}, op_count=3)


def names_in_project(client: Client, graph: Graph) -> list[str]:
    rows = client.get(f"/projects/{graph.project_id}/").context["graphs"].object_list
    return [str(row.id) for row in rows]


def test_the_new_reading_takes_the_place_of_the_old_once_it_is_ready(client: Client, first: Graph) -> None:
    again(client, first, groups="7")
    second = the_new_one(first)
    assert set(names_in_project(client, first)) == {str(first.id), str(second.id)}, "it may still fail"
    assert client.get(f"/graphs/{first.id}/").status_code == 200
    read(second)
    assert names_in_project(client, first) == [str(second.id)]
    assert client.get("/projects/").context["projects"].object_list[0].graph_count == 1
    assert client.get(f"/graphs/{first.id}/").headers["Location"] == f"/graphs/{second.id}/"
    assert "Earlier reading" not in client.get(f"/graphs/{second.id}/").content.decode()


def test_runs_keep_the_reading_that_they_used(client: Client, first: Graph, run: Run) -> None:
    Run.objects.filter(id=run.id).update(graph=first)
    Graph.objects.filter(id=first.id).update(summary={"groups": 3, "ops": 3})
    again(client, first, groups="7")
    second = Graph.objects.get(read_again_from=first)
    read(second)
    old, new = (client.get(f"/graphs/{graph.id}/").content.decode() for graph in (first, second))
    assert "This is an earlier reading of the file" in old and f"/graphs/{second.id}/" in old
    assert f'href="/runs/{run.id}/"' in old and f'href="/runs/{run.id}/"' not in new
    assert "Earlier reading" in new and f"/graphs/{first.id}/" in new
    run.refresh_from_db()
    assert run.graph_id == first.id and client.get(f"/runs/{run.id}/").status_code == 200


def test_a_reading_of_an_earlier_one_takes_the_place_of_the_newest(client: Client, first: Graph) -> None:
    again(client, first, groups="7")
    second = the_new_one(first)
    read(second)
    again(client, first, groups="9")
    third = Graph.objects.get(read_again_from=second)
    read(third)
    assert names_in_project(client, first) == [str(third.id)]
    assert client.get(f"/graphs/{first.id}/").headers["Location"] == f"/graphs/{third.id}/"
    client.post(f"/graphs/{third.id}/delete/")
    assert names_in_project(client, first) == [], "no earlier reading comes back"
