"""Finds what has happened in the database: ended jobs, ended comparisons, better placements of running jobs.

The rows themselves are the record, so no stop of a process loses an event: the next look finds it.
"""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Exists, Max, Min, OuterRef, QuerySet

from webapp.comparisons.models import ComparedRun, Comparison
from webapp.hooks import events
from webapp.hooks.bodies import Occurrence
from webapp.hooks.models import Delivery
from webapp.plans.models import PlanSearch
from webapp.policies.models import Policy
from webapp.runs.models import Run

BETTER_EVERY = timedelta(minutes=1)
"""how often a run tells of better placements, at most"""


def ended_since(since: datetime, projects: Collection[UUID]) -> Iterator[Occurrence]:
    """What has ended in these projects since then."""
    yield from _ended_runs(since, projects)
    yield from _ended_searches(since, projects)
    yield from _ended_trainings(since, projects)
    yield from _ended_comparisons(since, projects)


def _ended_runs(since: datetime, projects: Collection[UUID]) -> Iterator[Occurrence]:
    rows = _of_their_own(Run.objects.filter(project__in=projects, finished_at__gte=since))
    names = {Run.DONE: events.RUN_FINISHED, Run.FAILED: events.RUN_FAILED}
    yield from _jobs(rows.filter(status__in=names), names)


def _ended_searches(since: datetime, projects: Collection[UUID]) -> Iterator[Occurrence]:
    rows = PlanSearch.objects.filter(project__in=projects, finished_at__gte=since)
    names = {PlanSearch.DONE: events.PLAN_FINISHED, PlanSearch.FAILED: events.PLAN_FAILED}
    yield from _jobs(rows.filter(status__in=names).select_related("graph", "project"), names)


def _ended_trainings(since: datetime, projects: Collection[UUID]) -> Iterator[Occurrence]:
    rows = Policy.objects.filter(project__in=projects, finished_at__gte=since, source=Policy.TRAINED)
    names = {Policy.DONE: events.TRAINING_FINISHED, Policy.FAILED: events.TRAINING_FAILED}
    yield from _jobs(rows.filter(status__in=names).select_related("project").defer(*Policy.LARGE), names)


def _ended_comparisons(since: datetime, projects: Collection[UUID]) -> Iterator[Occurrence]:
    """Those whose last run has ended, and of which at least one was not cancelled."""
    members = ComparedRun.objects.filter(comparison=OuterRef("pk"), run__deleted_at=None)
    rows = Comparison.objects.filter(project__in=projects).filter(
        Exists(members.filter(run__finished_at__gte=since)),
        Exists(members.filter(run__status__in=(Run.DONE, Run.FAILED))),
        ~Exists(members.filter(run__status__in=(Run.QUEUED, Run.RUNNING))),
    )
    ended = rows.annotate(ended_at=Max("compared_runs__run__finished_at")).select_related("graph", "project")
    for row in ended.defer("graph__summary"):
        yield Occurrence(events.COMPARISON_FINISHED, row.id.hex, row.ended_at, row.project, row)


def better_found(now: datetime, projects: Collection[UUID]) -> Iterator[tuple[Occurrence, Run]]:
    """The running runs that have worked for a while and have a best placement."""
    rows = Run.objects.filter(
        project__in=projects, status=Run.RUNNING, best_step_time_us__isnull=False, started_at__lte=now - BETTER_EVERY
    )
    minute = int(now.timestamp() // BETTER_EVERY.total_seconds())
    for run in _of_their_own(rows):
        yield Occurrence(events.RUN_BETTER, f"{run.id.hex}:{minute}", now, run.project, run), run


def told_before(runs: Collection[UUID]) -> dict[tuple[UUID, UUID], tuple[datetime, float]]:
    """(webhook, run) → when a better placement of the run was told last, and the best step time of those told."""
    rows = Delivery.all_rows.filter(event=events.RUN_BETTER, subject_id__in=runs).order_by()
    found = rows.values_list("webhook_id", "subject_id").annotate(last=Max("created_at"), best=Min("step_time_us"))
    return {(hook, run): (last, best) for hook, run, last, best in found}


def _of_their_own(rows: QuerySet[Run]) -> QuerySet[Run]:
    """The runs that a person started: not those of a comparison, nor those that show a replica of a plan."""
    return (
        rows.filter(compared__isnull=True, replica__isnull=True)
        .select_related("graph", "project")
        .defer("graph__summary")
    )


def _jobs(rows: QuerySet[Any], names: dict[str, str]) -> Iterator[Occurrence]:
    for job in rows:
        yield Occurrence(names[job.status], job.id.hex, job.finished_at, job.project, job)
