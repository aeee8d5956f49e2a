"""Gives back the jobs of dead workers, and publishes queued jobs without a message."""

import logging
import time
import uuid
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db.models import (
    Case,
    CharField,
    DateTimeField,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast, Concat, Now

from webapp.jobs.claim import Claim
from webapp.jobs.job import CHANGED, Job, JobWithEvents
from webapp.jobs.models import SavedState
from webapp.jobs.notices import announce
from webapp.jobs.publishing import BROKER_FAULTS, publish, waiting_messages

log = logging.getLogger(__name__)

MOST_PUBLISHED_AT_ONCE = 100
SECOND_LOOK_AFTER_SECONDS = 2.0
TIMES_WITHOUT_STATE = 3
"""the losses that a job without any saved state may have, as a multiple of `settings.MOST_ATTEMPTS`"""


def job_models() -> list[type[Job]]:
    """Every model that is a job."""
    return [model for model in apps.get_models() if issubclass(model, Job)]


def unended_runs() -> list[QuerySet[Any]]:
    """What has not ended of each kind of run or search."""
    return [model.unended() for model in job_models() if model.COUNTS_AS_A_RUN]


def reap(model: type[Job]) -> int:
    """Give back every job of `model` with a stale heartbeat, and clean up ended jobs; returns how many it gave back.

    A heartbeat far in the future (the clock was set back) counts as stale: a living worker renews it anyway. It checks
    twice, so that after a machine's sleep living workers can renew theirs in between.
    """
    limit = timedelta(seconds=settings.STALE_AFTER_SECONDS)
    late = Q(heartbeat_at__lt=Now() - limit) | Q(heartbeat_at__gt=Now() + limit) | Q(heartbeat_at=None)
    stale = model._default_manager.filter(late, status=model.WORKING)
    given_back = 0
    if stale.exists():
        time.sleep(min(SECOND_LOOK_AFTER_SECONDS, settings.HEARTBEAT_SECONDS))
        given_back = _give_back(model, stale, crashed=True)
    _end_cancelled(model)
    model.clean_up_ended()
    return given_back


def give_back_all_of(worker: str) -> int:
    """Give back the jobs of `worker`, which is shutting down. Not counted as an attempt."""
    given_back = 0
    for model in job_models():
        given_back += _give_back(model, model._default_manager.filter(worker=worker), crashed=False)
        model.clean_up_ended()
    return given_back


def give_back(claim: Claim[Any], *, crashed: bool = False) -> bool:
    """Queue the job of `claim` again, behind those that wait; False if it is no longer this worker's.

    It counts as an attempt only if it `crashed`; too many of those without progress end the job as failed.
    """
    return _give_back(claim.model, claim.rows(), crashed=crashed) == 1


def publish_queued(model: type[Job]) -> int:
    """Publish the queued rows of `model` if the queue is empty: their messages were lost, or never sent."""
    queued = model.waiting().order_by("created_at")
    count = len(queued.values_list("id", flat=True)[:MOST_PUBLISHED_AT_ONCE])
    try:
        if not count or waiting_messages(model.QUEUE) > 0:
            return 0
    except BROKER_FAULTS as error:
        log.warning("the broker cannot be reached: %s", error)
        return 0
    return sum(publish(model.QUEUE) for _ in range(count))


def queue_all_again() -> int:
    """Queue every job that is being worked on: nobody works after a restore. Not counted as an attempt.

    A reaper publishes them once workers start.
    """
    return sum(len(_end_attempts(model, model._default_manager.all(), crashed=False)) for model in job_models())


def _give_back(model: type[Job], rows: QuerySet[Any], *, crashed: bool) -> int:
    """End the attempts at `rows`, and publish those that are queued again; returns how many."""
    ids = _end_attempts(model, rows, crashed=crashed)
    if ids:
        log.info("%s: %d given back", model.__name__, len(ids))
        announce(*ids)
        _publish_at_once(model.QUEUE, model._default_manager.filter(id__in=ids, status=model.QUEUED).count())
    return len(ids)


def _end_attempts(model: type[Job], rows: QuerySet[Any], *, crashed: bool) -> list[uuid.UUID]:
    """working → queued; cancelled if requested; failed after too many attempts without progress. Returns their ids.

    One statement, so that a request to cancel comes before it or after it and is never lost.
    """
    working = rows.filter(status=model.WORKING)
    ids = list(working.values_list("id", flat=True))
    asked_for = Q(cancel_requested=True)
    too_many = ~asked_for & _lost_too_often(model) if crashed else Q(pk__in=())
    sentence = Concat(
        Value("Its worker stopped unexpectedly "),
        Cast("fruitless_attempts", CharField()),
        Value(" times without any progress in between; it will not be tried again."),
        output_field=TextField(),
    )
    changed = working.filter(id__in=ids).update(
        status=Case(
            When(asked_for, then=Value(model.CANCELLED)),
            When(too_many, then=Value(model.FAILED)),
            default=Value(model.QUEUED),
            output_field=CharField(),
        ),
        error=Case(When(too_many, then=sentence), default=F("error"), output_field=TextField()),
        finished_at=Case(When(asked_for | too_many, then=Now()), default=None, output_field=DateTimeField()),
        attempts=F("attempts") if crashed else F("attempts") - 1,
        fruitless_attempts=F("fruitless_attempts") if crashed else F("fruitless_attempts") - 1,
        claim=None,
        worker="",
        heartbeat_at=None,
        **CHANGED,
    )
    return ids if changed else []


def _lost_too_often(model: type[Job]) -> Q:
    """Whether losses without progress in between end a job.

    A run or training that has saved no state yet, or whose method saves none, cannot show its progress: it may lose
    more.
    """
    most = settings.MOST_ATTEMPTS
    if not issubclass(model, JobWithEvents):
        return Q(fruitless_attempts__gte=most)
    has_state = Exists(SavedState.objects.filter(job_id=OuterRef("pk")))
    return Q(fruitless_attempts__gte=most * TIMES_WITHOUT_STATE) | Q(fruitless_attempts__gte=most) & Q(has_state)


def _publish_at_once(queue: str, count: int) -> None:
    """Publish so many jobs again: their first messages may be lost, or be redelivered only after the broker's timeout.

    A repeated message does no harm. If the broker cannot be reached, a later round publishes them.
    """
    for _ in range(count):
        if not publish(queue):
            return


def _end_cancelled(model: type[Job]) -> None:
    """Cancel queued jobs with a request to cancel, which no worker claims; older versions left some."""
    stranded = model._default_manager.filter(status=model.QUEUED, cancel_requested=True)
    ids = list(stranded.values_list("id", flat=True))
    ended = stranded.filter(id__in=ids).update(status=model.CANCELLED, finished_at=Now(), **CHANGED)
    if ended:
        announce(*ids)
        log.info("%s: %d queued jobs cancelled, as requested", model.__name__, ended)
