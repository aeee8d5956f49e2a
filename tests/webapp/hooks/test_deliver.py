"""What ends is told to each webhook that asks for it, once, signed, until it is taken or given up."""

import hmac
import json
import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django import Settings

from engine import api
from tests.webapp.conftest import MemoryBroker
from tests.webapp.hooks.conftest import ORIGIN, added
from tests.webapp.hooks.deliveries import bring_on, ended, look_and_send, only, send_due
from tests.webapp.hooks.receiver import Receiver
from tests.webapp.run_rows import compared, started
from tests.webapp.scripted_engine import CLUSTER
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.hooks import lifecycle, noting
from webapp.hooks.models import Delivery, EventsRead, Webhook
from webapp.hooks.noting import note_events, queue_again
from webapp.hooks.sending import WAITS
from webapp.hooks.signing import secret_of
from webapp.jobs import deletion, reaper
from webapp.jobs.cancelling import cancel
from webapp.jobs.claim import Claim
from webapp.plans.models import OpenedReplica, PlanSearch
from webapp.policies.models import Policy
from webapp.runs.models import Run

pytestmark = pytest.mark.usefixtures("transactional_db")


def bodies(receiver: Receiver) -> list[dict[str, Any]]:
    return [json.loads(got.body) for got in receiver.got]


def test_a_finished_run_is_told_whole(hook: Webhook, receiver: Receiver, run: Run) -> None:
    ended(run, Run.DONE, best_step_time_us=12.5)
    [delivery] = look_and_send()
    [got] = receiver.got
    project = {"id": str(hook.project_id), "name": "Placements"}
    facts = {"id": str(run.id), "name": "Placeto on small.json", "method": "placeto", "graph": "small.json"}
    body = json.loads(got.body)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", body.pop("at"))
    assert body == {
        "event": "run.finished",
        "project": project,
        "run": facts | {"step_time_us": 12.5, "address": f"{ORIGIN}/runs/{run.id}/"},
    }
    assert got.headers["Content-Type"] == "application/json"
    assert got.headers["User-Agent"] == f"Placeto-Explorer/{api.VERSION}"
    assert got.headers["X-Placeto-Event"] == "run.finished"
    assert got.headers["X-Placeto-Delivery"] == str(delivery.id)
    signed = f"{got.headers['X-Placeto-Timestamp']}.".encode() + got.body
    expected = hmac.new(secret_of(hook).encode(), signed, "sha256").hexdigest()
    assert got.headers["X-Placeto-Signature-256"] == f"sha256={expected}"
    assert (delivery.status, delivery.status_code, delivery.tries) == (Delivery.DONE, 200, 1)
    assert (delivery.answer, delivery.error) == ("thanks", "")


def test_each_look_tells_it_once(hook: Webhook, receiver: Receiver, run: Run, broker: MemoryBroker) -> None:
    ended(run, Run.DONE)
    note_events()
    assert broker.messages("cpu") == [["cpu"]]
    note_events()
    assert broker.messages("cpu") == []
    assert send_due() == 1
    EventsRead.objects.update(until=Now() - timedelta(days=2))  # as after a worker that was away
    look_and_send()
    assert len(receiver.got) == 1


def test_a_broker_that_is_away_is_asked_once(
    hook: Webhook, ready_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(5):
        ended(started(ready_graph, seed), Run.DONE)
    asked: list[str] = []

    def publish(queue: str) -> bool:
        asked.append(queue)
        return False

    monkeypatch.setattr(noting, "publish", publish)
    note_events()
    assert (hook.deliveries.count(), asked) == (5, ["cpu"])


def test_a_row_is_unique_even_where_two_look_at_once(hook: Webhook, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ended(run, Run.DONE)
    whole = noting._store
    first: list[bool] = []

    def store_after_another(found: list[Delivery]) -> None:
        if not first:
            first.append(True)
            note_events()
        whole([Delivery(webhook=hook, event=one.event, key=one.key, body=one.body) for one in found])

    monkeypatch.setattr(noting, "_store", store_after_another)
    note_events()
    assert Delivery.objects.count() == 1
    row = only(hook)
    with pytest.raises(IntegrityError), transaction.atomic():
        Delivery.objects.create(webhook=hook, event=row.event, key=row.key, body="{}")


def test_a_kill_between_the_end_and_the_look_loses_nothing(
    hook: Webhook, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(run, Run.DONE)

    class Kill(BaseException):
        pass

    def kill(*_: object) -> None:
        raise Kill

    with monkeypatch.context() as killed:
        killed.setattr(noting, "_store", kill)
        with pytest.raises(Kill):
            note_events()
    assert not Delivery.objects.exists()
    assert [one.event for one in look_and_send()] == ["run.finished"]


@pytest.mark.parametrize("how", ["claim", "too many attempts", "cancelled"])
def test_however_it_ends(how: str, hook: Webhook, run: Run) -> None:
    """The reaper ends jobs too; a run that somebody cancels tells nothing."""
    if how == "cancelled":
        assert cancel(run)
    else:
        claim = Claim.take(Run, run.id)
        assert claim is not None
        if how == "claim":
            claim.end(Run.FAILED, error="It does not fit.")
        else:
            Run.objects.filter(id=run.id).update(fruitless_attempts=99, heartbeat_at=Now() - timedelta(days=1))
            reaper.give_back(claim, crashed=True)
    run.refresh_from_db()
    assert run.has_ended
    assert [one.event for one in look_and_send()] == ([] if how == "cancelled" else ["run.failed"])


def test_only_what_it_asks_for_and_only_of_its_project(
    hook: Webhook, receiver: Receiver, run: Run, graph: Graph
) -> None:
    Webhook.objects.filter(id=hook.id).update(events=["run.failed"])
    other = type(hook.project).objects.create(name="Other")
    elsewhere = added(other, receiver.address())
    ended(run, Run.DONE)
    assert look_and_send() == []
    failed = started(graph)
    ended(failed, Run.FAILED)
    look_and_send()
    assert [body["run"]["id"] for body in bodies(receiver)] == [str(failed.id)]
    assert not elsewhere.deliveries.exists()


def test_what_ended_before_it_was_there_is_not_told(
    project: Any, receiver: Receiver, run: Run, settings: Settings
) -> None:
    settings.HOOKS_ALLOWED = ["127.0.0.1"]
    ended(run, Run.DONE)
    Run.objects.filter(id=run.id).update(finished_at=Now() - timedelta(seconds=1))
    hook = added(project, receiver.address())
    assert look_and_send() == []
    lifecycle.switch(hook, on=False)
    lifecycle.switch(hook, on=True)
    assert look_and_send() == []


def test_runs_of_a_comparison_are_told_as_one(hook: Webhook, receiver: Receiver, ready_graph: Graph) -> None:
    comparison = compared(ready_graph, seeds=2)
    first, second = Run.objects.all()
    ended(first, Run.DONE)
    Run.objects.filter(id=second.id).update(status=Run.RUNNING)
    assert look_and_send() == []
    ended(second, Run.FAILED)
    look_and_send()
    look_and_send()
    [body] = bodies(receiver)
    assert body["event"] == "comparison.finished"
    address = f"{ORIGIN}/comparisons/{comparison.id}/"
    name = "Comparison on small.json"
    assert body["comparison"] == {"id": str(comparison.id), "name": name, "graph": "small.json", "address": address}


def test_a_comparison_that_was_cancelled_whole_tells_nothing(hook: Webhook, ready_graph: Graph) -> None:
    compared(ready_graph, seeds=2)
    for run in Run.objects.all():
        ended(run, Run.CANCELLED)
    assert look_and_send() == []
    assert Comparison.objects.exists()


def test_searches_for_plans(hook: Webhook, receiver: Receiver, ready_graph: Graph) -> None:
    columns: dict[str, Any] = {"cluster": CLUSTER, "batch": 2, "seconds": 1.0, "plan_rules": {}}
    done, failed = (PlanSearch.objects.create(graph=ready_graph, **columns) for _ in range(2))
    ended(done, PlanSearch.DONE)
    ended(failed, PlanSearch.FAILED)
    replica = started(ready_graph)
    OpenedReplica.objects.create(search=done, run=replica, plan="0", replica=0)
    ended(replica, Run.DONE)
    look_and_send()
    assert sorted((body["event"], body["plan"]["id"]) for body in bodies(receiver)) == sorted(
        [("plan.finished", str(done.id)), ("plan.failed", str(failed.id))]
    )
    assert bodies(receiver)[0]["plan"].keys() == {"id", "name", "graph", "address"}


def test_trainings_of_the_project(hook: Webhook, receiver: Receiver) -> None:
    done, failed, cancelled, uploaded, of_nobody = (
        Policy.objects.create(name=f"Policy {number}", project=None if number == 4 else hook.project)
        for number in range(5)
    )
    Policy.objects.filter(id=uploaded.id).update(source=Policy.UPLOADED)
    for policy in (done, uploaded, of_nobody):
        ended(policy, Policy.DONE)
    ended(failed, Policy.FAILED)
    ended(cancelled, Policy.CANCELLED)
    look_and_send()
    facts = {body["event"]: body["training"] for body in bodies(receiver)}
    assert facts.keys() == {"training.finished", "training.failed"}
    address = f"{ORIGIN}/policies/{done.id}/"
    assert facts["training.finished"] == {"id": str(done.id), "name": "Policy 0", "address": address}
    assert facts["training.failed"]["id"] == str(failed.id)


@pytest.mark.usefixtures("hook")
class TestBetterPlacements:
    """At most one a minute a run, and only where it is better than what was told."""

    @pytest.fixture(autouse=True)
    def running(self, run: Run) -> Run:
        """A run that works since a while, with a best placement."""
        columns = {"status": Run.RUNNING, "started_at": Now() - timedelta(minutes=5), "best_step_time_us": 50.0}
        Run.objects.filter(id=run.id).update(**columns)
        return run

    def test_it_is_told_with_its_time(self, receiver: Receiver) -> None:
        look_and_send()
        [body] = bodies(receiver)
        assert (body["event"], body["run"]["step_time_us"]) == ("run.better_found", 50.0)

    def test_not_again_while_nothing_is_better(self, receiver: Receiver) -> None:
        look_and_send()
        self.a_minute_passes()
        look_and_send()
        assert len(receiver.got) == 1

    def test_not_twice_in_a_minute(self, receiver: Receiver, running: Run) -> None:
        look_and_send()
        Run.objects.filter(id=running.id).update(best_step_time_us=40.0)
        look_and_send()
        assert len(receiver.got) == 1
        self.a_minute_passes()
        Run.objects.filter(id=running.id).update(best_step_time_us=30.0)
        look_and_send()
        assert [body["run"]["step_time_us"] for body in bodies(receiver)] == [50.0, 30.0]

    def test_not_in_its_first_minute(self, running: Run) -> None:
        Run.objects.filter(id=running.id).update(started_at=Now())
        assert look_and_send() == []

    @staticmethod
    def a_minute_passes() -> None:
        """Since what has been told."""
        for row in Delivery.objects.all():
            run_id, _, minute = row.key.partition(":")
            row.key = f"{run_id}:{int(minute) - 1}"
            row.created_at -= timedelta(minutes=1)
            row.save(update_fields=["key", "created_at"])


@pytest.mark.usefixtures("hook")
class TestTriesAgain:
    """Growing waits between tries, then it is given up."""

    def test_until_it_is_taken(self, receiver: Receiver, run: Run) -> None:
        receiver.status, receiver.answer = 503, b"busy\r\nX-Evil: \x1b[31m1" + b"x" * 600
        ended(run, Run.DONE)
        [delivery] = look_and_send()
        assert (delivery.status, delivery.tries, delivery.status_code) == (Delivery.QUEUED, 1, 503)
        assert delivery.error == "It refuses the body (status 503)."
        assert delivery.answer == ("busy  X-Evil:  [31m1" + "x" * 600)[:500]
        assert send_due() == 0, "it waits"
        bring_on(delivery)
        receiver.status, receiver.answer = 204, b""
        [delivery] = look_and_send()
        assert (delivery.status, delivery.tries, delivery.error, delivery.answer) == (Delivery.DONE, 2, "", "")
        first, second = receiver.got
        assert first.body == second.body
        assert first.headers["X-Placeto-Delivery"] == second.headers["X-Placeto-Delivery"]

    def test_with_growing_waits_until_it_is_given_up(self, hook: Webhook, receiver: Receiver, run: Run) -> None:
        receiver.status = 500
        ended(run, Run.DONE)
        waits = []
        note_events()
        for _ in WAITS:
            before = timezone.now()
            assert send_due() == 1
            delivery = only(hook)
            assert delivery.next_try_at is not None
            waits.append(round((delivery.next_try_at - before).total_seconds() / 60))
            bring_on(delivery)
        assert waits == [1, 5, 30, 120, 360]
        assert send_due() == 1
        delivery = only(hook)
        assert (delivery.status, delivery.tries) == (Delivery.FAILED, len(WAITS) + 1)
        assert send_due() == 0
        assert len(receiver.got) == len(WAITS) + 1

    @pytest.mark.parametrize("status", [302, 307, 410])
    def test_a_redirect_is_not_followed_and_who_is_gone_is_left(
        self, status: int, receiver: Receiver, run: Run
    ) -> None:
        receiver.status, receiver.headers = status, {"Location": receiver.address(path="/other")}
        ended(run, Run.DONE)
        [delivery] = look_and_send()
        assert len(receiver.got) == 1
        assert delivery.status == (Delivery.FAILED if status == 410 else Delivery.QUEUED)
        assert f"(status {status})" in delivery.error

    def test_what_is_not_allowed_any_more_fails_at_once(self, receiver: Receiver, run: Run, settings: Settings) -> None:
        settings.HOOKS_ALLOWED = []
        ended(run, Run.DONE)
        [delivery] = look_and_send()
        assert (delivery.status, receiver.connections) == (Delivery.FAILED, 0)
        assert "The address 127.0.0.1 is not a public one." in delivery.error

    def test_a_person_sends_it_again(self, receiver: Receiver, run: Run, broker: MemoryBroker) -> None:
        receiver.status = 410
        ended(run, Run.DONE)
        [delivery] = look_and_send()
        broker.messages("cpu")
        receiver.status = 200
        assert queue_again(delivery)
        assert broker.messages("cpu") == [["cpu"]]
        assert not queue_again(delivery), "it is on its way"
        [delivery] = look_and_send()
        assert (delivery.status, delivery.tries) == (Delivery.DONE, 1)
        first, second = receiver.got
        assert (first.body, first.headers["X-Placeto-Delivery"]) == (second.body, second.headers["X-Placeto-Delivery"])


def test_switched_off_it_tells_nothing_of_what_waits_or_ends(hook: Webhook, receiver: Receiver, run: Run) -> None:
    receiver.status = 500
    ended(run, Run.DONE)
    look_and_send()
    lifecycle.switch(hook, on=False)
    assert only(hook).status == Delivery.CANCELLED
    failed = started(run.graph)
    ended(failed, Run.FAILED)
    look_and_send()
    assert len(receiver.got) == 1


def test_one_that_is_switched_off_while_it_waits_for_a_worker_sends_nothing(
    hook: Webhook, receiver: Receiver, run: Run
) -> None:
    ended(run, Run.DONE)
    note_events()
    Webhook.objects.filter(id=hook.id).update(is_active=False)
    assert send_due() == 1
    assert (only(hook).status, receiver.connections) == (Delivery.CANCELLED, 0)


@pytest.mark.parametrize("what", ["hook", "project"])
def test_deleted_it_sends_nothing(what: str, hook: Webhook, receiver: Receiver, run: Run) -> None:
    ended(run, Run.DONE)
    note_events()
    deletion.delete(hook if what == "hook" else hook.project)
    assert (look_and_send(), receiver.connections) == ([], 0)


def test_a_test_says_that_it_is_one(hook: Webhook, receiver: Receiver) -> None:
    assert lifecycle.send_test(hook) is not None
    assert lifecycle.send_test(hook) is None, "one is on its way"
    assert send_due() == 1
    [body] = bodies(receiver)
    assert body.keys() == {"event", "at", "project"} and body["event"] == "test"
    assert lifecycle.send_test(hook) is not None


def test_no_name_gets_into_a_header_or_breaks_the_body(
    hook: Webhook, receiver: Receiver, ready_graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    evil = 'x\r\nX-Evil: 1\r\n\r\n{"event": "run.failed"}\x00\x1b[31m\u202e"'
    type(hook.project).objects.filter(id=hook.project_id).update(name=evil.replace("\x00", ""))
    Graph.objects.filter(id=ready_graph.id).update(name=evil.replace("\x00", ""))
    Webhook.objects.filter(id=hook.id).update(name=evil.replace("\x00", ""))
    run = started(ready_graph, name=evil.replace("\x00", ""))
    ended(run, Run.DONE)
    with caplog.at_level(logging.DEBUG):
        look_and_send()
    [got] = receiver.got
    assert "X-Evil" not in got.headers
    assert got.body.isascii() and b"\n" not in got.body and b"\r" not in got.body
    body = json.loads(got.body)
    assert body["event"] == "run.finished"
    assert body["run"]["name"] == body["run"]["graph"] == body["project"]["name"] == evil.replace("\x00", "")


def test_no_log_has_the_address_or_the_secret(
    project: Any, receiver: Receiver, run: Run, caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    settings.HOOKS_ALLOWED = ["127.0.0.1"]
    hook = added(project, receiver.address(path="/services/T0/TOKEN"))
    receiver.status = 500
    ended(run, Run.DONE)
    with caplog.at_level(logging.DEBUG):
        [delivery] = look_and_send()
    assert len(receiver.got) == 1
    written = caplog.text + delivery.error
    assert "TOKEN" not in written and secret_of(hook) not in written and hook.secret_salt not in written
