"""What a person is told while the server lacks something for a while: 503, when to come back, and nothing stored."""

import asyncio
import errno
import io
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client

from engine import api
from tests.chaos.visitor import UnreachableError, Visitor
from tests.webapp.graph_files import graphdef
from tests.webapp.processes import Surroundings
from tests.webapp.uploads import nothing_left, upload
from webapp import asgi
from webapp.graphs import upload_checks
from webapp.graphs.incoming import IncomingFile
from webapp.graphs.models import Graph
from webapp.pages.graphs.upload_limits import upload_limit_bytes
from webapp.projects.models import Project

JSON = {"accept": "application/json"}


@pytest.fixture(autouse=True)
def _every_file_is_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check starts a process, which is not what these tests are about."""
    monkeypatch.setattr(api, "check_upload", lambda *_: ())


def expect_unavailable(response: Any, words: str) -> None:
    """503 with a sentence and the seconds to wait."""
    assert response.status_code == 503
    assert words in response.json()["errors"][""][0]
    assert int(response["Retry-After"]) > 0


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OperationalError("database is locked"), "The database does not answer"),
        (OperationalError("database or disk is full"), "disk is full"),
        (OSError(errno.ENOSPC, "No space left on device"), "disk is full"),
    ],
)
def test_a_lack_for_a_while_has_its_own_sentence(
    client: Client, project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Graph, "save", fail)
    expect_unavailable(upload(client, project, "a.pb", graphdef(), **JSON), words)
    assert nothing_left(data_folder)


@pytest.mark.parametrize("checks_tokens", [False, True], ids=["read by the view", "read by the check of the token"])
def test_a_disk_that_is_full_when_a_file_comes_keeps_nothing_of_it(
    project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch, checks_tokens: bool
) -> None:
    client = Client(enforce_csrf_checks=checks_tokens, raise_request_exception=False)

    class FullDisk:
        """A file whose bytes find no space, the last ones neither."""

        def write(self, _content: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    begin = IncomingFile.__init__

    def begin_on_a_full_disk(self: IncomingFile, *arguments: Any) -> None:
        begin(self, *arguments)
        self._writer.close()
        monkeypatch.setattr(self, "_writer", FullDisk())

    page = client.get(f"/projects/{project.id}/")
    token = {"X-CSRFToken": str(page.context["csrf_token"])}
    monkeypatch.setattr(IncomingFile, "__init__", begin_on_a_full_disk)
    expect_unavailable(upload(client, project, "a.pb", graphdef(), **JSON, **token), "disk is full")
    assert nothing_left(data_folder)


def test_a_fault_of_ours_is_no_lack(project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Graph, "save", fail)
    response = upload(Client(raise_request_exception=False), project, "a.pb", graphdef(), **JSON)
    assert response.status_code == 500
    assert nothing_left(data_folder)


def test_one_upload_more_than_can_be_checked_is_asked_to_come_back(
    client: Client, project: Project, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_checks, "_places", threading.BoundedSemaphore(1))
    monkeypatch.setattr(upload_checks, "LONGEST_WAIT_SECONDS", 0.01)
    answers: list[Any] = []

    def check(*_: object) -> None:
        if not answers:
            answers.append(upload(client, project, "b.pb", graphdef(), **JSON))

    monkeypatch.setattr(api, "check_upload", check)
    assert upload(client, project, "a.pb", graphdef(), **JSON).status_code == 302
    expect_unavailable(answers[0], "is checking other uploads")
    assert [graph.name for graph in Graph.objects.all()] == ["a.pb"]
    assert upload(client, project, "c.pb", graphdef(), **JSON).status_code == 302, "its place is free again"


class FullSpool(io.BytesIO):
    """A spooled body for which the disk has no space."""

    def __init__(self, _max_bytes: int, dir: str) -> None:
        super().__init__()
        self.folder = Path(dir)

    def write(self, _content: object) -> int:
        assert self.folder.name == "incoming" and self.folder.is_dir()
        raise OSError(errno.ENOSPC, "No space left on device")


def sent_by(application: Any, path: str, body: bytes) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body of the answer to a POST."""
    scope = {"type": "http", "method": "POST", "path": path, "headers": [(b"accept", b"application/json")]}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(application(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


def test_a_body_without_space_in_the_data_folder_is_503(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.http.handler.OnceReadBody", FullSpool)
    status, headers, body = sent_by(asgi.application, "/projects/", b"name=x")
    assert (status, headers[b"retry-after"]) == (503, b"5")
    assert b"disk is full" in body


def test_a_database_that_is_away_leaves_the_answer_to_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_: object) -> bool:
        raise OperationalError("disk I/O error")

    monkeypatch.setattr("django.db.models.query.QuerySet.aexists", fail)
    path = "/projects/00000000-0000-0000-0000-000000000000/graphs/"
    limit_bytes = asyncio.run(upload_limit_bytes("POST", path))
    assert limit_bytes is not None and limit_bytes > settings.UPLOAD_LIMIT_BYTES


@pytest.mark.slow
def test_a_locked_database_is_503_and_pages_stay(around: Surroundings, project: Project) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no lock of the whole database")
    port = around.start_web()
    visitor = Visitor(port)
    assert visitor.read("/health/live")
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert project.name.encode() in visitor.read(f"/projects/{project.id}/")
        with pytest.raises(UnreachableError) as refused:
            visitor.send("/projects/", {"name": "Another"})
    assert refused.value.status == 503
    assert visitor.send("/projects/", {"name": "Another"})
