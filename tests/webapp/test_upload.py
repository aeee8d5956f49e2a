"""A person uploads a graph."""

import hashlib
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from engine import api
from tests.webapp.conftest import MemoryBroker
from tests.webapp.graph_files import graphdef, node_link
from tests.webapp.uploads import nothing_left, upload
from webapp.graphs.models import Graph
from webapp.projects.models import Project

JSON = {"accept": "application/json"}
HOSTILE = "<img src=x onerror=alert(1)>"
ALLOWED = ", ".join(api.FORMATS)


def test_a_graph_is_kept_and_queued(client: Client, project: Project, broker: MemoryBroker, data_folder: Path) -> None:
    content = graphdef()
    response = upload(client, project, "My graph.PB", content)
    graph = Graph.objects.get()
    assert response.status_code == 302
    assert response.url == f"/graphs/{graph.id}/"
    assert (graph.project, graph.name, graph.suffix, graph.status) == (project, "My graph.PB", ".pb", Graph.QUEUED)
    assert (graph.file_bytes, graph.content_hash) == (len(content), hashlib.sha256(content).hexdigest())
    assert [path for path in data_folder.rglob("*") if path.is_file()] == [data_folder / "graphs" / f"{graph.id}.pb"]
    assert graph.source_path.read_bytes() == content
    assert graph.source_path.stat().st_mode & 0o077 == 0, "for the owner alone"
    assert broker.messages("cpu") == [["cpu"]]
    assert client.get(response.url).status_code == 200


def test_no_part_of_a_name_becomes_a_path(client: Client, project: Project, data_folder: Path) -> None:
    upload(client, project, "../../../etc/passwd.pb", graphdef())
    graph = Graph.objects.get()
    assert graph.name == "passwd.pb"
    assert graph.source_path == data_folder / "graphs" / f"{graph.id}.pb"


def test_a_name_never_reaches_a_page_as_html(client: Client, project: Project) -> None:
    upload(client, project, f"{HOSTILE}.pb", graphdef())
    graph = Graph.objects.get()
    assert graph.name == f"{HOSTILE}.pb"
    for address in (f"/graphs/{graph.id}/", f"/projects/{project.id}/"):
        page = client.get(address).content.decode()
        assert HOSTILE not in page
        assert "&lt;img src=x" in page


BAD_FILES = {
    "empty": ("graph.pb", b"", "graph.pb: the file is empty; allowed: a graph with at least one op"),
    "picture": (
        "graph.pb",
        b"\x89PNG\r\n\x1a\n" + bytes(50),
        "this is a PNG picture; allowed: a GraphDef in binary form",
    ),
    "cut short": (
        "graph.pb",
        graphdef()[:-3],
        "the file is not a GraphDef, or it is cut short or damaged: ",
    ),
    "no graph as text": ("graph.pbtxt", b"hello", "line 1, column 1: the text is not a GraphDef, or it is cut short: "),
    "other suffix": ("graph.exe", graphdef(), f"graph.exe: a file ending in .exe; allowed: {ALLOWED}"),
    "no suffix": ("graph", graphdef(), f"graph: a file ending in nothing; allowed: {ALLOWED}"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_one_sentence_at_the_field_and_nothing_else(
    client: Client, project: Project, data_folder: Path, broker: MemoryBroker, case: str
) -> None:
    name, content, sentence = BAD_FILES[case]
    response = upload(client, project, name, content, **JSON)
    assert response.status_code == 400
    [found] = response.json()["errors"]["file"]
    assert found.startswith(sentence)
    assert str(data_folder) not in found
    assert nothing_left(data_folder)
    assert broker.messages("cpu") == []

    page = upload(client, project, name, content)
    assert page.status_code == 400
    [shown] = page.context["upload_form"].errors["file"]
    assert shown.startswith(sentence)
    assert nothing_left(data_folder)


def test_a_graph_without_nodes_is_refused(client: Client, project: Project, data_folder: Path) -> None:
    content = b'{"directed": true, "multigraph": false, "graph": {}, "nodes": [], "edges": []}'
    response = upload(client, project, "graph.json", content, **JSON)
    assert response.status_code == 400
    assert "at least one" in response.json()["errors"]["file"][0]
    assert nothing_left(data_folder)


def test_a_form_without_a_file_is_refused(client: Client, project: Project) -> None:
    response = client.post(f"/projects/{project.id}/graphs/", {}, headers=JSON)
    assert response.status_code == 400
    assert response.json() == {"errors": {"file": [f"No file was chosen; allowed: {ALLOWED}"]}}


def test_a_form_with_two_files_is_refused(client: Client, project: Project, data_folder: Path) -> None:
    files = {"file": SimpleUploadedFile("a.pb", graphdef()), "other": SimpleUploadedFile("b.pb", graphdef())}
    assert client.post(f"/projects/{project.id}/graphs/", files).status_code == 400
    assert nothing_left(data_folder)


def test_a_file_to_a_form_without_one_leaves_nothing(client: Client, data_folder: Path) -> None:
    client.post("/projects/", {"name": "x", "file": SimpleUploadedFile("a.pb", graphdef())})
    assert nothing_left(data_folder)


def test_a_form_from_elsewhere_is_refused(project: Project, data_folder: Path) -> None:
    response = upload(Client(enforce_csrf_checks=True), project, "a.pb", graphdef(), **JSON)
    assert response.status_code == 403
    assert "another site" in response.json()["errors"][""][0]
    assert nothing_left(data_folder)


def test_the_same_file_twice_is_two_graphs(client: Client, project: Project) -> None:
    for _ in range(2):
        upload(client, project, "a.json", node_link())
    first, second = Graph.objects.all()
    assert first.content_hash == second.content_hash
    assert first.source_path != second.source_path


def test_a_project_that_does_not_exist_takes_no_file(client: Client, project: Project, data_folder: Path) -> None:
    project_id = project.id
    project.delete()
    project.id = project_id
    response = upload(client, project, "a.pb", graphdef(), **JSON)
    assert response.status_code == 404
    assert response.json() == {"errors": {"": ["This project does not exist, or it has been deleted."]}}
    assert nothing_left(data_folder)


def test_a_project_that_is_deleted_meanwhile_leaves_nothing(
    client: Client, project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "check_upload", lambda *_: Project.objects.all().delete()[:0])
    assert upload(client, project, "a.pb", graphdef()).status_code == 404
    assert nothing_left(data_folder)


def test_a_check_that_breaks_leaves_nothing(
    project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(api, "check_upload", fail)
    client = Client(raise_request_exception=False)
    response = upload(client, project, "a.pb", graphdef(), **JSON)
    assert response.status_code == 500
    assert "a fault of ours" not in response.content.decode()
    assert nothing_left(data_folder)


def test_a_file_that_needs_too_much_is_reported_as_such(
    client: Client, project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise api.LimitError("it needs more than 120 seconds", field="file")

    monkeypatch.setattr(api, "check_upload", fail)
    response = upload(client, project, "a.pb", graphdef(), **JSON)
    assert response.status_code == 413
    assert response.json() == {"errors": {"file": ["it needs more than 120 seconds"]}}
    assert nothing_left(data_folder)
