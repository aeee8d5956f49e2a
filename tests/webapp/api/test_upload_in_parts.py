"""A large file arrives in parts; an interrupted upload goes on where it stopped."""

import fcntl
import hashlib
import http.client
import json
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tests.webapp.api.cast import complete_upload
from tests.webapp.conftest import MemoryBroker
from tests.webapp.graph_files import graphdef
from tests.webapp.processes import Surroundings
from webapp.graphs.models import Graph
from webapp.jobs.purging import purge_step
from webapp.pages.graphs.upload_limits import upload_limit_bytes
from webapp.projects.models import Project
from webapp.uploads import receiving
from webapp.uploads.models import PartialUpload

CONTENT = graphdef()


def begin(client: Client, project: Project, **changes: Any) -> Any:
    asked = {"name": "large.pb", "bytes": len(CONTENT), **changes}
    return client.post(f"/api/v1/projects/{project.id}/uploads", asked, content_type="application/json")


def send(client: Client, upload_id: str, offset: int, part: bytes) -> Any:
    return client.put(
        f"/api/v1/uploads/{upload_id}",
        part,
        content_type="application/octet-stream",
        headers={"Upload-Offset": str(offset)},
    )


def make(client: Client, upload_id: str, **options: Any) -> Any:
    return client.post(f"/api/v1/uploads/{upload_id}/graph", options, content_type="application/json")


@pytest.mark.slow
def test_parts_become_a_graph_like_one_that_arrived_at_once(
    client: Client, project: Project, broker: MemoryBroker
) -> None:
    upload = begin(client, project, sha256=hashlib.sha256(CONTENT).hexdigest())
    assert upload.status_code == 201
    key, half = upload.json()["id"], len(CONTENT) // 2
    assert (upload.json()["offset"], upload.json()["part_bytes"]) == (0, receiving.PART_BYTES)
    assert send(client, key, 0, CONTENT[:half]).json() == {"offset": half}
    early = make(client, key)
    assert early.status_code == 409 and early.headers["Upload-Offset"] == str(half)
    assert client.get(f"/api/v1/uploads/{key}").json()["offset"] == half
    assert send(client, key, half, CONTENT[half:]).json() == {"offset": len(CONTENT)}
    graph = make(client, key, groups="2")
    assert graph.status_code == 202 and broker.messages("cpu") == [["cpu"]]
    row = Graph.objects.get(id=graph.json()["id"])
    assert (row.source_path.read_bytes(), row.name, row.own_options.groups) == (CONTENT, "large.pb", 2)
    assert row.content_hash == hashlib.sha256(CONTENT).hexdigest()
    assert client.get(f"/api/v1/uploads/{key}").status_code == 404
    while purge_step():
        pass
    assert row.source_path.exists()


def test_a_part_at_another_offset_is_a_conflict_that_says_the_right_one(client: Client, project: Project) -> None:
    key = begin(client, project).json()["id"]
    send(client, key, 0, CONTENT[:5])
    for offset in (0, 4, 6):
        answer = send(client, key, offset, b"abc")
        assert answer.status_code == 409 and answer.headers["Upload-Offset"] == "5"
    assert PartialUpload.objects.get().path.read_bytes() == CONTENT[:5]


@pytest.mark.slow
def test_what_a_killed_process_has_half_written_is_written_again(client: Client, project: Project) -> None:
    key = begin(client, project).json()["id"]
    send(client, key, 0, CONTENT[:5])
    with PartialUpload.objects.get().path.open("ab") as file:
        file.write(b"half of a part")
    assert send(client, key, 5, CONTENT[5:]).json() == {"offset": len(CONTENT)}
    assert make(client, key).status_code == 202
    assert Graph.objects.get().source_path.read_bytes() == CONTENT


@pytest.mark.parametrize("header", ["", "x", "-1", "1.0", "9" * 30])
def test_an_offset_is_a_number(header: str, client: Client, project: Project) -> None:
    key = begin(client, project).json()["id"]
    headers = {"Upload-Offset": header} if header else {}
    answer = client.put(f"/api/v1/uploads/{key}", b"x", content_type="application/octet-stream", headers=headers)
    assert answer.status_code == 400 and answer.json()["error"]["field"] == "Upload-Offset"


def test_more_bytes_than_announced_are_refused(client: Client, project: Project) -> None:
    key = begin(client, project, bytes=4).json()["id"]
    assert send(client, key, 0, b"12345").status_code == 413
    assert client.get(f"/api/v1/uploads/{key}").json()["offset"] == 0


def test_another_sum_than_announced_makes_no_graph(client: Client, project: Project) -> None:
    key = begin(client, project, sha256="ab" * 32).json()["id"]
    send(client, key, 0, CONTENT)
    answer = make(client, key)
    assert answer.status_code == 400 and "SHA-256" in answer.json()["error"]["message"]
    assert Graph.objects.count() == 0


@pytest.mark.slow
def test_a_file_that_is_no_graph_stays_an_upload(client: Client, project: Project) -> None:
    key = begin(client, project, bytes=3).json()["id"]
    send(client, key, 0, b"abc")
    assert make(client, key).status_code == 400
    assert client.get(f"/api/v1/uploads/{key}").json()["offset"] == 3
    assert Graph.objects.count() == 0


def test_two_parts_at_once_are_not_mixed(client: Client, project: Project) -> None:
    key = begin(client, project).json()["id"]
    send(client, key, 0, CONTENT[:5])
    with PartialUpload.objects.get().path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert send(client, key, 5, CONTENT[5:]).status_code == 409
        assert make(client, key).status_code == 409
    assert send(client, key, 5, CONTENT[5:]).status_code == 200


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"name": "a.exe"}, 400, "name"),
        ({"name": ""}, 400, "name"),
        ({"bytes": 0}, 400, "bytes"),
        ({"bytes": 2048}, 400, "bytes"),
        ({"bytes": "9"}, 422, "bytes"),
        ({"sha256": "xyz"}, 400, "sha256"),
    ],
)
def test_what_nothing_reads_is_refused_before_it_is_sent(
    changes: dict[str, Any], status: int, field: str, client: Client, project: Project, settings: Settings
) -> None:
    settings.UPLOAD_LIMIT_BYTES = 1024
    answer = begin(client, project, **changes)
    assert answer.status_code == status and answer.json()["error"]["field"] == field
    assert PartialUpload.objects.count() == 0


def test_a_project_has_so_many_uploads_at_once(
    client: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "MOST_AT_ONCE", 1)
    assert [begin(client, project).status_code for _ in range(2)] == [201, 413]


def test_an_upload_that_nobody_goes_on_with_is_removed(client: Client, project: Project) -> None:
    key = begin(client, project).json()["id"]
    send(client, key, 0, CONTENT[:5])
    path = PartialUpload.objects.get().path
    receiving.remove_expired_uploads()
    assert client.get(f"/api/v1/uploads/{key}").status_code == 200
    PartialUpload.objects.update(touched_at=timezone.now() - timedelta(hours=25))
    receiving.remove_expired_uploads()
    assert client.get(f"/api/v1/uploads/{key}").status_code == 404
    while purge_step():
        pass
    assert not path.exists() and PartialUpload.all_rows.count() == 0


@pytest.mark.slow
def test_measured_times_may_come_with_the_options(client: Client, real_graph: Graph) -> None:
    upload = complete_upload(real_graph)
    form = {"run_metadata": SimpleUploadedFile("times.pb", b"no times"), "groups": "2"}
    answer = client.post(f"/api/v1/uploads/{upload.id}/graph", form)
    assert answer.status_code == 400 and answer.json()["error"]["field"] == "run_metadata"


@pytest.mark.slow
def test_an_upload_that_breaks_off_at_the_real_server_goes_on(around: Surroundings, project: Project) -> None:
    port, content = around.start_web(), bytes(receiving.PART_BYTES) + b"the end"
    asked = json.dumps({"name": "large.pb", "bytes": len(content)}).encode()
    json_body = {"Content-Type": "application/json"}
    status, upload = ask(port, "POST", f"/api/v1/projects/{project.id}/uploads", asked, json_body)
    assert status == 201
    address, at_start = f"/api/v1/uploads/{upload['id']}", {"Upload-Offset": "0"}
    broken = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    broken.putrequest("PUT", address)
    broken.putheader("Content-Length", str(receiving.PART_BYTES))
    broken.putheader("Upload-Offset", "0")
    broken.endheaders()
    broken.send(content[: receiving.PART_BYTES // 2])
    broken.close()
    assert ask(port, "GET", address)[1]["offset"] == 0
    assert async_to_sync(upload_limit_bytes)("PUT", address) == receiving.PART_BYTES
    assert async_to_sync(upload_limit_bytes)("GET", address) is None
    assert ask(port, "PUT", address, content[: receiving.PART_BYTES], at_start) == (
        200,
        {"offset": receiving.PART_BYTES},
    )
    last = ask(port, "PUT", address, b"the end", {"Upload-Offset": str(receiving.PART_BYTES)})
    assert last == (200, {"offset": len(content)})
    assert PartialUpload.objects.get().path.read_bytes() == content


def ask(port: int, method: str, address: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Any:
    """(status, JSON) of a request of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, address, body, headers or {})
    response = connection.getresponse()
    return response.status, json.loads(response.read())
