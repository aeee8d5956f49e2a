"""The chore that stores a delivery for each event that a webhook asks for.

    a job ends, in any process ─▶ its row says so ─▶ a look finds it ─▶ a row for each webhook ─▶ a worker sends it

A look begins a while before the last one ended, since a transaction that was open then may have stored an earlier time;
the key of a delivery makes that harmless. So an event is stored once, and at whatever moment a process is killed.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from webapp.hooks.bodies import Occurrence, body_of
from webapp.hooks.events import RUN_BETTER
from webapp.hooks.happenings import BETTER_EVERY, better_found, ended_since, told_before
from webapp.hooks.models import Delivery, EventsRead, Webhook
from webapp.jobs.publishing import publish, publish_soon
from webapp.runs.models import Run

OVERLAP = timedelta(minutes=10)
"""longer than any transaction that ends a job"""
MARK_EVERY = timedelta(minutes=1)
RESOLUTION = timedelta(milliseconds=1)
"""of the times that SQLite stores: it compares texts, of which one of microseconds is the later one"""

Hooks = dict[UUID, list[Webhook]]
"""project → those of its webhooks that are active"""


def note_events() -> bool:
    """Look once; False: there is nothing more until something else happens."""
    hooks = _active_hooks()
    if not hooks:
        return False
    mark, now = _mark()
    first = min(hook.listens_since for group in hooks.values() for hook in group)
    since = max(first, mark.until - OVERLAP) - RESOLUTION
    found = [
        delivery
        for occurrence in ended_since(since, hooks.keys())
        for hook in hooks[occurrence.project.id]
        if hook.listens_since <= occurrence.at
        for delivery in _asked_for(occurrence, hook)
    ]
    _store(found + _better_ones(hooks, now))
    if now - mark.until >= MARK_EVERY:
        EventsRead.objects.filter(id=mark.id, until__lt=now).update(until=now)
    return False


def _active_hooks() -> Hooks:
    hooks: Hooks = defaultdict(list)
    for hook in Webhook.objects.filter(is_active=True, project__deleted_at=None):
        hooks[hook.project_id].append(hook)
    return dict(hooks)


def _mark() -> tuple[EventsRead, datetime]:
    """The row, and the time of the database, by which jobs end."""
    EventsRead.objects.get_or_create(id=1, defaults={"until": Now()})
    mark = EventsRead.objects.annotate(now=Now()).get(id=1)
    return mark, mark.now


def _asked_for(occurrence: Occurrence, hook: Webhook) -> Iterable[Delivery]:
    """The delivery, if the webhook asks for the event."""
    if occurrence.event in hook.event_names:
        yield delivery_of(occurrence, hook)


def delivery_of(occurrence: Occurrence, hook: Webhook) -> Delivery:
    """A row that is not stored yet."""
    subject = occurrence.subject
    return Delivery(
        webhook=hook,
        event=occurrence.event,
        key=occurrence.key,
        subject_id=None if subject is None else subject.id,
        step_time_us=subject.best_step_time_us if isinstance(subject, Run) else None,
        body=body_of(occurrence, hook),
    )


def _better_ones(hooks: Hooks, now: datetime) -> list[Delivery]:
    """Deliveries about placements that are better than those told before, at most one a minute a run."""
    asking = {
        project: group
        for project, hooks_there in hooks.items()
        if (group := [hook for hook in hooks_there if RUN_BETTER in hook.event_names])
    }
    found = list(better_found(now, asking.keys())) if asking else []
    told = told_before([run.id for _, run in found])
    return [
        delivery_of(occurrence, hook)
        for occurrence, run in found
        for hook in asking[run.project_id]
        if _is_news(run, now, told.get((hook.id, run.id)))
    ]


def _is_news(run: Run, now: datetime, told: tuple[datetime, float] | None) -> bool:
    if told is None:
        return True
    last, best = told
    return now - last >= BETTER_EVERY and run.best_step_time_us is not None and run.best_step_time_us < best


def _store(found: list[Delivery]) -> None:
    """Store those that nobody has stored yet, and wake a worker for each."""
    keys = {delivery.key for delivery in found}
    hooks = {delivery.webhook_id for delivery in found}
    stored = set(
        Delivery.all_rows.filter(webhook__in=hooks, key__in=keys).values_list("webhook_id", "event", "key")
        if found
        else ()
    )
    new = [one for one in found if (one.webhook_id, one.event, one.key) not in stored]
    if not new:
        return
    with transaction.atomic():
        Delivery.objects.bulk_create(new, ignore_conflicts=True)
        transaction.on_commit(partial(_wake_workers, len(new)))


def _wake_workers(count: int) -> None:
    """Publish so many deliveries, until the broker does not answer: a reaper publishes what has no message."""
    for _ in range(count):
        if not publish(Delivery.QUEUE):
            return


def queue_again(delivery: Delivery) -> bool:
    """Queue an ended delivery once more, from its first try on; False if it has not ended."""
    ended = Delivery.objects.filter(id=delivery.id).exclude(status__in=(Delivery.QUEUED, Delivery.WORKING))
    fresh = {"tries": 0, "next_try_at": None, "fruitless_attempts": 0, "cancel_requested": False, "finished_at": None}
    with transaction.atomic():
        changed = ended.update(status=Delivery.QUEUED, error="", revision=F("revision") + 1, **fresh)
        if changed:
            transaction.on_commit(partial(publish_soon, Delivery.QUEUE))
    return changed == 1
