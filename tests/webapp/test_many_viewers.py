"""Many viewers of one run: they share reads and texts, and take no threads that pages need."""

import asyncio
import gzip
import threading
import time
import uuid
from dataclasses import dataclass, field

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from engine import api
from tests.webapp.scripted_engine import episode
from webapp.capacity import a_slot_to_explain
from webapp.http import handler
from webapp.http.handler import EXPLAINING, PAGES, THREADS, WAITING, PooledHandler, in_threads
from webapp.jobs import stream as live
from webapp.jobs.models import Event
from webapp.jobs.notices import listeners
from webapp.jobs.shared_texts import SharedTexts
from webapp.json_field import to_text
from webapp.pages import events
from webapp.runs.models import Run

VIEWERS = 40


@dataclass(eq=False)
class Counted:
    """A job at work with one event for each notice; it counts the reads."""

    job_id: uuid.UUID = field(default_factory=uuid.uuid4)
    what: str = "run"
    rest_seconds: float = 0.0
    last_seq: int = 1
    reads: int = 0

    def job_ids(self) -> list[uuid.UUID]:
        return [self.job_id]

    def look(self, seq: int, limit: int) -> live.Look:
        self.reads += 1
        stored = [(number, f'{{"seq":{number}}}') for number in range(seq + 1, self.last_seq + 1)]
        return live.Look({"status": "running", "error": ""}, ended=False, last_seq=self.last_seq, events=stored[:limit])


def test_the_viewers_of_a_run_share_each_read() -> None:
    source = Counted()

    async def watch() -> list[int]:
        streams = [live.messages(source, 0) for _ in range(VIEWERS)]
        for _ in range(3):  # retry, the first event, the status
            await asyncio.gather(*map(anext, streams))
        reads = [source.reads]
        for seq in (2, 3):
            news = [asyncio.ensure_future(anext(stream)) for stream in streams]
            while listeners.rings < seq or not all(task.done() for task in news):
                source.last_seq = seq
                listeners.ring(source.job_id)
                await asyncio.sleep(0.05)
            assert {task.result() for task in news} == {
                f'id: {seq}\nevent: events\ndata: [{{"seq":{seq}}}]\n\n'.encode()
            }
            reads.append(source.reads)
        return reads

    reads = asyncio.run(watch())
    assert reads[-1] < VIEWERS, "far fewer reads than viewers"


def test_a_read_that_began_before_the_notice_is_not_shared() -> None:
    """Otherwise a viewer would wait for a notice that has already come."""
    source = Counted()

    async def two() -> tuple[object, object]:
        reads = live.SharedReads()
        with listeners.bell([source.job_id]):
            early = asyncio.ensure_future(reads.portion(source, 0))
            await asyncio.sleep(0)
            source.last_seq = 2
            listeners.ring(source.job_id)
            late = await reads.portion(source, 0)
            return await early, late

    asyncio.run(two())
    assert source.reads == 2


def test_texts_are_kept_up_to_a_size_and_the_oldest_is_forgotten() -> None:
    texts: SharedTexts[str] = SharedTexts(10)
    texts.keep("a", "aaaa", 4)
    texts.keep("b", "bbbb", 4)
    assert texts.get("a") == "aaaa"
    texts.keep("c", "cccc", 4)
    assert [texts.get(key) for key in "abc"] == ["aaaa", None, "cccc"]
    texts.keep("d", "more than there is room for", 27)
    assert [texts.get(key) for key in "acd"] == ["aaaa", "cccc", None], "it takes no other one's place"


@pytest.fixture
def long_run(run: Run) -> Run:
    """An ended run with more than one page of events."""
    numbered = [api.NumberedEvent(seq, episode(seq, 1000.0 / seq)) for seq in range(1, 2101)]
    Event.objects.bulk_create(
        [Event(job_id=run.id, seq=each.seq, type="episode", data=to_text(each.to_json())) for each in numbered]
    )
    Run.objects.filter(id=run.id).update(last_seq=2100, status=Run.DONE)
    return run


def test_a_page_of_events_is_made_once_for_all_viewers(client: Client, long_run: Run) -> None:
    address = f"/runs/{long_run.id}/events.json?after=0&limit=2000"
    first = client.get(address)
    assert [event["seq"] for event in first.json()["events"]] == list(range(1, 2001))
    Event.objects.filter(job_id=long_run.id, seq=1000).delete()
    assert client.get(address).content == first.content, "not read again"
    Run.objects.filter(id=long_run.id).update(last_seq=2101)
    assert len(client.get(address).json()["events"]) == 2000, "a run with further events is"
    assert len(client.get(f"/runs/{long_run.id}/events.json?after=1500").json()["events"]) == 500


def test_a_browser_keeps_the_pages_of_an_ended_run_and_asks_whether_they_are_the_same(
    client: Client, long_run: Run
) -> None:
    address = f"/runs/{long_run.id}/events.json?after=0&limit=2000"
    page = client.get(address)
    assert page["Cache-Control"] == "private, no-cache"
    unchanged = client.get(address, headers={"if-none-match": page["ETag"]})
    assert (unchanged.status_code, unchanged.content, unchanged["ETag"]) == (304, b"", page["ETag"])
    other = client.get(f"/runs/{long_run.id}/events.json?after=1&limit=2000", headers={"if-none-match": page["ETag"]})
    assert other.status_code == 200
    Run.objects.filter(id=long_run.id).update(status=Run.RUNNING)
    live_page = client.get(address, headers={"if-none-match": page["ETag"]})
    assert (live_page.status_code, live_page.json()["status"]) == (200, "running")
    assert "no-store" in live_page["Cache-Control"] and "ETag" not in live_page
    long_run.delete()
    assert client.get(address, headers={"if-none-match": page["ETag"]}).status_code == 404


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [
        ("gzip", True),
        ("br, gzip;q=0.5", True),
        ("", False),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip; q=0.0, br", False),
    ],
)
def test_a_large_page_of_events_is_compressed_for_who_takes_that(
    client: Client, long_run: Run, accepted: str, is_compressed: bool
) -> None:
    address = f"/runs/{long_run.id}/events.json?after=0&limit=2000"
    plain, page = client.get(address), client.get(address, headers={"accept-encoding": accepted})
    assert (page.get("Content-Encoding") == "gzip") == is_compressed
    content = gzip.decompress(page.content) if is_compressed else page.content
    assert content == plain.content
    assert page["Vary"] == "Accept-Encoding"
    assert (page["ETag"] != plain["ETag"]) == is_compressed
    assert len(page.content) < len(plain.content) / 4 or not is_compressed


def test_a_small_page_of_events_is_never_compressed(client: Client, long_run: Run) -> None:
    page = client.get(f"/runs/{long_run.id}/events.json?after=2090", headers={"accept-encoding": "gzip"})
    assert "Content-Encoding" not in page and len(page.json()["events"]) == 10


def test_large_pages_of_events_have_bounded_room(
    client: Client, long_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: SharedTexts[bytes] = SharedTexts(1024**2)
    monkeypatch.setattr(events, "_pages", kept)
    for after in range(0, 2000, 20):
        client.get(f"/runs/{long_run.id}/events.json?after={after}&limit=2000")
    assert kept._bytes <= 1024**2


_release = threading.Event()
_names: set[str] = set()


def _quick(_request: HttpRequest) -> HttpResponse:
    _names.add(threading.current_thread().name)
    return HttpResponse("quick")


@in_threads(WAITING)
def _slow(_request: HttpRequest) -> HttpResponse:
    assert _release.wait(60)
    return HttpResponse("slow")


_lock = threading.Lock()
_explaining: list[int] = [0]
"""how many requests explain, after each change"""


def _note_explaining(change: int) -> None:
    with _lock:
        _explaining.append(_explaining[-1] + change)


def _explain() -> HttpResponse:
    _note_explaining(1)
    time.sleep(0.005)
    _note_explaining(-1)
    return HttpResponse("explained")


@in_threads(EXPLAINING)
def _explained(_request: HttpRequest) -> HttpResponse:
    return _explain()


@in_threads(WAITING)
def _explained_at_last(_request: HttpRequest) -> HttpResponse:
    with a_slot_to_explain():
        return _explain()


urlpatterns = [
    path("quick/", _quick),
    path("slow/", _slow),
    path("explained/", _explained),
    path("explained-at-last/", _explained_at_last),
]


async def answer(application: PooledHandler, address: str) -> bytes:
    """The body of the answer to a GET."""
    scope = {"type": "http", "method": "GET", "path": address, "headers": [(b"host", b"localhost")]}
    asked = False
    body = b""

    async def receive() -> dict[str, object]:
        nonlocal asked
        if asked:
            await asyncio.sleep(3600)
        asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, object]) -> None:
        nonlocal body
        part = message.get("body", b"")
        assert isinstance(part, bytes)
        body += part

    await application(scope, receive, send)  # type: ignore[arg-type]
    return body


@pytest.mark.urls(__name__)
@pytest.mark.usefixtures("transactional_db")
def test_pages_are_answered_by_few_threads_while_other_requests_wait() -> None:
    _release.clear()
    _names.clear()

    async def load() -> list[bytes]:
        application = PooledHandler()
        waiting = [asyncio.ensure_future(answer(application, "/slow/")) for _ in range(THREADS[WAITING] + 5)]
        async with asyncio.timeout(60):
            pages = await asyncio.gather(*(answer(application, "/quick/") for _ in range(100)))
        assert not any(task.done() for task in waiting)
        _release.set()
        assert set(await asyncio.gather(*waiting)) == {b"slow"}
        return pages

    assert set(asyncio.run(load())) == {b"quick"}
    assert 1 <= len(_names) <= THREADS[PAGES]


@pytest.mark.urls(__name__)
@pytest.mark.usefixtures("transactional_db")
def test_requests_that_wait_first_explain_in_the_slots_of_those_that_only_explain() -> None:
    async def load() -> list[bytes]:
        application = PooledHandler()
        addresses = ["/explained/", "/explained-at-last/"] * 10
        return await asyncio.gather(*(answer(application, address) for address in addresses))

    assert set(asyncio.run(load())) == {b"explained"}
    assert max(_explaining) == THREADS[EXPLAINING]


def test_every_kind_of_request_has_threads_of_its_own() -> None:
    assert len({id(threads) for threads in handler._threads.values()}) == len(THREADS)
