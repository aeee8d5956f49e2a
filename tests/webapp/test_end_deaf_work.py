"""A job whose work does not stop when it is cancelled or deleted is ended with its process."""

import threading
from collections.abc import Callable

import pytest

from tests.webapp.scripted_engine import Script, install, rows
from tests.webapp.scripted_training import KilledError
from tests.webapp.scripted_training import Script as TrainingScript
from tests.webapp.scripted_training import install as install_training
from webapp.graphs.models import Graph
from webapp.jobs import heartbeat
from webapp.jobs.cancelling import cancel
from webapp.jobs.models import SavedState
from webapp.policies.lifecycle import start_training
from webapp.policies.models import Policy
from webapp.policies.training import train_policy
from webapp.policies.training_plan import PlannedGraph, TrainingPlan
from webapp.runs.models import Run
from webapp.runs.placing import place_run

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture
def until_ended(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Work that stops for nothing but the end of its process."""
    ended = threading.Event()
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(heartbeat, "STOP_WITHIN_SECONDS", 0.05)
    monkeypatch.setattr(heartbeat, "end_process", ended.set)

    def work() -> None:
        assert ended.wait(20), "its process is ended"
        raise KilledError

    return work


def test_a_cancelled_run_keeps_its_events(
    run: Run, until_ended: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def before(number: int) -> None:
        if number == 3:
            cancel(run)
            until_ended()

    install(monkeypatch, Script([5.0, 3.0, 4.0], before_episode=before))
    with pytest.raises(KilledError):
        place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.error, run.claim, run.answer.step_time_us) == (Run.CANCELLED, "", None, 3.0)
    assert rows(run) == [(1, "started"), (2, "episode"), (3, "episode")]


def test_a_deleted_run_leaves_nothing(
    run: Run, until_ended: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def before(number: int) -> None:
        if number == 2:
            Run.objects.filter(id=run.id).delete()
            until_ended()

    install(monkeypatch, Script([5.0, 3.0, 4.0], before_episode=before))
    with pytest.raises(KilledError):
        place_run(run.id)
    assert not Run.objects.exists()


def test_a_cancelled_training_keeps_its_last_state(
    real_graph: Graph, until_ended: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = TrainingPlan((), (PlannedGraph(real_graph.id, real_graph.name),), (), ("2xK80",), 60.0, 3)
    policy = start_training("Mine", plan)

    def before(second: int) -> None:
        if second == 3:
            cancel(policy)
            until_ended()

    install_training(monkeypatch, TrainingScript(before_second=before))
    with pytest.raises(KilledError):
        train_policy(policy.id)
    Policy.clean_up_ended()
    policy.refresh_from_db()
    assert (policy.status, policy.has_file) == (Policy.CANCELLED, True)
    assert not SavedState.objects.exists()


def test_work_that_stops_is_not_ended(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(heartbeat, "end_process", lambda: pytest.fail("it stops by itself"))
    asked = threading.Event()
    look = heartbeat.Heartbeat._has_ended_early

    def look_and_report(beat: heartbeat.Heartbeat) -> bool:
        if beat.cancelled.is_set():
            asked.set()
        return look(beat)

    monkeypatch.setattr(heartbeat.Heartbeat, "_has_ended_early", look_and_report)

    def before(number: int) -> None:
        if number == 3:
            cancel(run)
            assert asked.wait(20)

    script = install(monkeypatch, Script([5.0, 3.0, 4.0], before_episode=before))
    place_run(run.id)
    run.refresh_from_db()
    assert run.status == Run.CANCELLED
    assert run.answer.report == {key: value for key, value in script.report(2).items() if key != "device_of_group"}
