"""A run's events as they come, by server-sent events.

Messages: `event: events`, `id: <number of its last event>`, `data: [event, ...]`; at the end `event: status`, without
an id, `data: {"status", "error"}`. A browser that comes back with Last-Event-ID gets what follows: no gap, no repeat.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async

from webapp.jobs.event_log import events_after
from webapp.json_text import to_text
from webapp.runs.models import Run

LOOK_EVERY_SECONDS = 0.3
MOST_MESSAGES_A_SECOND = 10
COMMENT_EVERY_SECONDS = 15.0
RETRY_MILLISECONDS = 2000
MOST_EVENTS_A_MESSAGE = 250


async def messages(run_id: uuid.UUID, seq: int) -> AsyncIterator[str]:
    """The stream from after event `seq` until the run has ended, or is deleted."""
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    told_at = time.monotonic()
    while True:
        # The status first: once it is a last one, no event can come after those that are then read.
        status, error, events = await _look(run_id, seq)
        if events:
            seq = events[-1][0]
            data = ",".join(text for _, text in events)
            yield f"id: {seq}\nevent: events\ndata: [{data}]\n\n"
            told_at = time.monotonic()
        elif status not in (Run.QUEUED, Run.RUNNING):
            yield f"event: status\ndata: {to_text({'status': status, 'error': error})}\n\n"
            return
        elif time.monotonic() - told_at >= COMMENT_EVERY_SECONDS:
            yield ": still here\n\n"
            told_at = time.monotonic()
        await asyncio.sleep(1 / MOST_MESSAGES_A_SECOND if len(events) == MOST_EVENTS_A_MESSAGE else LOOK_EVERY_SECONDS)


@sync_to_async
def _look(run_id: uuid.UUID, seq: int) -> tuple[str, str, list[tuple[int, str]]]:
    """Status and error of the run, and its next events."""
    row = Run.objects.filter(id=run_id).values_list("status", "error").first()
    if row is None:
        return "deleted", "This run has been deleted.", []
    return row[0], row[1], events_after(run_id, seq, MOST_EVENTS_A_MESSAGE)
