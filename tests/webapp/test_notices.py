"""A notice goes out with everything that changes a job, once it is committed; without Redis nothing stands still."""

import threading
import uuid
from collections.abc import Callable, Iterator

import pytest
from django.db import transaction
from redis import Redis

from tests.webapp.processes import Surroundings
from webapp.broker_address import redis_address
from webapp.jobs import notices
from webapp.jobs.cancelling import cancel
from webapp.jobs.claim import Claim
from webapp.jobs.deletion import delete
from webapp.jobs.reaper import give_back_all_of
from webapp.runs.models import Run

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[uuid.UUID]]:
    """The ids of which a notice was sent."""
    found: list[uuid.UUID] = []
    monkeypatch.setattr(notices, "_send", found.extend)
    yield found


def _claimed(run: Run) -> Claim[Run]:
    claim = Claim.take(Run, run.id)
    assert claim is not None
    return claim


def _give_back(run: Run) -> None:
    Run.objects.filter(id=run.id).update(worker="w")
    give_back_all_of("w")


def _store(run: Run) -> None:
    Claim(Run, run.id, _token(run)).update(evaluations_used=3)


def _end(run: Run) -> None:
    Claim(Run, run.id, _token(run)).end(Run.DONE)


def _token(run: Run) -> uuid.UUID:
    assert run.claim is not None
    return run.claim


CHANGES: dict[str, tuple[bool, Callable[[Run], object]]] = {
    "it is taken": (False, _claimed),
    "something is stored": (True, _store),
    "it ends": (True, _end),
    "it is cancelled": (False, cancel),
    "its worker is asked to cancel it": (True, cancel),
    "it is given back": (True, _give_back),
    "it is deleted": (False, delete),
}
"""what happens → whether a worker has it, and how it is done"""


@pytest.mark.parametrize("name", CHANGES)
def test_whoever_changes_a_job_announces_it_and_counts_the_change(run: Run, sent: list[uuid.UUID], name: str) -> None:
    working, change = CHANGES[name]
    if working:
        _claimed(run)
    sent.clear()
    run.refresh_from_db()
    revision = run.revision
    change(run)
    assert sent == [run.id]
    assert list(Run.objects.values_list("revision", flat=True)) in ([], [revision + 1])


def test_a_heartbeat_is_no_news(run: Run, sent: list[uuid.UUID]) -> None:
    claim = _claimed(run)
    sent.clear()
    claim.update()
    assert sent == []


def test_what_is_rolled_back_is_not_announced(run: Run, sent: list[uuid.UUID]) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        _claimed(run)
        assert sent == []
        raise ZeroDivisionError
    assert sent == []


def test_a_job_goes_on_where_redis_is_away(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    assert _claimed(run).cancel_requested() is False
    assert "Redis takes no notices; viewers look by themselves" in caplog.text


def test_a_notice_arrives_after_the_commit(around: Surroundings, run: Run) -> None:
    around.start_redis()
    channel = Redis.from_url(redis_address(around.environment["REDIS_URL"])).pubsub()  # type: ignore[no-untyped-call]
    channel.subscribe(notices.CHANNEL)
    assert channel.get_message(timeout=30)["type"] == "subscribe"
    claim = threading.Thread(target=_claimed, args=(run,))
    claim.start()
    claim.join()
    assert channel.get_message(timeout=30)["data"].decode() == run.id.hex
    channel.close()
