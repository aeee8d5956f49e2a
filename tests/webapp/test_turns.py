"""Owners of waiting jobs take turns in a queue."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from webapp.graphs.models import Graph
from webapp.jobs import turns
from webapp.jobs.claim import Claim
from webapp.jobs.models import Turn
from webapp.jobs.turns import do_next, next_in_turn, take_turn
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs import tasks
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
        tasks.place("whatever the message says")
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


def test_old_turns_are_forgotten(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    take_turn(Run.QUEUE, run.graph.project_id)
    monkeypatch.setattr(turns, "KEPT_FOR", -turns.KEPT_FOR)
    take_turn(Graph.QUEUE, run.graph.project_id)
    assert not Turn.objects.filter(queue=Graph.QUEUE).exists()
    assert Turn.objects.filter(queue=Run.QUEUE).count() == 1
