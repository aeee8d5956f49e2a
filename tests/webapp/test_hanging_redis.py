"""A Redis that hangs: it takes connections and answers nothing. No request waits for it."""

import queue
import threading
from collections.abc import Iterator

import pytest
from django.test import Client

from tests.supervisor.started import eventually
from tests.webapp.processes import Surroundings
from webapp.celery import app
from webapp.jobs import background, notices
from webapp.jobs.publishing import broker_fault
from webapp.pages.health import Writes
from webapp.runs.models import Run


@pytest.fixture
def in_background(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a web server."""
    monkeypatch.setattr(background, "_waiting", None)
    background.send_in_background()
    assert background._waiting is not None
    yield
    done = threading.Event()
    background.send(done.set)
    assert done.wait(60), "what waits is sent before the Redis ends"


@pytest.fixture
def hanging(around: Surroundings) -> Iterator[Surroundings]:
    around.start_redis()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("broker_url", "broker_read_url", "broker_write_url"):
            patch.setattr(app.conf, name, around.environment["REDIS_URL"])
        around.stop_redis()
        yield around
        around.stop_redis(go_on=True)


def test_a_run_is_started_while_it_hangs_and_its_message_comes_later(
    client: Client, run_of_blob: Run, hanging: Surroundings, in_background: None
) -> None:
    form = {"cluster": "2xK80", "method": "random", "evaluations": "20", "seed": "1"}
    for _ in range(3):
        assert client.post(f"/graphs/{run_of_blob.graph_id}/runs/", form).status_code == 302
    assert Run.objects.filter(status=Run.QUEUED).count() == 4
    assert broker_fault() != ""
    hanging.stop_redis(go_on=True)
    eventually(lambda: hanging.ask_redis("LLEN", "gpu") >= 1, "the last message has come")


def test_what_cannot_be_sent_for_long_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_waiting", queue.Queue(2))
    for _ in range(5):
        background.send(lambda: None)
    assert background._waiting is not None
    assert background._waiting.qsize() == 2


def test_a_redis_that_has_just_failed_is_not_asked_at_once(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Here there is none; a job that stores an event would wait for each notice."""
    tries: list[str] = []
    client = notices._client

    def counted(url: str) -> object:
        tries.append(url)
        return client(url)

    monkeypatch.setattr(notices, "_client", counted)
    monkeypatch.setattr(notices, "_next_try_at", {})
    for _ in range(5):
        notices._send([run.id])
    assert len(tries) == 1


def test_a_part_that_does_not_answer_is_not_asked_to_write_too() -> None:
    asked: list[str] = []

    def writer(part: str) -> str:
        asked.append(part)
        return "full"

    writes = Writes({"broker": lambda: writer("broker"), "disk": lambda: writer("disk")})
    assert writes.faults(away=["broker"]) == {"broker": "", "disk": "full"}
    assert asked == ["disk"]
