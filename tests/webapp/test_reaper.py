"""The reaper gives back what dead workers left, and publishes what has no message."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now
from kombu.exceptions import OperationalError
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.webapp.conftest import MemoryBroker
from webapp.graphs.models import Graph
from webapp.hooks.models import Delivery
from webapp.jobs import reaper
from webapp.jobs.cancelling import cancel
from webapp.jobs.claim import WORKER_VARIABLE, Claim, ClaimLostError
from webapp.jobs.publishing import publish
from webapp.measuring.models import Calibration, Profile, StepMeasurement
from webapp.plans.models import PlanSearch
from webapp.policies.models import Policy
from webapp.runs.models import Run

STALE = timedelta(seconds=settings.STALE_AFTER_SECONDS + 1)
MOST_LOSSES = reaper.TIMES_WITHOUT_STATE * settings.MOST_ATTEMPTS
FRESH = timedelta(seconds=settings.STALE_AFTER_SECONDS - 5)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaper, "SECOND_LOOK_AFTER_SECONDS", 0.01)


def claimed(run: Run, age: timedelta, **columns: object) -> Claim[Run]:
    """A claim whose last heartbeat is `age` old."""
    claim = Claim.take(Run, run.id)
    assert claim is not None
    Run.objects.filter(id=run.id).update(heartbeat_at=Now() - age, **columns)
    return claim


def test_it_queues_a_run_without_a_heartbeat_again(run: Run) -> None:
    claim = claimed(run, STALE)
    assert reaper.reap(Run) == 1
    run.refresh_from_db()
    assert (run.status, run.claim, run.attempts) == (Run.QUEUED, None, 1)
    with pytest.raises(ClaimLostError):
        claim.update()


def test_it_leaves_a_run_with_a_heartbeat_alone(run: Run) -> None:
    claim = claimed(run, FRESH)
    assert reaper.reap(Run) == 0
    claim.update()


def test_a_worker_that_beats_before_the_second_look_keeps_its_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = claimed(run, STALE)
    monkeypatch.setattr("webapp.jobs.reaper.time.sleep", lambda _: claim.update())
    assert reaper.reap(Run) == 0
    claim.update()


def test_a_heartbeat_far_in_the_future_is_none(run: Run) -> None:
    claimed(run, -STALE)
    assert reaper.reap(Run) == 1


def test_it_leaves_runs_that_nobody_works_on_alone(run: Run) -> None:
    Run.objects.filter(id=run.id).update(heartbeat_at=Now() - STALE)
    assert reaper.reap(Run) == 0
    Run.objects.filter(id=run.id).update(status=Run.DONE)
    assert reaper.reap(Run) == 0


def test_too_many_attempts_are_a_failure_with_a_sentence(run: Run) -> None:
    claimed(run, STALE, fruitless_attempts=MOST_LOSSES)
    reaper.reap(Run)
    run.refresh_from_db()
    assert run.status == Run.FAILED
    assert run.error == (
        "Its worker stopped unexpectedly 15 times without any progress in between; it will not be tried again."
    )
    assert run.finished_at is not None


def test_a_run_that_was_to_be_cancelled_is_cancelled(run: Run) -> None:
    claimed(run, STALE, cancel_requested=True)
    reaper.reap(Run)
    run.refresh_from_db()
    assert run.status == Run.CANCELLED


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], *, before: bool) -> None:
    """`act` once, just before (or just after) the next statement that changes rows."""
    change = QuerySet.update

    def update(rows: QuerySet[Any], **columns: Any) -> int:
        monkeypatch.setattr(QuerySet, "update", change)
        if before:
            act()
        changed = change(rows, **columns)
        if not before:
            act()
        return changed

    monkeypatch.setattr(QuerySet, "update", update)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("attempts", [1, MOST_LOSSES])
def test_a_run_that_is_cancelled_while_it_is_given_back_never_runs_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, before: bool, attempts: int
) -> None:
    claimed(run, STALE, fruitless_attempts=attempts)
    cancelled: list[bool] = []
    meanwhile(monkeypatch, lambda: cancelled.append(cancel(run)), before=before)
    reaper.reap(Run)
    run.refresh_from_db()
    failed_first = not before and attempts == MOST_LOSSES
    assert cancelled == [not failed_first]
    assert run.status == (Run.FAILED if failed_first else Run.CANCELLED)
    assert run.finished_at is not None


@pytest.mark.parametrize("before", [True, False])
def test_a_run_that_is_given_back_while_it_is_cancelled_never_runs_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    claimed(run, STALE)
    meanwhile(monkeypatch, lambda: reaper.reap(Run), before=before)
    assert cancel(run), "it had not ended"
    run.refresh_from_db()
    assert run.status == Run.CANCELLED


def test_a_run_that_is_taken_while_it_is_cancelled_is_asked_to_stop(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, lambda: Claim.take(Run, run.id), before=True)
    assert cancel(run)
    run.refresh_from_db()
    assert (run.status, run.cancel_requested, run.finished_at) == (Run.RUNNING, True, None)


def test_what_waits_although_it_was_to_be_cancelled_is_cancelled(run: Run, broker: MemoryBroker) -> None:
    Run.objects.update(cancel_requested=True)
    reaper.reap(Run)
    run.refresh_from_db()
    assert run.status == Run.CANCELLED
    assert run.finished_at is not None
    assert reaper.publish_queued(Run) == 0


def test_graphs_are_given_back_too(graph: Graph) -> None:
    assert Claim.take(Graph, graph.id) is not None
    Graph.objects.update(heartbeat_at=Now() - STALE)
    assert reaper.reap(Graph) == 1
    graph.refresh_from_db()
    assert graph.status == Graph.QUEUED


def test_a_worker_that_shuts_down_gives_back_its_own_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKER_VARIABLE, "this worker")
    claimed(run, FRESH)
    assert reaper.give_back_all_of("another worker") == 0
    assert reaper.give_back_all_of("this worker") == 1
    run.refresh_from_db()
    assert (run.status, run.attempts, run.worker) == (Run.QUEUED, 0, "")


def test_it_publishes_queued_rows_that_have_no_message(run: Run, broker: MemoryBroker) -> None:
    assert reaper.publish_queued(Run) == 1
    assert broker.messages("gpu") == [["gpu"]]


def test_it_publishes_nothing_while_messages_wait(run: Run, broker: MemoryBroker) -> None:
    publish(Run.QUEUE)
    assert reaper.publish_queued(Run) == 0
    assert broker.messages("gpu") == [["gpu"]]


def test_what_is_given_back_is_published_though_other_messages_wait(run: Run, broker: MemoryBroker) -> None:
    Run.objects.create(graph=run.graph, cluster=run.cluster, method="random", settings={}, evaluations=1, seed=0)
    publish(Run.QUEUE)
    claimed(run, STALE)
    reaper.reap(Run)
    assert broker.messages("gpu") == [["gpu"], ["gpu"]]
    assert Claim.take(Run, run.id) is not None
    assert Claim.take(Run, run.id) is None, "a message that comes twice does no harm"


def test_what_ends_with_its_worker_is_not_published(run: Run, broker: MemoryBroker) -> None:
    claimed(run, STALE, cancel_requested=True)
    reaper.reap(Run)
    assert broker.messages("gpu") == []


def test_what_is_given_back_without_a_broker_is_published_once_it_is_there(
    run: Run, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed(run, STALE)
    with monkeypatch.context() as away:
        away.setattr(reaper, "publish", lambda *_: False)
        assert reaper.reap(Run) == 1
    assert reaper.publish_queued(Run) == 1
    assert broker.messages("gpu") == [["gpu"]]


def test_it_publishes_nothing_that_is_not_queued(run: Run, broker: MemoryBroker) -> None:
    claimed(run, FRESH)
    assert reaper.publish_queued(Run) == 0
    assert broker.messages("gpu") == []


@pytest.mark.parametrize("error", [OperationalError("away"), ConnectionRefusedError(), RedisConnectionError("away")])
def test_a_broker_that_is_away_is_no_error(run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def away(queue: str) -> int:
        raise error

    monkeypatch.setattr(reaper, "waiting_messages", away)
    assert reaper.publish_queued(Run) == 0


def test_every_job_is_seen_to() -> None:
    everything = {Calibration, Delivery, Graph, PlanSearch, StepMeasurement, Policy, Profile, Run}
    assert set(reaper.job_models()) == everything
