"""Owners of waiting jobs take turns in a queue."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from webapp.accounts.models import User
from webapp.graphs.models import Graph
from webapp.jobs import tasks, turns
from webapp.jobs.claim import Claim
from webapp.jobs.models import Turn
from webapp.jobs.turns import do_next, next_in_turn, others_wait, take_turn
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.models import Run


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of each job that is done, in order."""
    names: list[str] = []

    def do_run(run_id: UUID) -> bool:
        return finish(Claim.take(Run, run_id), lambda: Run.objects.get(id=run_id).method)

    def do_training(policy_id: UUID) -> bool:
        return finish(Claim.take(Policy, policy_id), lambda: Policy.objects.get(id=policy_id).name)

    def finish(claim: Claim[Any] | None, name: Callable[[], str]) -> bool:
        if claim is not None:
            names.append(name())
            claim.end("done")
        return claim is not None

    monkeypatch.setattr("webapp.runs.placing.place_run", do_run)
    monkeypatch.setattr("webapp.policies.training.train_policy", do_training)
    return names


def runs_of(name: str, count: int) -> None:
    """A project with queued runs `name`0, `name`1, …"""
    graph = Graph.objects.create(project=Project.objects.create(name=name), name=name, suffix=".json")
    for number in range(count):
        Run.objects.create(graph=graph, cluster={}, method=f"{name}{number}", settings={}, evaluations=1, seed=0)


def test_two_hundred_jobs_of_one_project_do_not_delay_another_s(done: list[str]) -> None:
    runs_of("many", 200)
    runs_of("one", 1)
    runs_of("two", 2)
    for _ in range(6):
        tasks.do_next(Run.QUEUE)
    assert done == ["many0", "one0", "two0", "many1", "two1", "many2"]


def test_trainings_take_turns_with_projects(done: list[str]) -> None:
    runs_of("run", 2)
    Policy.objects.create(name="training", plan={})
    Policy.objects.create(name="second training", plan={})
    for _ in range(5):
        do_next(Run.QUEUE)
    assert done == ["run0", "training", "second training", "run1"]


def test_one_who_comes_later_does_not_wait_for_a_whole_round(done: list[str]) -> None:
    runs_of("first", 3)
    runs_of("second", 3)
    do_next(Run.QUEUE)
    do_next(Run.QUEUE)
    runs_of("new", 2)
    for _ in range(3):
        do_next(Run.QUEUE)
    assert done == ["first0", "second0", "new0", "first1", "second1"]


def runs_by(project: Project, user: User, count: int) -> None:
    """Queued runs of that user in the project."""
    graph, _ = Graph.objects.get_or_create(project=project, name="shared", suffix=".json")
    for number in range(count):
        method = f"{user.username}{number}"
        Run.objects.create(graph=graph, cluster={}, method=method, settings={}, evaluations=1, seed=0, started_by=user)


def users_called(*names: str) -> list[User]:
    """Users without passwords."""
    return [User.objects.create_user(name) for name in names]


def test_users_of_one_project_take_turns(done: list[str]) -> None:
    project, (ann, bob) = Project.objects.create(name="shared"), users_called("ann", "bob")
    runs_by(project, ann, 100)
    runs_by(project, bob, 2)
    for _ in range(5):
        do_next(Run.QUEUE)
    assert done == ["ann0", "bob0", "ann1", "bob1", "ann2"]


def test_a_user_has_one_turn_however_many_projects_they_have(done: list[str]) -> None:
    ann, bob = users_called("ann", "bob")
    for number in range(3):
        runs_by(Project.objects.create(name=str(number)), ann, 1)
    runs_by(Project.objects.create(name="other"), bob, 3)
    for _ in range(6):
        do_next(Run.QUEUE)
    assert [name.rstrip("0123456789") for name in done] == ["ann", "bob"] * 3


def test_a_user_s_runs_and_trainings_are_one_owner_s(done: list[str]) -> None:
    ann, bob = users_called("ann", "bob")
    runs_by(Project.objects.create(name="shared"), ann, 2)
    Policy.objects.create(name="ann's training", plan={}, started_by=ann)
    runs_by(Project.objects.create(name="other"), bob, 2)
    for _ in range(4):
        do_next(Run.QUEUE)
    assert [name[:3] for name in done] == ["ann", "bob", "ann", "bob"]


def test_users_take_turns_with_what_was_started_before_there_were_any(done: list[str]) -> None:
    [ann] = users_called("ann")
    runs_of("old", 2)
    runs_by(Project.objects.create(name="new"), ann, 2)
    for _ in range(4):
        do_next(Run.QUEUE)
    assert done == ["old0", "ann0", "old1", "ann1"]


def test_a_long_run_yields_to_another_user_of_its_project() -> None:
    project, (ann, bob) = Project.objects.create(name="shared"), users_called("ann", "bob")
    runs_by(project, ann, 2)
    run = Run.objects.get(method="ann0")
    Run.objects.filter(id=run.id).update(status=Run.RUNNING)
    assert not others_wait(run, 10_000.0), "one's own next run waits"
    runs_by(project, bob, 1)
    assert others_wait(run, 10_000.0)


def test_jobs_of_other_queues_take_no_turn(graph: Graph) -> None:
    assert next_in_turn(Run.QUEUE) is None
    waiting = next_in_turn(Graph.QUEUE)
    assert waiting is not None
    assert (waiting.model, waiting.owner_id) == (Graph, graph.project_id)


def test_a_job_that_another_worker_takes_first_is_passed_over(
    run: Run, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_of("other", 1)
    take = Claim.take
    taken_elsewhere: list[object] = []

    def too_late(model: type[Run], job_id: object) -> object:
        if not taken_elsewhere:
            taken_elsewhere.append(take(model, job_id))  # type: ignore[arg-type]  # an id
        return take(model, job_id)  # type: ignore[arg-type]  # an id

    monkeypatch.setattr(Claim, "take", too_late)
    do_next(Run.QUEUE)
    assert done == ["other0"]


class Clock:
    """The clock of a queue's one worker: it moves as jobs work."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        monkeypatch.setattr(turns, "timezone", SimpleNamespace(now=self.now))

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)


def busy_worker(clock: Clock, until_seconds: float, waits: Callable[[str], list[float]]) -> list[tuple[float, str]]:
    """When jobs of which owner began; `waits(owner)` are the seconds of its waiting jobs. Beats come every 30 s.

    A job of an owner waits in the database while the owner's list has seconds, and yields as a real one does.
    """
    owners = {owner.graph.name: owner for owner in Run.objects.select_related("graph")}
    began = []
    while clock.seconds < until_seconds:
        for name, run in owners.items():
            Run.objects.filter(id=run.id).update(status=Run.QUEUED if waits(name) else Run.DONE)
        chosen = next_in_turn(Run.QUEUE)
        if chosen is None:
            clock.seconds += 10
            continue
        [(name, run)] = [(name, run) for name, run in owners.items() if run.graph.project_id == chosen.owner_id]
        take_turn(Run.QUEUE, chosen.owner_id)
        Run.objects.filter(id=run.id).update(status=Run.RUNNING)
        began.append((clock.seconds, name))
        left, at_work = waits(name), clock.seconds
        while left[0] > 0 and clock.seconds < until_seconds:
            seconds = min(30.0, left[0])
            left[0] -= seconds
            clock.seconds += seconds
            worked = clock.seconds - at_work
            for other in owners.keys() - {name}:
                Run.objects.filter(id=owners[other].id).update(status=Run.QUEUED if waits(other) else Run.DONE)
            if left[0] > 0 and worked >= 60 and others_wait(run, worked):
                break
        if left[0] <= 0:
            del left[0]
        turns.count_work(Run.QUEUE, chosen.owner_id, clock.seconds - at_work)
    return began


def test_short_runs_pass_the_long_run_of_another_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """A and B send a run of 2 s each 100 s, which waited for ten minutes of the long run before."""
    clock = Clock(monkeypatch)
    for name in ("long", "A", "B"):
        runs_of(name, 1)
    sent = {name: [100.0 * number for number in range(1, 36)] for name in ("A", "B")}
    waiting: dict[str, list[float]] = {"long": [50_000.0], "A": [], "B": []}

    def waits(name: str) -> list[float]:
        while name in sent and sent[name] and sent[name][0] <= clock.seconds:
            sent[name].pop(0)
            waiting[name].append(2.0)
        return waiting[name]

    began = busy_worker(clock, 3600.0, waits)
    assert all(len([1 for _, name in began if name == each]) >= 30 for each in "AB")
    worked = 50_000.0 - waiting["long"][0]
    assert worked > 3000, "the long run has most of the time"


def test_two_long_runs_have_turns_of_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    for name in ("one", "two"):
        runs_of(name, 1)
    waiting = {name: [50_000.0] for name in ("one", "two")}
    began = busy_worker(clock, 2 * 3600.0, waiting.__getitem__)
    turns_of = [later - earlier for (earlier, _), (later, _) in pairwise(began)]
    assert all(300 < seconds < 700 for seconds in turns_of), turns_of
    worked = [50_000.0 - waiting[name][0] for name in ("one", "two")]
    assert max(worked) - min(worked) < 700


def test_an_owner_has_one_worker_before_another_has_two() -> None:
    runs_of("both", 2)
    runs_of("one", 1)
    both = Run.objects.filter(graph__name="both")
    first = both.order_by("created_at").first()
    assert first is not None
    turns.count_work(Run.QUEUE, Run.objects.get(graph__name="one").graph.project_id, 500.0)
    assert Claim.take(Run, first.id) is not None
    chosen = next_in_turn(Run.QUEUE)
    assert chosen is not None
    assert chosen.owner_id == Run.objects.get(graph__name="one").graph.project_id


@pytest.mark.parametrize("days", [-400, 400])
def test_a_clock_that_jumps_leaves_nobody_behind(days: int, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    owner = run.graph.project_id
    turns.count_work(Run.QUEUE, owner, 500.0)
    assert turns.recent_seconds(Turn.objects.get(), clock.now()) == 500.0
    clock.seconds += 600
    assert turns.recent_seconds(Turn.objects.get(), clock.now()) == pytest.approx(250.0)
    clock.seconds += days * 86400
    assert turns.recent_seconds(Turn.objects.get(), clock.now()) < 1e-3


def test_old_turns_are_forgotten(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    take_turn(Run.QUEUE, run.graph.project_id)
    monkeypatch.setattr(turns, "KEPT_FOR", -turns.KEPT_FOR)
    take_turn(Graph.QUEUE, run.graph.project_id)
    assert not Turn.objects.filter(queue=Graph.QUEUE).exists()
    assert Turn.objects.filter(queue=Run.QUEUE).count() == 1
