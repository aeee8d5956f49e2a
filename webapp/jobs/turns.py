"""Chooses the next job of a queue: owners of waiting jobs share its workers' time, however many or long their jobs are.

A message only says that something waits in its queue; the worker then takes the job whose turn it is.

    message ─▶ the owner with the fewest jobs at work, then with the least work lately, then whose last turn is the
               longest ago ─▶ the oldest of its waiting jobs ─▶ claim

The seconds that an owner's jobs have worked count half after `settings.YIELD_AFTER_SECONDS`, a quarter after twice it.
So short jobs pass a long one, and two owners of long jobs have turns of about `YIELD_AFTER_SECONDS`.
"""

import logging
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Count, Min
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.module_loading import import_string

from webapp.jobs.claim import WORKER_VARIABLE
from webapp.jobs.job import Job
from webapp.jobs.models import Turn
from webapp.jobs.reaper import job_models
from webapp.workers.models import Worker

log = logging.getLogger(__name__)

MOST_TRIES = 20
"""attempts to claim a job, before a message is given up: other workers take jobs too"""
KEPT_FOR = timedelta(days=1)
"""a turn older than this counts as never taken"""
NEVER = datetime.min.replace(tzinfo=UTC)
LEAST_SECONDS = 1.0
"""as which the work of a shorter job counts: it has to be begun, too"""
SHARE_AHEAD = 0.6
"""of `YIELD_AFTER_SECONDS`, by which a job's owner has worked longer than another one, before the job yields to it: two
owners of long jobs then take turns of about `YIELD_AFTER_SECONDS`"""

Rank: TypeAlias = tuple[int, float, datetime, datetime]
"""the lowest has its turn: jobs at work, seconds worked lately, last turn, creation of the oldest job"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The waiting jobs of one owner and kind."""

    model: type[Job]
    owner_id: uuid.UUID
    since: datetime
    """when the oldest was created"""


def do_next(queue: str) -> None:
    """Do the job of `queue` whose turn it is; nothing if none waits."""
    for _ in range(MOST_TRIES):
        chosen = next_in_turn(queue)
        if chosen is None:
            return
        take_turn(queue, chosen.owner_id)
        oldest = _queued(chosen.model).filter(turn_owner=chosen.owner_id).order_by("created_at", "id")
        job_id = oldest.values_list("id", flat=True).first()
        if job_id is None:
            continue
        with _counted(queue, chosen.owner_id) as work:
            work.was_done = _work_of(chosen.model)(job_id)
        if work.was_done:
            return
    log.warning("%s: none of %d jobs could be claimed; a later message takes the next one", queue, MOST_TRIES)


@dataclass(slots=True)
class _Work:
    """A try to do a job."""

    was_done: bool = True
    """False if it could not be claimed"""


@contextmanager
def _counted(queue: str, owner_id: uuid.UUID) -> Iterator[_Work]:
    """Count the seconds of a job's work, however it ends; not if the job could not be claimed."""
    began, work = time.monotonic(), _Work()
    try:
        yield work
    finally:
        if work.was_done:
            try:
                count_work(queue, owner_id, time.monotonic() - began)
            except DatabaseError:
                log.warning("%s: the database does not answer; these seconds are not counted", queue, exc_info=True)


def next_in_turn(queue: str) -> Waiting | None:
    """The owner whose turn it is; None if no job waits."""
    rank = _ranks(queue)
    return min(_waiting(queue), key=rank, default=None)


def others_wait(job: Job, worked_seconds: float = 0.0) -> bool:
    """Whether `job`, at work for `worked_seconds`, should let another owner's job go first.

    No, if this worker takes nothing: it is drained.
    """
    own_worker = Worker.objects.filter(identity=os.environ.get(WORKER_VARIABLE, ""))
    if own_worker.exclude(takes_nothing_because="").exists():
        return False
    own = owner_of(job)
    rank = _ranks(job.QUEUE)
    own_jobs, own_seconds, *_ = rank(Waiting(type(job), own, NEVER))
    ahead_seconds = SHARE_AHEAD * settings.YIELD_AFTER_SECONDS
    others = [rank(one) for one in _waiting(job.QUEUE) if one.owner_id != own]
    return any(
        (jobs, seconds + ahead_seconds) <= (max(own_jobs - 1, 0), own_seconds + worked_seconds)
        for jobs, seconds, *_ in others
    )


def count_work(queue: str, owner_id: uuid.UUID, seconds: float) -> None:
    """Note that a job of `owner_id` has worked for `seconds`."""
    now = timezone.now()
    with transaction.atomic():
        turn, _ = Turn.objects.select_for_update().get_or_create(
            queue=queue, owner_id=owner_id, defaults={"taken_at": now}
        )
        turn.worked_seconds = recent_seconds(turn, now) + max(seconds, LEAST_SECONDS)
        turn.worked_at = now
        turn.save(update_fields=["worked_seconds", "worked_at"])


def recent_seconds(turn: Turn, now: datetime) -> float:
    """The seconds that an owner's jobs have worked, halved for each `YIELD_AFTER_SECONDS` since.

    A time in the future counts as long ago: the clock was set back.
    """
    half_life = settings.YIELD_AFTER_SECONDS
    if turn.worked_at is None or not half_life:
        return 0.0
    seconds: float = turn.worked_seconds * 0.5 ** (abs((now - turn.worked_at).total_seconds()) / half_life)
    return seconds


def _ranks(queue: str) -> Callable[[Waiting], Rank]:
    """The rank of each owner of waiting jobs."""
    now = timezone.now()
    turns = {turn.owner_id: turn for turn in Turn.objects.filter(queue=queue)}
    at_work = _at_work(queue)

    def rank(one: Waiting) -> Rank:
        turn = turns.get(one.owner_id)
        if turn is None:
            return at_work.get(one.owner_id, 0), 0.0, NEVER, one.since
        return at_work.get(one.owner_id, 0), recent_seconds(turn, now), turn.taken_at, one.since

    return rank


def _at_work(queue: str) -> dict[uuid.UUID, int]:
    """Owner → how many of its jobs are at work."""
    return {
        owner_id: count
        for model in job_models()
        if queue == model.QUEUE
        for owner_id, count in model.owned(model._default_manager.filter(status=model.WORKING))
        .order_by()
        .values_list("turn_owner")
        .annotate(count=Count("id"))
    }


def owner_of(job: Job) -> uuid.UUID:
    """The owner of `job`."""
    owner: uuid.UUID = (
        job.owned(type(job)._default_manager.filter(id=job.id)).values_list("turn_owner", flat=True).get()
    )
    return owner


def take_turn(queue: str, owner_id: uuid.UUID) -> None:
    """Note that `owner_id` has its turn now; forget those of long ago."""
    Turn.objects.update_or_create(queue=queue, owner_id=owner_id, defaults={"taken_at": Now()})
    Turn.objects.filter(queue=queue, taken_at__lt=Now() - KEPT_FOR).delete()


def _waiting(queue: str) -> list[Waiting]:
    return [
        Waiting(model, owner_id, since)
        for model in job_models()
        if queue == model.QUEUE
        for owner_id, since in _queued(model).order_by().values_list("turn_owner").annotate(since=Min("created_at"))
    ]


def _queued(model: type[Job]) -> Any:
    return model.owned(model.waiting())


def _work_of(model: type[Job]) -> Callable[[uuid.UUID], bool]:
    work: Callable[[uuid.UUID], bool] = import_string(model.WORK.replace(":", "."))
    return work
