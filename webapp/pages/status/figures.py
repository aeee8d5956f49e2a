"""What the status page and the metrics show, read from the database. All ages are in seconds."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Min
from django.urls import reverse
from django.utils import timezone

from webapp.graphs.models import Graph
from webapp.hooks.models import Delivery
from webapp.jobs.job import Job
from webapp.jobs.reaper import job_models
from webapp.measuring.models import Calibration, Profile, StepMeasurement
from webapp.plans.models import PlanSearch
from webapp.policies.models import Policy
from webapp.runs.models import Run
from webapp.workers.models import Worker

MOST_LISTED = 20
"""waiting jobs of a queue, and failed jobs"""
OWN_PAGES: dict[type[Job], tuple[str, Callable[[Any], str]]] = {
    Graph: ("graph", lambda graph: reverse("graphs:detail", args=[graph.id])),
    Profile: ("measurement", lambda profile: reverse("graphs:detail", args=[profile.graph_id])),
    Calibration: ("calibration", lambda _: reverse("machine:page")),
    StepMeasurement: (
        "measurement of placements",
        lambda measurement: reverse("measurements:detail", args=[measurement.id]),
    ),
    Policy: ("training", lambda policy: reverse("policies:detail", args=[policy.id])),
    Run: ("run", lambda run: reverse("runs:detail", args=[run.id])),
    PlanSearch: ("search for plans", lambda search: reverse("plans:detail", args=[search.id])),
    Delivery: ("delivery", lambda delivery: reverse("hooks:detail", args=[delivery.webhook_id])),
}
"""kind of job → its word, and the address of the page that shows one"""


@dataclass(frozen=True, slots=True)
class JobLine:
    """One job in a list."""

    kind: str
    name: str
    address: str
    status: str
    since: datetime
    """its creation while it waits, else its start or its end"""
    error: str = ""

    @property
    def age_seconds(self) -> float:
        """Since then."""
        return age_seconds(self.since)

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self) | {"age_seconds": self.age_seconds}


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """One queue."""

    name: str
    waiting: int
    oldest_seconds: float | None
    """age of the job that waits longest; None if none waits"""
    takers: int
    """workers that take its jobs at the moment"""
    first: list[JobLine]
    """those that wait longest, in the order of their places"""

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self) | {"first": [line.to_json() for line in self.first]}


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """One worker."""

    worker: Worker
    is_alive: bool
    jobs: list[JobLine]
    """what it works on"""

    @property
    def age_seconds(self) -> float:
        """Since its last sign of life."""
        return age_seconds(self.worker.seen_at)

    @property
    def state(self) -> str:
        """In a few words."""
        if not self.is_alive:
            return "no sign of life"
        reason = self.worker.takes_nothing_because
        return f"{reason}: takes nothing" if reason else ("works" if self.jobs else "waits for jobs")

    @property
    def takes_jobs(self) -> bool:
        """Whether it lives and takes jobs."""
        return self.is_alive and not self.worker.takes_nothing_because


def age_seconds(then: datetime) -> float:
    """Seconds since then; 0 for a time to come, which another machine's clock may give."""
    return max(0.0, (timezone.now() - then).total_seconds())


def status_counts() -> dict[str, dict[str, int]]:
    """Kind of job → status → number of jobs."""
    counts: dict[str, dict[str, int]] = {}
    for model in job_models():
        rows = model._default_manager.order_by().values_list("status").annotate(count=Count("id"))
        counts[_kind(model)] = dict(rows)
    return counts


def worker_lines() -> list[WorkerLine]:
    """Every listed worker with its jobs."""
    jobs: dict[str, list[JobLine]] = {}
    for model in job_models():
        for job in _with_names(model._default_manager.filter(status=model.WORKING)):
            jobs.setdefault(job.worker, []).append(_line(job, job.started_at or job.created_at))
    return [
        WorkerLine(worker, age_seconds(worker.seen_at) <= settings.STALE_AFTER_SECONDS, jobs.get(worker.identity, []))
        for worker in Worker.objects.all()
    ]


def queue_figures(workers: Iterable[WorkerLine], listed: int = MOST_LISTED) -> list[QueueFigures]:
    """Every queue, with at most `listed` of its waiting jobs."""
    takers = [name for line in workers if line.takes_jobs for name in line.worker.queues.split(",")]
    return [_queue(name, takers.count(name), listed) for name in settings.CELERY_TASK_QUEUES]


def failed_jobs() -> list[JobLine]:
    """The jobs that failed last."""
    lines = [
        _line(job, job.finished_at or job.created_at)
        for model in job_models()
        if model is not Delivery  # a receiver that takes nothing is no fault of ours; its webhook's page shows it
        for job in _with_names(
            model._default_manager.filter(status=model.FAILED).order_by("-finished_at")[:MOST_LISTED]
        )
    ]
    return sorted(lines, key=lambda line: line.since, reverse=True)[:MOST_LISTED]


def _queue(name: str, takers: int, listed: int) -> QueueFigures:
    waiting, oldest, first = 0, None, []
    for model in job_models():
        if name != model.QUEUE:
            continue
        rows = model.waiting().order_by()
        found = rows.aggregate(count=Count("id"), oldest=Min("created_at"))
        waiting += found["count"]
        oldest = min(filter(None, (oldest, found["oldest"])), default=None)
        if listed and found["count"]:
            first += [_line(job, job.created_at) for job in _with_names(rows.order_by("created_at")[:listed])]
    first = sorted(first, key=lambda line: line.since)[:listed]
    return QueueFigures(name, waiting, None if oldest is None else age_seconds(oldest), takers, first)


def _with_names(rows: Any) -> Any:
    """`rows` with what their names need, and without large columns."""
    needed = ["id", "status", "error", "worker", "created_at", "started_at", "finished_at"]
    if rows.model is Run:
        return rows.select_related("graph").only(*needed, "method", "graph__name")
    if rows.model is PlanSearch:
        return rows.select_related("graph").only(*needed, "name", "graph__name")
    if rows.model is Delivery:
        return rows.select_related("webhook").only(*needed, "event", "webhook__name")
    if rows.model in (Profile, StepMeasurement):
        return rows.select_related("graph").only(*needed, "graph__name")
    return rows.only(*needed) if rows.model is Calibration else rows.only(*needed, "name")


def _line(job: Any, since: datetime) -> JobLine:
    _, address = OWN_PAGES[type(job)]
    return JobLine(_kind(type(job)), str(job), address(job), job.status, since, job.error)


def _kind(model: type[Job]) -> str:
    return OWN_PAGES[model][0]
