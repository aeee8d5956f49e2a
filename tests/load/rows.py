"""Rows for the load: a long run, made from a short one. Runs as a script with a checkout's own models.

python rows.py lengthen RUN EVENTS     repeat the run's last episode until it has that many events
python rows.py follow RUN SECONDS      a copy of the run that works, with 5 new events a second; prints its id
"""

import json
import os
import sys
import time
import uuid
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()

from django.db import transaction  # noqa: E402  # models need the set-up
from django.utils import timezone  # noqa: E402

from webapp.jobs.models import Event  # noqa: E402
from webapp.jobs.notices import announce  # noqa: E402
from webapp.runs.models import Run  # noqa: E402

EVENTS_A_SECOND = 5


def lengthen(run_id: uuid.UUID, events: int) -> None:
    """Repeat the last episode of an ended run, before its last event, until it has `events` events."""
    stored = _stored(run_id)
    before, last = stored[:-1], stored[-1]
    episode = next(event for event in reversed(before) if event["type"] == "episode")
    copies = [{**episode, "episode": episode["episode"] + count} for count in range(1, events - len(stored) + 1)]
    with transaction.atomic():
        Event.objects.filter(job_id=run_id, seq=last["seq"]).delete()
        _store(run_id, [*copies, last], len(before) + 1)
        Run.objects.filter(id=run_id).update(last_seq=events, evaluations_used=events)


def follow(run_id: uuid.UUID, seconds: float) -> None:
    """Keep a copy of the run at work for `seconds`, without a worker; it is deleted at the end."""
    run = Run.objects.get(id=run_id)
    events = _stored(run_id)
    run.id, run.status, run.last_seq = uuid.uuid4(), Run.RUNNING, len(events) - 1
    run.heartbeat_at, run.finished_at = timezone.now(), None
    run.save(force_insert=True)
    with transaction.atomic():
        _store(run.id, events[:-1], 1)
    print(run.id, flush=True)
    episode = next(event for event in reversed(events) if event["type"] == "episode")
    last_seq, deadline = len(events) - 1, time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            time.sleep(1.0)
            with transaction.atomic():
                _store(run.id, [episode] * EVENTS_A_SECOND, last_seq + 1)
                last_seq += EVENTS_A_SECOND
                Run.objects.filter(id=run.id).update(last_seq=last_seq, heartbeat_at=timezone.now())
                announce(run.id)
    finally:
        run.delete()


def _stored(run_id: uuid.UUID) -> list[dict[str, Any]]:
    texts = Event.objects.filter(job_id=run_id).order_by("seq").values_list("data", flat=True)
    return [json.loads(text) for text in texts]


def _store(run_id: uuid.UUID, events: list[dict[str, Any]], first_seq: int) -> None:
    rows = [
        Event(job_id=run_id, seq=seq, type=event["type"], data=json.dumps({**event, "seq": seq}, separators=(",", ":")))
        for seq, event in enumerate(events, first_seq)
    ]
    Event.objects.bulk_create(rows, batch_size=500)


COMMANDS = {"lengthen": (lengthen, int), "follow": (follow, float)}

if __name__ == "__main__":
    command, number = COMMANDS[sys.argv[1]]
    command(uuid.UUID(sys.argv[2]), number(sys.argv[3]))
