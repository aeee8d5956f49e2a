"""A checkpoint goes with the run that it is of, however that ends; one that goes on keeps it."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.conf import settings
from django.db.models.functions import Now
from django.test import Client

from engine import api
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.jobs import reaper
from webapp.jobs.claim import WORKER_VARIABLE, Claim
from webapp.jobs.models import SavedState
from webapp.runs import placing
from webapp.runs.models import Run
from webapp.runs.placing import place_run

STALE = timedelta(seconds=settings.STALE_AFTER_SECONDS + 1)
Act = Callable[[Client, Run], object]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaper, "SECOND_LOOK_AFTER_SECONDS", 0.01)
    monkeypatch.setenv(WORKER_VARIABLE, "this worker")


@pytest.fixture(autouse=True)
def _checkpoint(run: Run) -> None:
    SavedState.objects.create(job_id=run.id, seq=1, state=b"state")


def _lost(run: Run, **columns: object) -> None:
    assert Claim.take(Run, run.id) is not None
    Run.objects.update(heartbeat_at=Now() - STALE, **columns)


def cancelled_while_it_waits(client: Client, run: Run) -> None:
    client.post(f"/runs/{run.id}/cancel/")


def cancelled_with_its_comparison(client: Client, run: Run) -> None:
    comparison = Comparison.objects.create(
        graph=run.graph, cluster=run.cluster, methods=[run.method], seeds=1, evaluations=run.evaluations
    )
    ComparedRun.objects.create(comparison=comparison, run=run)
    client.post(f"/comparisons/{comparison.id}/cancel/")


def lost_after_it_was_cancelled(_client: Client, run: Run) -> None:
    _lost(run, cancel_requested=True)
    reaper.reap(Run)


def cancelled_when_its_worker_shuts_down(_client: Client, run: Run) -> None:
    _lost(run, cancel_requested=True)
    reaper.give_back_all_of("this worker")


def lost_too_often(_client: Client, run: Run) -> None:
    _lost(run, fruitless_attempts=settings.MOST_ATTEMPTS)
    reaper.reap(Run)


def stopped_by_a_mistake(_client: Client, run: Run) -> None:
    place_run(run.id)


def ended_before_anybody_settled_runs(_client: Client, run: Run) -> None:
    Run.objects.update(status=Run.FAILED)
    reaper.reap(Run)


ENDS = (
    cancelled_while_it_waits,
    cancelled_with_its_comparison,
    lost_after_it_was_cancelled,
    cancelled_when_its_worker_shuts_down,
    lost_too_often,
    stopped_by_a_mistake,
    ended_before_anybody_settled_runs,
)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
def test_it_goes_with_the_run(client: Client, run: Run, monkeypatch: pytest.MonkeyPatch, end: Act) -> None:
    def refuse(*_: object) -> None:
        raise api.GraphError("it is odd", allowed="another one")

    monkeypatch.setattr(placing, "_place", refuse)
    end(client, run)
    run.refresh_from_db()
    assert run.has_ended
    assert not SavedState.objects.exists()


def test_it_stays_while_the_run_goes_on(client: Client, run: Run) -> None:
    reaper.reap(Run)
    assert SavedState.objects.exists(), "it waits"
    _lost(run)
    client.post(f"/runs/{run.id}/cancel/")
    assert SavedState.objects.exists(), "its worker is asked to end it"
    Run.objects.update(cancel_requested=False)
    reaper.reap(Run)
    assert SavedState.objects.exists(), "it was given back"
