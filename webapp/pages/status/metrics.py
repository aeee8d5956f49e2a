"""The metrics, read from the database when they are asked for, and kept for some seconds."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.utils import timezone
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from webapp.backups.models import BackupRecord
from webapp.disk_use import disk_use
from webapp.jobs.models import Event
from webapp.pages.status.figures import queue_figures, status_counts, worker_lines
from webapp.runs.models import Run
from webapp.workers.models import Worker
from webapp.workers.version import code_version

Labels = tuple[tuple[str, str], ...]
"""(name, value)"""
KEPT_SECONDS = 5.0
MARGIN = timedelta(minutes=1)
"""how far the clocks of workers, database and web may differ"""


class EvaluationCount:
    """The evaluations of all runs since this process began to look; deleted runs do not lower it."""

    def __init__(self) -> None:
        self._total = 0
        self._used: dict[UUID, int] | None = None
        """run → its evaluations at the last look, for runs that had not ended long before"""
        self._looked_at = timezone.now()

    def look(self) -> int:
        """The total now."""
        now = timezone.now()
        used = _evaluations_of_runs(self._looked_at - MARGIN)
        if self._used is not None:
            self._total += sum(max(0, count - self._used.get(run_id, 0)) for run_id, count in used.items())
        self._used, self._looked_at = used, now
        return self._total


def _evaluations_of_runs(since: datetime) -> dict[UUID, int]:
    """Run → evaluations, of those that have begun, without those that ended before."""
    unended = Q(status__in=(Run.QUEUED, Run.RUNNING), evaluations_used__gt=0)
    rows = Run.objects.filter(unended | Q(finished_at__gte=since)).order_by()
    return dict(rows.values_list("id", "evaluations_used"))


class DatabaseCollector(Collector):
    """Reads everything at each scrape. Raises DatabaseError."""

    def __init__(self) -> None:
        self._evaluations = EvaluationCount()

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        yield _gauge("placeto_build_info", "1, with the version of the web server", {_version_labels(): 1})
        yield from _jobs()
        yield from _queues_and_workers()
        yield _counter(
            "placeto_evaluations", "Evaluations by all runs since the web server started", self._evaluations.look()
        )
        yield _counter("placeto_events", "Events stored since the database was made", _events_stored())
        yield from _disk()
        yield from _backups()


class Exposition:
    """The metrics as text, read again only after some seconds, however often they are asked for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(DatabaseCollector())
        self._text = b""
        self._read_at = float("-inf")
        self._lock = threading.Lock()

    def __call__(self) -> bytes:
        """The text. Raises DatabaseError."""
        with self._lock:
            if self._clock() - self._read_at >= KEPT_SECONDS:
                self._text = generate_latest(self._registry)
                self._read_at = self._clock()
            return self._text


def _gauge(name: str, words: str, values: dict[Labels, float]) -> Metric:
    names = [label for label, _ in next(iter(values), ())]
    family = GaugeMetricFamily(name, words, labels=names)
    for labels, value in values.items():
        family.add_metric([text for _, text in labels], value)
    return family


def _counter(name: str, words: str, value: float) -> Metric:
    return CounterMetricFamily(name, words, value=value)


def _version_labels() -> Labels:
    own = code_version()
    return (("version", own.version), ("schema", own.schema))


def _jobs() -> Iterator[Metric]:
    counts: dict[Labels, float] = {
        (("kind", kind), ("status", status)): float(count)
        for kind, by_status in status_counts().items()
        for status, count in by_status.items()
    }
    yield _gauge("placeto_jobs", "Jobs by kind and status", counts)


def _queues_and_workers() -> Iterator[Metric]:
    lines = worker_lines()
    queues = {(("queue", queue.name),): queue for queue in queue_figures(lines, listed=0)}
    yield _gauge("placeto_queue_waiting_jobs", "Jobs that wait", {key: queue.waiting for key, queue in queues.items()})
    yield _gauge(
        "placeto_queue_oldest_waiting_seconds",
        "Age of the job that waits longest; 0 if none waits",
        {key: queue.oldest_seconds or 0.0 for key, queue in queues.items()},
    )
    yield _gauge(
        "placeto_queue_workers", "Workers that take jobs", {key: queue.takers for key, queue in queues.items()}
    )
    workers = {_worker_labels(line.worker): line for line in lines}
    yield _gauge(
        "placeto_worker_heartbeat_age_seconds",
        "Time since a worker's last sign of life",
        {key: line.age_seconds for key, line in workers.items()},
    )
    yield _gauge(
        "placeto_worker_takes_jobs",
        "1 if the worker lives and takes jobs, else 0",
        {key: float(line.takes_jobs) for key, line in workers.items()},
    )


def _worker_labels(worker: Worker) -> Labels:
    return (
        ("host", worker.host),
        ("queues", worker.queues),
        ("pid", str(worker.pid)),
        ("version", worker.version),
    )


def _events_stored() -> int:
    """The last number that the database gave to an event: those deleted since count too."""
    table = Event._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        else:
            cursor.execute("SELECT pg_sequence_last_value(pg_get_serial_sequence(%s, 'id')::regclass)", [table])
        row = cursor.fetchone()
    return int(row[0] or 0) if row else 0


def _disk() -> Iterator[Metric]:
    disk = disk_use()
    used = {
        "database": disk.database_bytes,
        "graphs": disk.graphs_bytes,
        "profiles": disk.profiles_bytes,
        "families": disk.families_bytes,
        "logs": disk.logs_bytes,
    }
    yield _gauge(
        "placeto_disk_used_bytes", "Bytes by kind of data", {(("kind", kind),): size for kind, size in used.items()}
    )
    yield _gauge("placeto_disk_free_bytes", "Bytes free on the disk of the data folder", {(): disk.free_bytes})


def _backups() -> Iterator[Metric]:
    record = BackupRecord.objects.filter(id=1).first()
    if record is not None and record.succeeded_at is not None:
        yield _gauge(
            "placeto_backup_last_success_timestamp_seconds",
            "When the last good backup was made",
            {(): record.succeeded_at.timestamp()},
        )
    failed = record is not None and bool(record.fault)
    yield _gauge("placeto_backup_failed", "1 if the last backup failed, else 0", {(): float(failed)})


exposition = Exposition()
