"""A long job goes back to its queue when another project's job waits, and ends as if it had never waited."""

import json
import threading
import time
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pytest_django import Settings

from engine import api
from tests.webapp.conftest import MemoryBroker
from tests.webapp.graph_files import node_link
from tests.webapp.scripted_engine import Script, install, rows
from tests.webapp.scripted_training import Script as TrainingScript
from tests.webapp.scripted_training import install as install_training
from webapp.graphs.models import Graph, PreparedBlob
from webapp.jobs import heartbeat
from webapp.jobs.cancelling import cancel
from webapp.jobs.claim import WORKER_VARIABLE
from webapp.jobs.heartbeat import Heartbeat
from webapp.jobs.intake import DRAINING
from webapp.jobs.models import SavedState
from webapp.jobs.turns import next_in_turn, others_wait
from webapp.policies.lifecycle import start_training
from webapp.policies.models import Policy
from webapp.policies.training import train_policy
from webapp.policies.training_plan import PlannedGraph, TrainingPlan
from webapp.projects.models import Project
from webapp.runs.lifecycle import start
from webapp.runs.models import Run
from webapp.runs.placing import place_run
from webapp.workers.presence import Presence

pytestmark = pytest.mark.usefixtures("transactional_db")

STEP_TIMES_US = [float(100 - number) for number in range(12)]
CHECKPOINT_EVERY = 4
COMES_LATER = "later"
"""the status of a run that is not queued yet"""


class Looks:
    """Lets a job go on only when its heartbeat has looked whether others wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._looked = threading.Event()
        look = Heartbeat._look_whether_others_wait

        def look_and_report(beat: Heartbeat) -> None:
            look(beat)
            self._looked.set()

        monkeypatch.setattr(Heartbeat, "_look_whether_others_wait", look_and_report)

    def wait(self, *_: object) -> None:
        """Wait for a look that begins after this."""
        for _look in range(2):
            self._looked.clear()
            assert self._looked.wait(20)


@pytest.fixture(autouse=True)
def looks(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Looks:
    """Every job has worked long enough to yield; heartbeats come at once."""
    settings.YIELD_AFTER_SECONDS = 0.0
    settings.HEARTBEAT_SECONDS = 0.01
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)
    return Looks(monkeypatch)


@pytest.fixture
def prepared_tree(project: Project, tmp_path: Path) -> Graph:
    """A graph with more placements than can all be evaluated, ready."""
    path = tmp_path / "tree.json"
    path.write_bytes(node_link(40))
    prepared = api.prepare(path, ".json", lambda *_: None, api.Limits())
    graph = Graph.objects.create(project=project, name=path.name, suffix=".json", status=Graph.READY)
    PreparedBlob.objects.create(graph=graph, blob=prepared.to_bytes(), view="{}")
    return graph


@pytest.fixture
def other_run(run: Run) -> Run:
    """A queued run of another project."""
    return run_of_another_project(run)


def run_of_another_project(run: Run) -> Run:
    """A queued run like `run`."""
    project = Project.objects.create(name="Another")
    graph = Graph.objects.create(project=project, name="other.json", suffix=".json", status=Graph.READY)
    PreparedBlob.objects.create(graph=graph, blob=b"", view="{}")
    return Run.objects.create(graph=graph, cluster=run.cluster, method=run.method, settings={}, evaluations=9, seed=0)


def script_of(looks: Looks) -> Script:
    """A run that lets its heartbeat look before its sixth episode: all runs in `COMES_LATER` wait from then on."""

    def before(number: int) -> None:
        if number == 6:
            Run.objects.filter(status=COMES_LATER).update(status=Run.QUEUED)
            looks.wait()

    return Script(STEP_TIMES_US, checkpoint_every=CHECKPOINT_EVERY, before_episode=before)


def test_a_long_run_yields_at_its_checkpoint_and_goes_on_from_it(
    run: Run, other_run: Run, looks: Looks, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = install(monkeypatch, script_of(looks))
    Run.objects.filter(id=other_run.id).update(status=COMES_LATER)
    assert place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.attempts, run.fruitless_attempts, run.worker) == (Run.QUEUED, 0, 0, "")
    assert rows(run)[-1] == (1 + 2 * CHECKPOINT_EVERY, "episode"), "nothing after its checkpoint is stored"
    assert SavedState.objects.get(job_id=run.id).seq == 1 + 2 * CHECKPOINT_EVERY
    assert run.best_step_time_us == STEP_TIMES_US[2 * CHECKPOINT_EVERY - 1]
    assert broker.messages("gpu") == [["gpu"]]
    chosen = next_in_turn(Run.QUEUE)
    assert chosen is not None
    assert chosen.owner_id == other_run.graph.project_id, "it is behind the one that waits"

    assert place_run(other_run.id)
    assert place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.attempts, script.calls) == (Run.DONE, 1, 3)
    assert rows(run) == rows_of_a_whole_run()
    assert [json.loads(data)["seq"] for data in run.events.order_by("seq").values_list("data", flat=True)] == list(
        range(1, len(rows_of_a_whole_run()) + 1)
    )


def rows_of_a_whole_run() -> list[tuple[int, str]]:
    """Number and type of every event of the script."""
    last = len(STEP_TIMES_US) + 2
    return [(1, "started"), *((seq, "episode") for seq in range(2, last)), (last, "finished")]


def test_a_run_yields_to_nobody_of_its_own_project(run: Run, looks: Looks, monkeypatch: pytest.MonkeyPatch) -> None:
    Run.objects.create(graph=run.graph, cluster=run.cluster, method=run.method, settings={}, evaluations=9, seed=1)
    assert not others_wait(run)
    install(monkeypatch, script_of(looks))
    place_run(run.id)
    run.refresh_from_db()
    assert run.status == Run.DONE


@pytest.mark.usefixtures("other_run")
def test_a_run_of_a_worker_that_is_drained_yields_to_nobody(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = (Presence.of_this_process(str(uuid.uuid4()), ["gpu"]) for _ in range(2))
    monkeypatch.setenv(WORKER_VARIABLE, own.identity)
    other.report(DRAINING)
    own.report("")
    assert others_wait(run)
    own.report(DRAINING)
    assert not others_wait(run)


def test_a_run_that_has_not_worked_long_does_not_yield(
    run: Run, other_run: Run, looks: Looks, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.YIELD_AFTER_SECONDS = 600.0
    install(monkeypatch, script_of(looks))
    place_run(run.id)
    run.refresh_from_db()
    assert run.status == Run.DONE


def test_one_that_is_cancelled_while_it_yields_is_cancelled(
    run: Run, other_run: Run, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = script_of(looks)
    Run.objects.filter(id=other_run.id).update(status=COMES_LATER)
    look = script.before_episode

    def before(number: int) -> None:
        look(number)
        if number == 2 * CHECKPOINT_EVERY:
            assert cancel(Run.objects.get(id=run.id))

    script.before_episode = before
    monkeypatch.setattr(Heartbeat, "should_stop", lambda _beat: False)  # it has not noticed yet
    install(monkeypatch, script)
    place_run(run.id)
    run.refresh_from_db()
    assert run.status == Run.CANCELLED
    assert not SavedState.objects.filter(job_id=run.id).exists()


def test_one_without_any_placement_that_fits_yields_too(
    run: Run, other_run: Run, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = script_of(looks)
    script.error = api.InfeasibleError("no placement of 8 evaluated fits the memory")
    install(monkeypatch, script)
    place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.QUEUED, "")


def whole(run: Run) -> tuple[list[Any], Any]:
    """Its events and its answer, without what a clock measures."""
    events = [json.loads(data) for data in run.events.order_by("seq").values_list("data", flat=True)]
    for event in events:
        event.pop("elapsed_seconds", None)
        event.pop("wall_seconds", None)
        event.get("report", {}).pop("wall_seconds", None)
        for part in ("robustness", "simplest"):
            event.get("report", {}).get(part, {}).pop("seconds", None)
    return events, run.answer.device_of_group


@pytest.mark.parametrize(("method", "evaluations"), [("placeto", 40), ("auto", 30_000)])
def test_events_and_answer_are_those_of_a_run_that_never_waited(
    method: str, evaluations: int, prepared_tree: Graph, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = api.RunRequest(
        api.parse_cluster("2xK80+cpu"), method, api.Budget(evaluations), 5, {"checkpoint_seconds": 0.01}
    )
    run, alone = start(prepared_tree, request), start(prepared_tree, request)
    place_run(alone.id)
    alone.refresh_from_db()
    assert 0.96 * evaluations <= alone.evaluations_used <= evaluations, "a search may end its last step early"
    other = run_of_another_project(run)
    place, yields = api.place, 0

    def place_after_a_look(*arguments: Any) -> Any:
        looks.wait()
        return place(*arguments)

    monkeypatch.setattr(api, "place", place_after_a_look)
    while not run.has_ended:
        if yields == 2:
            Run.objects.filter(id=other.id).update(status=Run.CANCELLED)
        place_run(run.id)
        run.refresh_from_db()
        yields += run.status == Run.QUEUED
    assert yields == 2
    assert (run.status, run.evaluations_used) == (Run.DONE, alone.evaluations_used)
    assert whole(run) == whole(alone)


def test_a_budget_of_seconds_counts_work_alone(
    prepared_tree: Graph, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of a run that has yielded stands still until it goes on."""
    budget, waited_seconds = api.Budget(30_000, 3600.0), 0.0
    request = api.RunRequest(api.parse_cluster("2xK80+cpu"), "auto", budget, 5, {"checkpoint_seconds": 0.01})
    run = start(prepared_tree, request)
    other = run_of_another_project(run)
    place = api.place

    def place_after_a_look(*arguments: Any) -> Any:
        looks.wait()
        return place(*arguments)

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + waited_seconds)
    monkeypatch.setattr("engine.problem.ledger.time", clock)
    monkeypatch.setattr(api, "place", place_after_a_look)
    place_run(run.id)
    run.refresh_from_db()
    assert run.status == Run.QUEUED
    Run.objects.filter(id=other.id).update(status=Run.CANCELLED)
    waited_seconds = 7200.0
    place_run(run.id)
    run.refresh_from_db()
    report: Any = run.answer.report
    assert run.status == Run.DONE and run.evaluations_used >= 0.96 * 30_000
    assert report["wall_seconds"] < 3600.0


def training_on(graph: Graph) -> Policy:
    """One that waits to be trained."""
    return start_training("Mine", TrainingPlan((), (PlannedGraph(graph.id, graph.name),), (), ("2xK80",), 60.0, 3))


def test_a_long_training_yields_to_a_run_and_to_another_training(
    real_graph: Graph, run: Run, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, second = training_on(real_graph), training_on(real_graph)
    script = install_training(
        monkeypatch, TrainingScript(before_second=lambda second: looks.wait() if second == 2 else None)
    )
    assert train_policy(policy.id)
    policy.refresh_from_db()
    assert (policy.status, policy.attempts, policy.note) == (Policy.QUEUED, 0, "")
    Run.objects.filter(id=run.id).update(status=Run.CANCELLED)
    assert train_policy(second.id)
    second.refresh_from_db()
    assert second.status == Policy.QUEUED, "the first one waits again"
    for each in (policy, second):
        Policy.objects.exclude(id=each.id).update(cancel_requested=True)  # nobody waits
        train_policy(each.id)
        each.refresh_from_db()
        assert (each.status, each.attempts) == (Policy.DONE, 1)
        Policy.objects.update(cancel_requested=False)
    first, others = script.begun_from[:2], script.begun_from[2:]
    assert first == [0, 0]
    assert len(others) == 2
    assert min(others) > 0, "each went on from its state"
