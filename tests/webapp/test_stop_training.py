"""A training ends before its time: stopped, its worker lost, its graphs changed. What it had learned is not."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db.models.functions import Now
from django.test import Client

from engine import api
from tests.engine.policies.small_policies import small_card
from tests.supervisor.started import eventually
from tests.webapp.scripted_training import KilledError, Script, events, install, state_after, write_at_once
from webapp.graphs.models import Graph, PreparedBlob
from webapp.jobs import heartbeat, reaper
from webapp.jobs.claim import WORKER_VARIABLE
from webapp.jobs.models import SavedState
from webapp.policies import training_store
from webapp.policies.lifecycle import start_training
from webapp.policies.models import Policy, PolicyFile
from webapp.policies.training import train_policy
from webapp.policies.training_plan import PlannedGraph, TrainingPlan

pytestmark = pytest.mark.usefixtures("transactional_db")

JSON = {"accept": "application/json"}
STALE = timedelta(seconds=settings.STALE_AFTER_SECONDS + 1)
KEPT = "This is its last saved state, after {} s of training."


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(training_store, "seconds_between_events", lambda _plan: 0.0)
    monkeypatch.setattr(reaper, "SECOND_LOOK_AFTER_SECONDS", 0.01)
    write_at_once(monkeypatch)


@pytest.fixture
def policy(real_graph: Graph, slower_graph: Graph) -> Policy:
    """One that waits to be trained on one graph."""
    learned_on, held_out = (PlannedGraph(graph.id, graph.name) for graph in (real_graph, slower_graph))
    return start_training("Mine", TrainingPlan((), (learned_on,), (held_out,), ("2xK80",), 60.0, 3))


def die_in_second(second: int) -> Any:
    """What a worker does that is killed then, once its last state is stored."""

    def die(now: int) -> None:
        if now == second:
            eventually(lambda: _stored() == state_after(second - 1), "the last state is stored")
            raise KilledError

    return die


def _stored() -> bytes:
    state = SavedState.objects.values_list("state", flat=True).first()
    return bytes(state or b"")


def for_ever(pulse: Callable[[], None]) -> None:
    """Work that ends by a pulse alone."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        pulse()
        time.sleep(0.01)


def lose_worker(policy: Policy, monkeypatch: pytest.MonkeyPatch, second: int) -> Script:
    """Train it until its worker is killed in that second."""
    script = install(monkeypatch, Script(before_second=die_in_second(second)))
    with pytest.raises(KilledError):
        train_policy(policy.id)
    script.before_second = lambda _second: None
    Policy.objects.update(heartbeat_at=Now() - STALE)
    return script


def test_a_killed_worker_s_training_is_taken_up_where_it_was(
    client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = lose_worker(policy, monkeypatch, 3)
    assert reaper.reap(Policy) == 1
    train_policy(policy.id)
    policy.refresh_from_db()
    assert (policy.status, policy.attempts, policy.note) == (Policy.DONE, 2, "")
    assert script.begun_from == [0, 2]
    seqs = [event["seq"] for event in events(client, policy)["events"]]
    assert seqs == list(range(1, len(seqs) + 1))
    assert "resumed 1 time after losing a worker" in client.get(f"/policies/{policy.id}/").content.decode()


def test_stopping_it_keeps_what_it_has_learned(client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(second: int) -> None:
        if second == 2:
            client.post(f"/policies/{policy.id}/cancel/")
            time.sleep(0.1)

    install(monkeypatch, Script(before_second=stop))
    train_policy(policy.id)
    policy.refresh_from_db()
    assert (policy.status, policy.is_usable) == (Policy.CANCELLED, True)
    assert "what it had learned can be applied" in client.get(f"/policies/{policy.id}/").content.decode()
    again = client.post(f"/policies/{policy.id}/cancel/", headers=JSON)
    assert (again.status_code, again.json()["errors"][""]) == (409, ["This training had already ended."])


@pytest.mark.parametrize(("rows", "sentence"), [(0, ", but was not evaluated on held-out graphs."), (1, ".")])
def test_a_stopped_one_reports_whether_anything_was_held_out(
    client: Client, policy: Policy, rows: int, sentence: str
) -> None:
    card = replace(small_card(), held_out=small_card().held_out[:rows])
    usable = {"digest": "0" * 64, "file_version": api.POLICY_VERSION}
    Policy.objects.update(status=Policy.CANCELLED, card=card.to_json(), **usable)
    page = client.get(f"/policies/{policy.id}/").content.decode()
    assert f"what it had learned can be applied{sentence}</p>" in page


def test_one_that_has_learned_nothing_has_no_file(
    client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.post(f"/policies/{policy.id}/cancel/").status_code == 302
    install(monkeypatch, Script())
    train_policy(policy.id)
    policy.refresh_from_db()
    assert (policy.status, policy.is_usable) == (Policy.CANCELLED, False)
    assert "before it had learned anything" in client.get(f"/policies/{policy.id}/").content.decode()
    missing = client.get(f"/policies/{policy.id}/policy.safetensors", headers=JSON)
    assert missing.status_code == 404
    assert missing.json()["errors"][""] == ["This policy has no file: its training has not ended, or it failed."]


def expect_kept(client: Client, policy: Policy, status: str, second: int) -> None:
    """It has the policy of that second, and its page says so."""
    policy.refresh_from_db()
    assert (policy.status, policy.is_usable, policy.note) == (status, True, KEPT.format(second))
    blob = api.learned_until(state_after(second), "Mine", ())
    assert bytes(PolicyFile.objects.get().blob) == blob
    assert (policy.known["name"], policy.known["seconds"], policy.short.seconds) == ("Mine", second, second)
    assert not SavedState.objects.exists()
    page = client.get(f"/policies/{policy.id}/").content.decode()
    assert policy.note in page
    assert "what it had learned can be applied, but was not evaluated on held-out graphs." in page


def test_stopped_while_its_worker_dies(client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    lose_worker(policy, monkeypatch, 3)
    client.post(f"/policies/{policy.id}/cancel/")
    assert reaper.reap(Policy) == 1
    expect_kept(client, policy, Policy.CANCELLED, 2)


def test_stopped_while_its_worker_shuts_down(client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKER_VARIABLE, "this worker")
    lose_worker(policy, monkeypatch, 3)
    client.post(f"/policies/{policy.id}/cancel/")
    assert reaper.give_back_all_of("this worker") == 1
    expect_kept(client, policy, Policy.CANCELLED, 2)


def test_stopped_while_it_waits_to_go_on(client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    lose_worker(policy, monkeypatch, 4)
    reaper.reap(Policy)
    client.post(f"/policies/{policy.id}/cancel/")
    expect_kept(client, policy, Policy.CANCELLED, 3)


def test_stopped_while_its_graphs_are_prepared_once_more(
    client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_worker(policy, monkeypatch, 3)
    reaper.reap(Policy)

    def prepared(_planned: object, pulse: Callable[[], None]) -> list[api.PreparedGraph]:
        client.post(f"/policies/{policy.id}/cancel/")
        for_ever(pulse)
        return []

    monkeypatch.setattr("webapp.policies.training._prepared", prepared)
    train_policy(policy.id)
    expect_kept(client, policy, Policy.CANCELLED, 2)


def test_stopped_while_a_family_is_built_it_does_not_wait_for_the_next_graph(
    client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Building reports nothing for a long time, but checks whether to stop."""

    def prepared_family(*_: object, pulse: Callable[[], None]) -> api.PreparedFamily:
        client.post(f"/policies/{policy.id}/cancel/")
        for_ever(pulse)
        raise AssertionError

    monkeypatch.setattr(api, "prepared_family", prepared_family)
    Policy.objects.update(plan=TrainingPlan(("nmt",), (), (), ("2xK80",), 60.0, 3).to_json())
    train_policy(policy.id)
    policy.refresh_from_db()
    assert (policy.status, policy.error, policy.is_usable) == (Policy.CANCELLED, "", False)


def test_its_workers_die_again_and_again(client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    lose_worker(policy, monkeypatch, 3)
    Policy.objects.update(fruitless_attempts=settings.MOST_ATTEMPTS)
    reaper.reap(Policy)
    expect_kept(client, policy, Policy.FAILED, 2)
    assert "5 times without any progress in between" in client.get(f"/policies/{policy.id}/").content.decode()


def test_it_fails_half_way(client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Script(error=api.LimitError("no more room")))
    train_policy(policy.id)
    expect_kept(client, policy, Policy.FAILED, 4)


def test_nothing_is_kept_of_what_had_learned_nothing(
    client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_worker(policy, monkeypatch, 2)
    client.post(f"/policies/{policy.id}/cancel/")
    reaper.reap(Policy)
    policy.refresh_from_db()
    assert (policy.status, policy.is_usable, policy.note) == (Policy.CANCELLED, False, "")
    assert not SavedState.objects.exists()
    page = client.get(f"/policies/{policy.id}/").content.decode()
    assert "Its training was stopped before it had learned anything." in page


def test_an_unreadable_state_is_reported(client: Client, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    lose_worker(policy, monkeypatch, 3)
    SavedState.objects.update(state=state_after(2)[:-9])
    client.post(f"/policies/{policy.id}/cancel/")
    reaper.reap(Policy)
    page = client.get(f"/policies/{policy.id}/").content.decode()
    assert "Its last saved state can no longer be read." in page
    assert "before it had learned anything" not in page
    assert not SavedState.objects.exists()


def test_until_a_reaper_has_looked_its_page_says_that_something_is_kept(client: Client, policy: Policy) -> None:
    SavedState.objects.create(job_id=policy.id, state=state_after(2))
    Policy.objects.update(status=Policy.CANCELLED)
    assert "is being saved; reload in a few seconds." in client.get(f"/policies/{policy.id}/").content.decode()


def test_a_state_is_never_applied_to_another_training(
    client: Client, policy: Policy, real_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its graph is read again with other options while it waits to go on."""
    script = lose_worker(policy, monkeypatch, 3)
    reaper.reap(Policy)
    prepared = api.PreparedGraph.from_bytes(bytes(real_graph.prepared.blob))
    slower = replace(prepared.costs, time_us=prepared.costs.time_us * 3.0)
    PreparedBlob.objects.filter(graph=real_graph).update(blob=replace(prepared, costs=slower).to_bytes())
    train_policy(policy.id)
    assert script.begun_from == [0, 0]
    policy.refresh_from_db()
    assert policy.status == Policy.DONE
    page = client.get(f"/policies/{policy.id}/").content.decode()
    assert "The training was interrupted and has started again, because" in page


def test_a_state_has_the_identity_of_its_training(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    script = lose_worker(policy, monkeypatch, 3)
    assert SavedState.objects.get().identity == api.training_identity(script.requests[0])
