"""The live view: nothing missing, nothing twice, over lost connections and restarts of the server."""

import asyncio
import http.client
import json
import signal
import threading
import time
import uuid
from dataclasses import dataclass, field

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import AsyncClient, Client

from engine import api
from tests.webapp.processes import Surroundings
from tests.webapp.scripted_engine import episode
from tests.webapp.streams import messages, open_stream
from webapp.graphs.models import Graph
from webapp.jobs import stream as live
from webapp.jobs.models import Event
from webapp.jobs.notices import announce, listeners
from webapp.json_field import to_text
from webapp.pages.events import LARGEST_SEQ
from webapp.runs.models import Run


def store(run: Run, first: int, count: int) -> None:
    """Events as a worker stores them."""
    numbered = [api.NumberedEvent(seq, episode(seq, 1000.0 / seq)) for seq in range(first, first + count)]
    rows = [Event(job_id=run.id, seq=each.seq, type="episode", data=to_text(each.to_json())) for each in numbered]
    Event.objects.bulk_create(rows)
    Run.objects.filter(id=run.id).update(last_seq=first + count - 1, status=Run.RUNNING)
    announce(run.id)


def end(run: Run) -> None:
    """The run ends."""
    Run.objects.filter(id=run.id).update(status=Run.DONE)
    announce(run.id)


@pytest.fixture
def port(around: Surroundings) -> int:
    """Of a real server."""
    around.start_redis()
    return around.start_web()


def open_run(port: int, run: Run, *, last_event_id: str = "", query: str = "") -> http.client.HTTPResponse:
    """The stream of a run."""
    return open_stream(port, f"/runs/{run.id}/events{query}", last_event_id)


def test_it_sends_what_is_stored_what_comes_and_the_end(port: int, run: Run) -> None:
    store(run, 1, 3)
    response = open_run(port, run)
    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["Cache-Control"].startswith("no-cache")
    assert response.headers["X-Accel-Buffering"] == "no"
    assert response.headers["Content-Encoding"] is None
    stream = messages(response)
    assert next(stream).comment.startswith("retry: ")
    first = next(stream)
    assert (first.event, first.id, first.seqs) == ("events", "3", [1, 2, 3])
    status = next(stream)
    assert (status.event, status.id, json.loads(status.data)) == ("status", "", {"status": "running", "error": ""})
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
    stream = messages(open_run(port, run, last_event_id=last_event_id, query=query))
    next(stream)
    assert next(stream).seqs == [4, 5]
    assert next(stream).event == "status"


def test_a_run_that_has_ended_is_reported_as_such_to_a_late_comer(port: int, run: Run) -> None:
    store(run, 1, 2)
    Run.objects.filter(id=run.id).update(status=Run.FAILED, error="It fits nowhere.")
    stream = messages(open_run(port, run, last_event_id="2"))
    next(stream)
    assert json.loads(next(stream).data) == {"status": "failed", "error": "It fits nowhere."}


def test_a_run_that_is_deleted_ends_its_stream(port: int, run: Run) -> None:
    store(run, 1, 1)
    stream = messages(open_run(port, run))
    assert [next(stream).event for _ in range(3)] == ["", "events", "status"]
    run.delete()
    assert json.loads(next(stream).data)["status"] == "deleted"


def test_no_event_is_lost_or_doubled_over_kills_of_the_server(around: Surroundings, run: Run) -> None:
    """A writer stores 600 events while the server is killed twice; the browser comes back with its last number."""
    around.start_redis()
    writer = threading.Thread(target=_write_slowly, args=(run, 600))
    writer.start()
    seen: list[int] = []
    kills = 0
    last = ""
    while last != "done":
        server, port = around.start_server()
        try:
            for message in messages(open_run(port, run, last_event_id=str(seen[-1]) if seen else "")):
                last = json.loads(message.data)["status"] if message.event == "status" else ""
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
    stream = messages(open_run(port, run))
    next(stream)
    sizes = []
    while (message := next(stream)).event == "events":
        sizes.append(len(message.seqs))
    assert sizes == [250, 250, 250, 250]


def test_many_streams_at_once_do_not_stand_in_each_others_way(port: int, run: Run) -> None:
    store(run, 1, 1)
    streams = [messages(open_run(port, run)) for _ in range(30)]
    for stream in streams:
        next(stream)
        assert next(stream).seqs == [1]
        assert next(stream).event == "status"
    store(run, 2, 1)
    for stream in streams:
        assert next(stream).seqs == [2]
    end(run)
    for stream in streams:
        assert next(stream).event == "status"


@pytest.mark.usefixtures("transactional_db")
def test_a_stream_looks_by_itself_where_notices_are_lost_and_a_comment_keeps_it_open(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert live.LOOK_EVERY_SECONDS == 15
    monkeypatch.setattr(live, "LOOK_EVERY_SECONDS", 0.01)

    async def first() -> list[str | bytes]:
        stream = live.messages(live.JobEvents(Run, run.id, "run"), 0)
        begun = [await anext(stream) for _ in range(3)]
        await sync_to_async(end)(run)
        return begun + [message async for message in stream if message != ": still here\n\n"]

    status = 'event: status\ndata: {"status":"%s","error":""}\n\n'
    assert asyncio.run(first()) == ["retry: 2000\n\n", status % "queued", ": still here\n\n", status % "done"]


@pytest.mark.usefixtures("transactional_db")
def test_a_graph_streams_how_far_it_has_been_read_until_it_is_ready(graph: Graph) -> None:
    def set_progress(**columns: object) -> None:
        Graph.objects.filter(id=graph.id).update(**columns)
        listeners.ring(graph.id)

    async def all_messages() -> list[str | bytes]:
        set_now = sync_to_async(set_progress)
        await set_now(status=Graph.READING, stage="estimating the costs", stage_done=3, stage_total=7)
        stream = live.messages(live.JobStages(Graph, graph.id, "graph", rest_seconds=0.0), 0)
        begun = [await anext(stream) for _ in range(2)]
        await set_now(stage_done=5)
        begun.append(await anext(stream))
        await set_now(status=Graph.READY)
        return begun + [message async for message in stream]

    said = [json.loads(str(message).partition("data: ")[2]) for message in asyncio.run(all_messages())[1:]]
    assert [(each["status"], each["done"], each["total"]) for each in said] == [
        ("reading", 3, 7),
        ("reading", 5, 7),
        ("ready", 0, 0),
    ]


@dataclass(eq=False)
class Quiet:
    """A job to which nothing happens; it counts who looks."""

    job_id: uuid.UUID = field(default_factory=uuid.uuid4)
    what: str = "run"
    rest_seconds: float = 0.0
    looks: int = 0

    def job_ids(self) -> list[uuid.UUID]:
        return [self.job_id]

    def look(self, *_: int) -> live.Look:
        self.looks += 1
        return live.Look({"status": "queued", "error": ""}, ended=False, last_seq=0)


def test_nobody_asks_the_database_while_nothing_happens() -> None:
    source = Quiet()

    async def watch() -> tuple[int, int, int]:
        stream = live.messages(source, 0)
        [await anext(stream) for _ in range(2)]
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.3)
        before = source.looks
        listeners.ring(source.job_id)
        async with asyncio.timeout(30):
            while source.looks == before:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        waiting.cancel()
        return before, source.looks, listeners.count

    assert asyncio.run(watch()) == (1, 2, 1)
    assert listeners.count == 0


@pytest.mark.usefixtures("transactional_db")
def test_more_viewers_than_the_server_takes_are_sent_to_pages(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.pages.events.MOST_STREAMS", 0)
    response = asyncio.run(AsyncClient().get(f"/runs/{run.id}/events", headers={"accept": "application/json"}))
    assert response.status_code == 503
    assert response.json() == {"errors": {"": ["0 streams are open already; events.json has the same events."]}}


def test_news_come_at_once_again_after_redis_was_away(
    around: Surroundings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    around.start_redis()
    port = around.start_web()
    store(run, 1, 1)
    stream = messages(open_run(port, run))
    assert [next(stream).event for _ in range(3)] == ["", "events", "status"]
    around.kill_redis()
    store(run, 2, 1)  # no notice can be sent
    around.start_redis()
    assert next(stream).seqs == [2], "whoever listens again looks"


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
    assert open_run(port, run, last_event_id="x").status == 400


def test_a_look_at_the_head_opens_no_stream(client: Client, run: Run) -> None:
    assert client.head(f"/runs/{run.id}/events").status_code == 405


def test_there_is_no_stream_of_a_run_that_does_not_exist(port: int, run: Run) -> None:
    run.delete()
    run.id = "00000000-0000-0000-0000-000000000000"
    assert open_run(port, run).status == 404
