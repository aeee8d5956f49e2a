"""A person cancels a run. What its worker then does: test_carry_out_run."""

import pytest
from django.test import Client

from webapp.jobs.claim import Claim
from webapp.runs.models import Run


def test_a_queued_run_is_cancelled_at_once(client: Client, run: Run) -> None:
    response = client.post(f"/runs/{run.id}/cancel/")
    assert (response.status_code, response.headers["Location"]) == (302, f"/runs/{run.id}/")
    run.refresh_from_db()
    assert run.status == Run.CANCELLED
    assert run.finished_at is not None
    assert Claim.take(Run, run.id) is None


def test_the_worker_of_a_running_run_is_asked_to(client: Client, run: Run) -> None:
    claim = Claim.take(Run, run.id)
    assert claim is not None
    client.post(f"/runs/{run.id}/cancel/")
    run.refresh_from_db()
    assert (run.status, run.cancel_requested) == (Run.RUNNING, True)
    assert claim.cancel_requested()
    assert client.get(f"/runs/{run.id}/run.json").json()["cancel_requested"] is True


@pytest.mark.parametrize("status", [Run.DONE, Run.FAILED, Run.CANCELLED])
def test_a_run_that_has_ended_stays_as_it_is(client: Client, run: Run, status: str) -> None:
    Run.objects.update(status=status)
    response = client.post(f"/runs/{run.id}/cancel/", headers={"accept": "application/json"})
    assert response.status_code == 409
    assert response.json() == {"errors": {"": ["This run had already ended."]}}
    page = client.post(f"/runs/{run.id}/cancel/", follow=True)
    assert "This run had already ended." in page.content.decode()
    run.refresh_from_db()
    assert (run.status, run.cancel_requested) == (status, False)


def test_a_look_at_the_address_cancels_nothing(client: Client, run: Run) -> None:
    assert client.get(f"/runs/{run.id}/cancel/").status_code == 405
    run.refresh_from_db()
    assert run.status == Run.QUEUED
