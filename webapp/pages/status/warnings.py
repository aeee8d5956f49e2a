"""What the operator should look at, in sentences."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from django.conf import settings
from django.utils.timesince import timesince

from engine import api
from webapp.backups.models import BackupRecord
from webapp.disk_use import LEAST_FREE_BYTES, DiskUse
from webapp.graphs.models import Graph
from webapp.incidents import recent_incidents
from webapp.pages.health import part_faults
from webapp.pages.status.figures import QueueFigures, WorkerLine, age_seconds

LONG_WAIT_SECONDS = 60.0
"""for which a graph may wait to be read without a warning"""
OLD_BACKUP_SECONDS = 7 * 24 * 3600.0


def warnings_of(
    disk: DiskUse, backup: BackupRecord | None, workers: Iterable[WorkerLine], queues: Sequence[QueueFigures]
) -> list[str]:
    """One sentence for each fault; none if all is well."""
    sentences = [f"The {part} is not well: {fault}" for part, fault in part_faults().items() if fault]
    if disk.free_bytes < LEAST_FREE_BYTES:
        sentences.append("Less than 1 GiB is free on the disk of the data folder.")
    sentences += _of_backup(backup)
    sentences += [sentence for line in workers if (sentence := _of_worker(line))]
    if lacks := api.missing_of_sandbox():
        sentences.append(f"Users' files are read in a sandbox that lacks something here: {'; '.join(lacks)}.")
    sentences += [
        f"{incident.sentence.capitalize()}, {timesince(incident.at)} ago."
        for incident in recent_incidents(Path(settings.DATA_FOLDER))
    ]
    stuck = [queue for queue in queues if queue.waiting and not queue.takers]
    sentences += [f"No worker takes the jobs of the queue {queue.name}: {queue.waiting} wait." for queue in stuck]
    sentences += [_of_readings(queue) for queue in queues if queue.name == Graph.QUEUE and _waits_long(queue)]
    return sentences


def _waits_long(queue: QueueFigures) -> bool:
    return bool(queue.takers) and (queue.oldest_seconds or 0.0) > LONG_WAIT_SECONDS


def _of_readings(queue: QueueFigures) -> str:
    minutes = (queue.oldest_seconds or 0.0) / 60
    longest = api.READING_STEPS * api.Limits().seconds / 60
    graphs = "1 graph waits" if queue.waiting == 1 else f"{queue.waiting} graphs wait"
    return f"{graphs} to be read, the first for {minutes:.0f} min; a reading takes at most {longest:g} min."


def _of_worker(line: WorkerLine) -> str:
    """Why it takes nothing; empty if it takes jobs."""
    worker = line.worker
    if not line.is_alive:
        return f"The worker {worker} has given no sign of life for {timesince(worker.seen_at)}."
    reason = worker.takes_nothing_because
    return f"The worker {worker} takes nothing: {reason} ({worker.version}, schema {worker.schema})." if reason else ""


def _of_backup(backup: BackupRecord | None) -> list[str]:
    if backup is None:
        return []
    sentences = []
    if backup.fault and backup.failed_at is not None:
        sentences.append(f"The last backup failed {timesince(backup.failed_at)} ago: {backup.fault}.")
    if backup.succeeded_at is not None and age_seconds(backup.succeeded_at) > OLD_BACKUP_SECONDS:
        sentences.append(f"The last good backup is {timesince(backup.succeeded_at)} old.")
    return sentences
