"""Answers that are refused, lost or late, and what the client makes of them."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import placeto
import pytest
from placeto.errors import ClientError, InfeasibleError, ServerError
from placeto.remote.connection import Connection, LostError
from placeto.remote.login import Login

from tests.client.scripted_server import Answer, Asked, Script, Scripted, scripted

PROJECT = {"id": "1", "name": "Mine", "role": "owner", "created_at": "2026-11-29T16:00:00.123456Z"}
BUSY = {"error": {"code": "unavailable", "message": "Try again.", "field": None}}
LOST = Answer(body=PROJECT, lost_after=-1)


class Talk:
    """A connection to a scripted server, and how long it has waited."""

    def __init__(self, server: Scripted) -> None:
        self.server = server
        self.waits: list[float] = []
        self.connection = Connection(Login(server.address, None), sleep=self.waits.append)

    def answers_once(self) -> None:
        """A first answer, so that what is lost later is no wrong address."""
        self.connection.get("/me")
        self.server.asked.clear()


@contextmanager
def talk(script: Script) -> Iterator[Talk]:
    """After a first answer the script counts from 0."""
    with scripted(lambda asked, number: script(asked, number) if asked.path != "/me" else Answer(body={})) as server:
        talking = Talk(server)
        talking.answers_once()
        yield talking


def refused(status: int, code: str, message: str, field: str | None = None) -> Answer:
    return Answer(status, {"error": {"code": code, "message": message, "field": field}})


def test_a_refusal_has_code_sentence_field_and_status() -> None:
    answer = refused(400, "bad_request", "2xZZZ is no cluster.", "cluster")
    with talk(lambda _asked, _number: answer) as talking, pytest.raises(ServerError) as caught:
        talking.connection.make("/graphs/1/runs", json={})
    error = caught.value
    assert (error.status, error.code, error.message, error.field) == (400, "bad_request", str(error), "cluster")
    assert str(error) == "2xZZZ is no cluster." and isinstance(error, ClientError)
    assert talking.waits == []


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_server_is_asked_again_when_it_says(status: int) -> None:
    busy = Answer(status, BUSY, {"Retry-After": "7"})
    with talk(lambda _asked, number: busy if number < 2 else Answer(201, PROJECT)) as talking:
        assert talking.connection.make("/projects", json={"name": "Mine"}) == PROJECT
    assert [wait == 7 for wait in talking.waits] == [True, True]
    assert len({asked.headers["idempotency-key"] for asked in talking.server.asked}) == 1


def test_patience_ends() -> None:
    with talk(lambda _asked, _number: Answer(503, BUSY, {"Retry-After": "50"})) as talking:
        with pytest.raises(ServerError) as caught:
            talking.connection.get("/projects")
        assert (caught.value.code, talking.waits) == ("unavailable", [50, 50])


def test_waits_grow_while_a_server_says_nothing_of_them() -> None:
    with talk(lambda _asked, _number: Answer(503, BUSY)) as talking, pytest.raises(ServerError):
        talking.connection.get("/projects")
    assert 5 <= len(talking.waits) <= 12 and sum(talking.waits) <= 120
    assert talking.waits[0] < 1 < talking.waits[3]


@pytest.mark.parametrize("value", ["soon", "Wed, 21 Oct 2026 07:28:00 GMT", "-5", "1e9", "٣", ""])
def test_an_odd_wait_counts_as_none(value: str) -> None:
    busy = Answer(503, BUSY, {"Retry-After": value.encode("utf-8").decode("latin-1")})
    with talk(lambda _asked, number: Answer(body={}) if number else busy) as talking:
        talking.connection.get("/projects")
    assert talking.waits[0] < 1


def test_what_makes_something_is_sent_again_with_the_same_key_and_another_thing_with_another() -> None:
    with talk(lambda _asked, number: LOST if number == 0 else Answer(201, PROJECT)) as talking:
        talking.connection.make("/projects", json={"name": "Mine"})
        talking.connection.make("/projects", json={"name": "Mine"})
    first, again, other = (asked.headers["idempotency-key"] for asked in talking.server.asked)
    assert first == again != other


def test_an_answer_that_breaks_off_is_asked_for_again() -> None:
    half = Answer(body=PROJECT, lost_after=9)
    with talk(lambda _asked, number: half if number == 0 else Answer(body=PROJECT)) as talking:
        assert talking.connection.get("/projects/1") == PROJECT


def test_without_a_first_answer_nothing_is_sent_again() -> None:
    with scripted(lambda _asked, _number: LOST) as server, pytest.raises(LostError, match="does not answer"):
        Connection(Login(server.address, None)).get("/me")
    assert len(server.asked) == 1


def test_what_was_deleted_by_a_request_whose_answer_was_lost_is_deleted() -> None:
    gone = refused(404, "not_found", "This run does not exist.")
    with talk(lambda _asked, number: LOST if number == 0 else gone) as talking:
        talking.connection.delete("/runs/1")
    with talk(lambda _asked, _number: gone) as talking, pytest.raises(ServerError, match="does not exist"):
        talking.connection.delete("/runs/1")


def test_lists_are_read_page_by_page_up_to_a_limit() -> None:
    def page(asked: Asked, _number: int) -> Answer:
        query = dict(re.findall(r"(\w+)=(\w+)", asked.path))
        first, limit = int(query.get("after", 0)), int(query.get("limit", 3))
        items = [{"id": str(number)} for number in range(first, min(first + limit, 7))]
        return Answer(body={"items": items, "next": str(first + limit) if first + limit < 7 else None})

    with talk(page) as talking:
        assert [row["id"] for row in talking.connection.all_of("/graphs")] == list("0123456")
        assert [row["id"] for row in talking.connection.all_of("/graphs", 4)] == list("0123")
        assert [row["id"] for row in talking.connection.all_of("/graphs", 0)] == []


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "placed.pb").write_bytes(b"before")
    refusal = refused(409, "conflict", "There is no GraphDef to write.")
    with talk(lambda _asked, _number: refusal) as talking, pytest.raises(ServerError):
        talking.connection.download("/file", tmp_path / "placed.pb")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("placed.pb", b"before")]
    whole = bytes(range(256)) * 999
    broken = Answer(body=whole, lost_after=100_000)
    with talk(lambda _asked, number: broken if number == 0 else Answer(body=whole)) as talking:
        talking.connection.download("/file", tmp_path / "placed.pb")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("placed.pb", whole)]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with talk(lambda _asked, _number: Answer(body=b"x")) as talking, pytest.raises(OSError) as caught:
        talking.connection.download("/file", tmp_path / "absent" / "placed.pb")
    assert caught.value.filename == str(tmp_path / "absent" / "placed.pb")


def test_a_server_that_has_moved_is_named_and_gets_no_token() -> None:
    moved = Answer(301, headers={"Location": "https://elsewhere.example/api/v1/me"})
    with scripted(lambda _asked, _number: moved) as server, pytest.raises(ServerError, match="sends on to https://el"):
        placeto.Client(server.address, "plx_token").me()
    assert len(server.asked) == 1


@pytest.mark.parametrize("body", [b"<html>Bad gateway", b"{}", b'{"error": "x"}', b"[]", b"\xff", b""])
def test_an_error_of_something_else_is_told_apart(body: bytes) -> None:
    with talk(lambda _asked, _number: Answer(500, body)) as talking, pytest.raises(ServerError) as caught:
        talking.connection.get("/projects")
    assert caught.value.code == "bad_answer" and "500" in str(caught.value)


def client_of(server: Scripted) -> placeto.Client:
    return placeto.Client(server.address)


def listed(*projects: dict[str, Any]) -> Script:
    """A server with these projects, which makes others."""

    def answer(asked: Asked, _number: int) -> Answer:
        if asked.method == "POST":
            return Answer(201, {**PROJECT, **json.loads(asked.body)})
        return Answer(body={"items": list(projects), "next": None})

    return answer


def test_a_project_is_found_by_name_or_id() -> None:
    with scripted(listed(PROJECT, {**PROJECT, "id": "2", "name": "Ours"})) as server:
        client = client_of(server)
        assert client.project("Ours").id == client.project("2").id == "2"
        with pytest.raises(ClientError, match="there is no project 'Theirs'"):
            client.project("Theirs")


def test_two_projects_of_one_name_are_not_chosen_from() -> None:
    with scripted(listed(PROJECT, {**PROJECT, "id": "2"})) as server, pytest.raises(ClientError, match="2 projects"):
        client_of(server).project("Mine")


def test_a_graph_without_room_is_infeasible() -> None:
    refusal = refused(422, "unprocessable", "The variables take 1 TB.", "cluster")
    with scripted(lambda _asked, _number: refusal) as server, pytest.raises(InfeasibleError, match="take 1 TB"):
        client_of(server).start("1", "2xK80")


@pytest.mark.parametrize("field", [float("nan"), {1, 2}, b"x"])
def test_a_field_that_is_not_of_json_is_refused_here(field: object) -> None:
    with scripted(lambda _asked, _number: Answer()) as server:
        with pytest.raises(ClientError, match="a field is none of JSON"):
            client_of(server).start("1", "2xK80", seconds=field)
        assert server.asked == []
