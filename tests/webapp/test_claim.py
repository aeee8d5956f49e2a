"""A worker takes a job, keeps it, ends it."""

import threading
import uuid

import pytest
from django.db import connection

from webapp.jobs.claim import Claim, ClaimLostError
from webapp.runs.models import Run


def test_it_takes_a_queued_job_and_shows_a_heartbeat(run: Run) -> None:
    claim = Claim.take(Run, run.id)
    assert claim is not None
    run.refresh_from_db()
    assert (run.status, run.claim, run.attempts) == (Run.RUNNING, claim.token, 1)
    assert run.heartbeat_at is not None
    assert run.started_at is not None


def test_a_second_message_for_the_same_job_takes_nothing(run: Run) -> None:
    assert Claim.take(Run, run.id) is not None
    assert Claim.take(Run, run.id) is None
    run.refresh_from_db()
    assert run.attempts == 1


@pytest.mark.parametrize("status", [Run.DONE, Run.FAILED, Run.CANCELLED])
def test_a_message_for_a_job_that_has_ended_takes_nothing(run: Run, status: str) -> None:
    Run.objects.filter(id=run.id).update(status=status)
    assert Claim.take(Run, run.id) is None


def test_a_message_for_a_job_that_was_deleted_takes_nothing() -> None:
    assert Claim.take(Run, uuid.uuid4()) is None


@pytest.mark.usefixtures("transactional_db")
def test_of_many_workers_at_once_one_gets_it(run: Run) -> None:
    claims: list[Claim[Run] | None] = []
    together = threading.Barrier(8)

    def take() -> None:
        together.wait()
        claims.append(Claim.take(Run, run.id))
        connection.close()

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(claims) == 8
    assert sum(claim is not None for claim in claims) == 1


def test_a_worker_that_lost_its_claim_can_neither_keep_nor_end_the_job(run: Run) -> None:
    old = Claim.take(Run, run.id)
    assert old is not None
    Run.objects.filter(id=run.id).update(status=Run.QUEUED, claim=None)
    new = Claim.take(Run, run.id)
    assert new is not None
    for attempt in (lambda: old.update(last_seq=7), lambda: old.end(Run.DONE), old.cancel_requested):
        with pytest.raises(ClaimLostError):
            attempt()
    run.refresh_from_db()
    assert (run.status, run.claim, run.last_seq) == (Run.RUNNING, new.token, 0)


def test_the_first_start_is_remembered_over_attempts(run: Run) -> None:
    Claim.take(Run, run.id)
    run.refresh_from_db()
    first = run.started_at
    Run.objects.filter(id=run.id).update(status=Run.QUEUED, claim=None)
    Claim.take(Run, run.id)
    run.refresh_from_db()
    assert run.started_at == first
    assert run.attempts == 2


def test_a_job_that_is_put_off_waits_in_its_queue_and_was_not_fruitless(run: Run) -> None:
    claim = Claim.take(Run, run.id)
    assert claim is not None
    claim.put_off(error="The other side does not answer.")
    run.refresh_from_db()
    assert (run.status, run.claim, run.heartbeat_at, run.attempts) == (Run.QUEUED, None, None, 1)
    assert (run.fruitless_attempts, run.error) == (0, "The other side does not answer.")
    assert run in Run.waiting()
    with pytest.raises(ClaimLostError):
        claim.put_off()
