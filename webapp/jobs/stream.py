"""Streams a job's events to the browser by server-sent events, the one live transport.

Messages: `event: events`, `id: <number of its last event>`, `data: [event, ...]`; and, whenever the status changes,
`event: status`, without an id, `data: {"status", "error", ...}`. The stream closes after the status of an ended job. A
browser that reconnects with Last-Event-ID gets the following events: no gap, no repeat.

A stream sleeps until a notice wakes it or, in case one is lost, until it reads the database by itself. Viewers that are
at the same event share one read and one text.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from webapp.jobs.event_log import events_after
from webapp.jobs.job import JobWithEvents, StagedJob
from webapp.jobs.notices import listeners
from webapp.jobs.shared_texts import SharedTexts
from webapp.json_field import to_text

LOOK_EVERY_SECONDS = 15.0
"""without a notice; the stream then sends a comment, which keeps the connection open"""
ASK_EVERY_SECONDS = 2.0
"""at most, whether a viewer may still see what is sent"""
RETRY_MILLISECONDS = 2000
MOST_EVENTS_A_MESSAGE = 250
MOST_STREAMS = 500
"""open in one process; a further viewer is refused and reads pages of events instead"""

MOST_SHARED_BYTES = 4 * 1024**2
"""of full messages, which never change"""

Arguments = ParamSpec("Arguments")
Answered = TypeVar("Answered")

_readers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="stream")
"""these threads read the database for all streams: a waiting viewer holds neither a thread nor a connection"""


@dataclass(frozen=True, slots=True)
class Look:
    """The state of a source now, and its next events."""

    state: dict[str, Any]
    """`status`, `error` and the other values that change without an event"""
    ended: bool
    """whether these events are the last"""
    last_seq: int
    events: Sequence[tuple[int, str]] = ()
    """(number, JSON text) of the next ones"""


class Source(Protocol):
    """The source of a stream or of a page of events. Equal ones are the same source: viewers share what they read."""

    @property
    def what(self) -> str:
        """Its kind in words: `run`."""

    @property
    def rest_seconds(self) -> float:
        """The least time between two reads: news may come faster than anybody can see."""

    def job_ids(self) -> Sequence[uuid.UUID]:
        """The jobs whose notices wake the stream."""

    def look(self, seq: int, limit: int, /) -> Look | None:
        """The state, and at most `limit` events after `seq`; None if it has been deleted."""


@dataclass(frozen=True, slots=True)
class JobEvents:
    """The stored events of one job."""

    model: type[JobWithEvents]
    job_id: uuid.UUID
    what: str
    rest_seconds: float = 0.1

    def job_ids(self) -> Sequence[uuid.UUID]:
        """The job's id."""
        return [self.job_id]

    def look(self, seq: int, limit: int) -> Look | None:
        """Read the row first: if it has ended, the events read after it are complete."""
        job = self.model._default_manager.filter(id=self.job_id).only(*self.model.PROGRESS, "last_seq").first()
        if job is None:
            return None
        return Look(job.progress(), job.has_ended, job.last_seq, events_after(self.job_id, seq, limit))


@dataclass(frozen=True, slots=True)
class JobStages:
    """The progress of a job without events, which its row tells alone."""

    model: type[StagedJob]
    job_id: uuid.UUID
    what: str
    rest_seconds: float = 0.1

    def job_ids(self) -> Sequence[uuid.UUID]:
        """The job's id."""
        return [self.job_id]

    def look(self, _seq: int, _limit: int) -> Look | None:
        """The progress now."""
        job = self.model._default_manager.filter(id=self.job_id).only(*self.model.PROGRESS).first()
        return None if job is None else Look(job.progress(), job.has_ended, last_seq=0)


@dataclass(frozen=True, slots=True)
class Portion:
    """What a viewer gets at once."""

    message: bytes
    """its events, ready to send; empty without any"""
    last_seq: int
    """the number of its last event"""
    more: bool
    """whether it is full, so that more may be stored"""
    state: dict[str, Any]
    ended: bool


async def messages(
    source: Source, seq: int, still_allowed: Callable[[], bool] | None = None
) -> AsyncIterator[str | bytes]:
    """The messages after event `seq`, until the job has ended or is deleted, or the viewer may no longer see it.

    `still_allowed`: asks the database whether the viewer may; None: nothing can change it.
    """
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    sent: dict[str, Any] = {}
    asked_at = time.monotonic()
    with listeners.bell(await read(source.job_ids)) as news:
        while True:
            news.clear()
            if still_allowed is not None and time.monotonic() - asked_at >= ASK_EVERY_SECONDS:
                if not await read(still_allowed):
                    yield f"event: status\ndata: {to_text(_deleted(source.what).state)}\n\n"
                    return
                asked_at = time.monotonic()
            portion = _full_portions.get((source, seq)) or await _shared_reads.portion(source, seq)
            if portion.message:
                seq = portion.last_seq
                yield portion.message
            if portion.state != sent and not portion.more:
                sent = portion.state
                yield f"event: status\ndata: {to_text(sent)}\n\n"
            if portion.ended and not portion.more:
                return
            if not portion.more and not await _notified(news):
                yield ": still here\n\n"
            await asyncio.sleep(source.rest_seconds)


class SharedReads:
    """Reads of the database under way, for all viewers of this process that wait for the same."""

    def __init__(self) -> None:
        self._pending: dict[tuple[Source, int], tuple[int, asyncio.Task[Portion]]] = {}

    async def portion(self, source: Source, seq: int) -> Portion:
        """The events after `seq`, from a read that began after the last notice."""
        key = source, seq
        rings, task = self._pending.get(key, (None, None))
        if task is None or rings != listeners.rings:
            task = asyncio.create_task(read(_read_portion, source, seq))
            self._pending[key] = listeners.rings, task
            task.add_done_callback(lambda ended: self._forget(key, ended))
        return await asyncio.shield(task)  # it goes on for the others if this viewer leaves

    def _forget(self, key: tuple[Source, int], task: "asyncio.Task[Portion]") -> None:
        if self._pending.get(key, (0, None))[1] is task:
            del self._pending[key]


_shared_reads = SharedReads()
_full_portions: SharedTexts[Portion] = SharedTexts(MOST_SHARED_BYTES)


def _read_portion(source: Source, seq: int) -> Portion:
    look = source.look(seq, MOST_EVENTS_A_MESSAGE) or _deleted(source.what)
    message, last_seq = b"", seq
    if look.events:
        last_seq = look.events[-1][0]
        data = ",".join(text for _, text in look.events)
        message = f"id: {last_seq}\nevent: events\ndata: [{data}]\n\n".encode()
    portion = Portion(message, last_seq, len(look.events) == MOST_EVENTS_A_MESSAGE, look.state, look.ended)
    if portion.more:
        _full_portions.keep((source, seq), portion, len(message))
    return portion


async def _notified(news: asyncio.Event) -> bool:
    """Whether a notice came, rather than `LOOK_EVERY_SECONDS` passing."""
    try:
        async with asyncio.timeout(LOOK_EVERY_SECONDS):
            await news.wait()
    except TimeoutError:
        return False
    return True


def _deleted(what: str) -> Look:
    return Look({"status": "deleted", "error": f"This {what} has been deleted."}, ended=True, last_seq=0)


async def read(look: Callable[Arguments, Answered], *arguments: Arguments.args, **named: Arguments.kwargs) -> Answered:
    """Call `look` in one of the few threads that read the database for streams."""

    def reading() -> Answered:
        try:
            return look(*arguments, **named)
        finally:
            close_old_connections()

    return await sync_to_async(reading, thread_sensitive=False, executor=_readers)()
