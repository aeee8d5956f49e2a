"""The live view: nothing missing, nothing twice, over lost connections and restarts of the server."""

import asyncio
import http.client
import json
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.db import connection
from django.test import Client

from engine import api
from tests.webapp.processes import Surroundings
from tests.webapp.scripted_engine import episode
from webapp.jobs.models import Event
from webapp.json_text import to_text
from webapp.pages.events import LARGEST_SEQ
from webapp.pages.runs import stream as live
from webapp.runs.models import Run


def store(run: Run, first: int, count: int) -> None:
    """Events as a worker stores them."""
    numbered = [api.NumberedEvent(seq, episode(seq, 1000.0 / seq)) for seq in range(first, first + count)]
    rows = [Event(job_id=run.id, seq=each.seq, type="episode", data=to_text(each.to_json())) for each in numbered]
    Event.objects.bulk_create(rows)
    Run.objects.filter(id=run.id).update(last_seq=first + count - 1, status=Run.RUNNING)


def end(run: Run) -> None:
    """The run ends."""
    Run.objects.filter(id=run.id).update(status=Run.DONE)


@dataclass(slots=True)
class Message:
    """One server-sent message."""

    event: str = ""
    id: str = ""
    data: str = ""
    comment: str = ""

    @property
    def seqs(self) -> list[int]:
        """Numbers of the events in it."""
        return [event["seq"] for event in json.loads(self.data)]


def messages(response: http.client.HTTPResponse) -> Iterator[Message]:
    """As a browser takes a stream apart."""
    message = Message()
    while line := response.readline():
        text = line.decode().removesuffix("\n")
        name, _, value = text.partition(": ")
        if not text:
            yield message
            message = Message()
        elif name in ("event", "id", "data"):
            setattr(message, name, value)
        else:
            message.comment = text


@pytest.fixture
def port(around: Surroundings) -> int:
    """Of a real server."""
    return around.start_web()


def open_stream(port: int, run: Run, *, last_event_id: str = "", query: str = "") -> http.client.HTTPResponse:
    """Connect as EventSource does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_event_id} if last_event_id else {})
    connection.request("GET", f"/runs/{run.id}/events{query}", headers=headers)
    return connection.getresponse()


def test_it_sends_what_is_stored_what_comes_and_the_end(port: int, run: Run) -> None:
    store(run, 1, 3)
    response = open_stream(port, run)
    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["Cache-Control"].startswith("no-cache")
    assert response.headers["X-Accel-Buffering"] == "no"
    assert response.headers["Content-Encoding"] is None
    stream = messages(response)
    assert next(stream).comment.startswith("retry: ")
    first = next(stream)
    assert (first.event, first.id, first.seqs) == ("events", "3", [1, 2, 3])
    stored = json.loads(run.events.get(seq=2).data)
    assert json.loads(first.data)[1] == stored
    store(run, 4, 2)
    assert next(stream).seqs == [4, 5]
    end(run)
    last = next(stream)
    assert (last.event, last.id, json.loads(last.data)) == ("status", "", {"status": "done", "error": ""})
    assert list(stream) == [], "then it closes"


@pytest.mark.parametrize(("last_event_id", "query"), [("3", ""), ("", "?after=3"), ("3", "?after=1")])
def test_it_goes_on_after_the_last_event_that_was_seen(port: int, run: Run, last_event_id: str, query: str) -> None:
    store(run, 1, 5)
    end(run)
    stream = messages(open_stream(port, run, last_event_id=last_event_id, query=query))
    next(stream)
    assert next(stream).seqs == [4, 5]
    assert next(stream).event == "status"


def test_a_run_that_has_ended_is_told_as_such_to_a_late_comer(port: int, run: Run) -> None:
    store(run, 1, 2)
    Run.objects.filter(id=run.id).update(status=Run.FAILED, error="It fits nowhere.")
    stream = messages(open_stream(port, run, last_event_id="2"))
    next(stream)
    assert json.loads(next(stream).data) == {"status": "failed", "error": "It fits nowhere."}


def test_a_run_that_is_deleted_ends_its_stream(port: int, run: Run) -> None:
    store(run, 1, 1)
    stream = messages(open_stream(port, run))
    next(stream)
    next(stream)
    run.delete()
    assert json.loads(next(stream).data)["status"] == "deleted"


def test_no_event_is_lost_or_doubled_over_kills_of_the_server(around: Surroundings, run: Run) -> None:
    """A writer stores 600 events while the server is killed twice; the browser comes back with its last number."""
    writer = threading.Thread(target=_write_slowly, args=(run, 600))
    writer.start()
    seen: list[int] = []
    kills = 0
    last = ""
    while last != "status":
        server, port = around.start_server()
        try:
            for message in messages(open_stream(port, run, last_event_id=str(seen[-1]) if seen else "")):
                last = message.event
                seen += message.seqs if message.event == "events" else []
                if kills < 2 and len(seen) > 150 * (kills + 1):
                    kills += 1
                    server.signal(signal.SIGKILL)
        except (http.client.HTTPException, OSError):
            continue
    writer.join()
    assert kills == 2
    assert seen == list(range(1, 601))


def _write_slowly(run: Run, count: int) -> None:
    for first in range(1, count, 20):
        store(run, first, 20)
        time.sleep(0.15)
    end(run)
    connection.close()


def test_a_long_past_comes_in_portions_and_not_in_a_flood(port: int, run: Run) -> None:
    store(run, 1, 1000)
    end(run)
    stream = messages(open_stream(port, run))
    next(stream)
    sizes = []
    while (message := next(stream)).event == "events":
        sizes.append(len(message.seqs))
    assert sizes == [250, 250, 250, 250]


def test_many_streams_at_once_do_not_stand_in_each_others_way(port: int, run: Run) -> None:
    store(run, 1, 1)
    streams = [messages(open_stream(port, run)) for _ in range(30)]
    for stream in streams:
        next(stream)
        assert next(stream).seqs == [1]
    store(run, 2, 1)
    for stream in streams:
        assert next(stream).seqs == [2]
    end(run)
    for stream in streams:
        assert next(stream).event == "status"


@pytest.mark.usefixtures("transactional_db")
def test_a_comment_keeps_a_quiet_stream_open(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert live.COMMENT_EVERY_SECONDS == 15
    monkeypatch.setattr(live, "COMMENT_EVERY_SECONDS", 0.0)
    monkeypatch.setattr(live, "LOOK_EVERY_SECONDS", 0.001)

    async def first_three() -> list[str]:
        stream = live.messages(run.id, 0)
        return [await anext(stream) for _ in range(3)]

    assert asyncio.run(first_three()) == ["retry: 2000\n\n", ": still here\n\n", ": still here\n\n"]


def test_the_same_events_come_from_the_replay(client: Client, run: Run) -> None:
    store(run, 1, 5)
    page = client.get(f"/runs/{run.id}/events.json?after=1&limit=3").json()
    assert [event["seq"] for event in page["events"]] == [2, 3, 4]
    assert (page["status"], page["last_seq"]) == ("running", 5)
    assert page["events"][0] == json.loads(run.events.get(seq=2).data)
    assert client.get(f"/runs/{run.id}/events.json?after=5").json()["events"] == []


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("after=abc", f"after: 'abc'; allowed: an integer from 0 to {LARGEST_SEQ}"),
        ("after=-1", f"after: '-1'; allowed: an integer from 0 to {LARGEST_SEQ}"),
        (f"after={LARGEST_SEQ + 1}", f"after: '{LARGEST_SEQ + 1}'; allowed: an integer from 0 to {LARGEST_SEQ}"),
        ("limit=0", "limit: '0'; allowed: an integer from 1 to 2000"),
        ("limit=1000000", "limit: '1000000'; allowed: an integer from 1 to 2000"),
    ],
)
def test_odd_numbers_are_refused(client: Client, run: Run, query: str, sentence: str) -> None:
    response = client.get(f"/runs/{run.id}/events.json?{query}", headers={"accept": "application/json"})
    assert response.status_code == 400
    assert response.json() == {"errors": {query.partition("=")[0]: [sentence]}}


def test_an_odd_last_event_id_is_refused(port: int, run: Run) -> None:
    assert open_stream(port, run, last_event_id="x").status == 400


def test_a_look_at_the_head_opens_no_stream(client: Client, run: Run) -> None:
    assert client.head(f"/runs/{run.id}/events").status_code == 405


def test_there_is_no_stream_of_a_run_that_does_not_exist(port: int, run: Run) -> None:
    run.delete()
    run.id = "00000000-0000-0000-0000-000000000000"
    assert open_stream(port, run).status == 404
