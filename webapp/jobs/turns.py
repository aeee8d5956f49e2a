"""Chooses the next job of a queue: owners of waiting jobs take turns, so that one's many jobs do not delay another's.

A message only says that something waits in its queue; the worker then takes the job whose turn it is.

    message ─▶ the owner whose last turn is the longest ago ─▶ the oldest of its waiting jobs ─▶ claim
"""

import logging
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Min
from django.db.models.functions import Now
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
        oldest = _queued(chosen.model).filter(**{chosen.model.OWNER: chosen.owner_id}).order_by("created_at", "id")
        job_id = oldest.values_list("id", flat=True).first()
        if job_id is not None and _work_of(chosen.model)(job_id):
            return
    log.warning("%s: none of %d jobs could be claimed; a later message takes the next one", queue, MOST_TRIES)


def next_in_turn(queue: str) -> Waiting | None:
    """The owner whose turn it is; None if no job waits."""
    taken = dict(Turn.objects.filter(queue=queue).values_list("owner_id", "taken_at"))
    return min(_waiting(queue), key=lambda one: (taken.get(one.owner_id, NEVER), one.since), default=None)


def others_wait(job: Job) -> bool:
    """Whether a job of another owner waits in the queue of `job`. No, if this worker takes nothing: it is drained."""
    own_worker = Worker.objects.filter(identity=os.environ.get(WORKER_VARIABLE, ""))
    if own_worker.exclude(takes_nothing_because="").exists():
        return False
    own = owner_of(job)
    return any(one.owner_id != own for one in _waiting(job.QUEUE))


def owner_of(job: Job) -> uuid.UUID:
    """The owner of `job`."""
    owner: uuid.UUID = type(job)._default_manager.values_list(job.OWNER, flat=True).get(id=job.id)
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
        for owner_id, since in _queued(model).order_by().values_list(model.OWNER).annotate(since=Min("created_at"))
    ]


def _queued(model: type[Job]) -> Any:
    return model._default_manager.filter(status=model.QUEUED, cancel_requested=False)


def _work_of(model: type[Job]) -> Callable[[uuid.UUID], bool]:
    work: Callable[[uuid.UUID], bool] = import_string(model.WORK.replace(":", "."))
    return work
