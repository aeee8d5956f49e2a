"""A job's events as they come, by server-sent events: the one live transport to the browser.

Messages: `event: events`, `id: <number of its last event>`, `data: [event, ...]`; and, whenever it is another one,
`event: status`, without an id, `data: {"status", "error", ...}`: after the one that says that the job has ended the
stream closes. A browser that comes back with Last-Event-ID gets what follows: no gap, no repeat.

Nobody asks the database while nothing happens: a stream sleeps until a notice wakes it, or, should that be lost, until
it looks by itself.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from webapp.jobs.event_log import events_after
from webapp.jobs.job import JobWithEvents
from webapp.jobs.notices import listeners
from webapp.json_field import to_text

LOOK_EVERY_SECONDS = 15.0
"""by itself; the comment that goes out then keeps the connection open"""
RETRY_MILLISECONDS = 2000
MOST_EVENTS_A_MESSAGE = 250
MOST_STREAMS = 500
"""open in one process; who comes later is told so, and asks for pages of events instead"""

Arguments = ParamSpec("Arguments")
Answered = TypeVar("Answered")

_readers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="stream")
"""that look into the database for all streams: a viewer holds neither a thread nor a connection while it waits"""


@dataclass(frozen=True, slots=True)
class Look:
    """What a source has to tell now."""

    state: dict[str, Any]
    """`status`, `error` and what else changes without an event"""
    ended: bool
    """whether no event will come after these"""
    last_seq: int
    events: Sequence[tuple[int, str]] = ()
    """number and JSON text of the next ones"""


class Source(Protocol):
    """What a stream, or a page of events, is made of."""

    @property
    def what(self) -> str:
        """It is, for people: `run`."""

    @property
    def rest_seconds(self) -> float:
        """Between two looks: there may be news more often than anybody can see."""

    def job_ids(self) -> Sequence[uuid.UUID]:
        """Whose notices mean news."""

    def look(self, seq: int, limit: int, /) -> Look | None:
        """The state, and at most `limit` events after `seq`; None where it has been deleted."""


@dataclass(frozen=True, slots=True)
class JobEvents:
    """The stored events of one job."""

    model: type[JobWithEvents]
    job_id: uuid.UUID
    what: str
    rest_seconds: float = 0.1

    def job_ids(self) -> Sequence[uuid.UUID]:
        """It alone."""
        return [self.job_id]

    def look(self, seq: int, limit: int) -> Look | None:
        """The row first: once its status is a last one, no event can come after those that are then read."""
        job = self.model._default_manager.filter(id=self.job_id).only(*self.model.PROGRESS, "last_seq").first()
        if job is None:
            return None
        return Look(job.progress(), job.has_ended, job.last_seq, events_after(self.job_id, seq, limit))


async def messages(source: Source, seq: int) -> AsyncIterator[str]:
    """The stream from after event `seq` until the job has ended, or is deleted."""
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    sent: dict[str, Any] = {}
    with listeners.bell(await read(source.job_ids)) as news:
        while True:
            news.clear()
            look = await read(source.look, seq, MOST_EVENTS_A_MESSAGE) or _deleted(source.what)
            if look.events:
                seq = look.events[-1][0]
                data = ",".join(text for _, text in look.events)
                yield f"id: {seq}\nevent: events\ndata: [{data}]\n\n"
            more = len(look.events) == MOST_EVENTS_A_MESSAGE
            if look.state != sent and not more:
                sent = look.state
                yield f"event: status\ndata: {to_text(sent)}\n\n"
            if look.ended and not more:
                return
            if not more and not await _rang(news):
                yield ": still here\n\n"
            await asyncio.sleep(source.rest_seconds)


async def _rang(news: asyncio.Event) -> bool:
    """Whether there was a notice, rather than time to look again."""
    try:
        async with asyncio.timeout(LOOK_EVERY_SECONDS):
            await news.wait()
    except TimeoutError:
        return False
    return True


def _deleted(what: str) -> Look:
    return Look({"status": "deleted", "error": f"This {what} has been deleted."}, ended=True, last_seq=0)


async def read(look: Callable[Arguments, Answered], *arguments: Arguments.args, **named: Arguments.kwargs) -> Answered:
    """What `look` finds in the database, in one of the few threads that read for streams."""

    def reading() -> Answered:
        try:
            return look(*arguments, **named)
        finally:
            close_old_connections()

    return await sync_to_async(reading, thread_sensitive=False, executor=_readers)()
