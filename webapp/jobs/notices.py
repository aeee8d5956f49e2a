"""Notices of changed jobs, from the process that stores a change to the web processes with waiting viewers.

A notice is the job's id on a channel of Redis, sent after the commit; the news itself is in the database. A lost
notice delays a viewer until its stream reads the database by itself (`stream.LOOK_EVERY_SECONDS`).
"""

import asyncio
import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial

from django.conf import settings
from django.db import transaction
from redis import Redis
from redis import asyncio as redis_asyncio
from redis.exceptions import RedisError

from webapp.jobs.background import send

log = logging.getLogger(__name__)

CHANNEL = "placeto:news"
LONGEST_SEND_SECONDS = 1.0
RETRY_SECONDS = 2.0
HEALTH_CHECK_SECONDS = 30
_next_try_at: dict[str, float] = {}
"""address of a Redis that has just failed → when it is tried again, on the monotonic clock"""


def announce(*job_ids: uuid.UUID) -> None:
    """Send a notice of each job after the current transaction's commit."""
    transaction.on_commit(partial(send, partial(_send, job_ids)))


def _send(job_ids: Iterable[uuid.UUID]) -> None:
    """Send them, unless Redis has just failed: a job at work must not wait for it with each event."""
    address = settings.NOTICES_URL
    if time.monotonic() < _next_try_at.get(address, float("-inf")):
        return
    try:
        client = _client(address)
        for job_id in job_ids:
            client.publish(CHANNEL, job_id.hex)
    except (RedisError, OSError) as error:
        _next_try_at[address] = time.monotonic() + RETRY_SECONDS
        log.warning("Redis takes no notices; viewers look by themselves: %s", error)


@lru_cache(maxsize=4)
def _client(url: str) -> "Redis":
    return Redis.from_url(url, socket_connect_timeout=LONGEST_SEND_SECONDS, socket_timeout=LONGEST_SEND_SECONDS)


class Listeners:
    """The viewers in this process that wait for notices; they share one connection to Redis."""

    def __init__(self) -> None:
        self._bells: defaultdict[uuid.UUID, set[asyncio.Event]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None
        self.count = 0
        """number of waiting viewers"""
        self.rings = 0
        """number of times that viewers were woken: what was read before the last one may be old"""

    @contextmanager
    def bell(self, job_ids: Iterable[uuid.UUID]) -> Iterator[asyncio.Event]:
        """Yield an event that is set at each notice of these jobs, and whenever notices may have been missed."""
        bell = asyncio.Event()
        keys = list(job_ids)
        self.count += 1
        for key in keys:
            self._bells[key].add(bell)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._listen())
        try:
            yield bell
        finally:
            self.count -= 1
            for key in keys:
                self._bells[key].discard(bell)
                if not self._bells[key]:
                    del self._bells[key]
            if self.count == 0:
                self._task.cancel()
                self._task = None

    def ring(self, *job_ids: uuid.UUID) -> None:
        """Wake the viewers of these jobs."""
        for job_id in job_ids:
            bells = self._bells.get(job_id, ())
            self.rings += bool(bells)
            for bell in bells:
                bell.set()

    async def _listen(self) -> None:
        while True:
            try:
                await self._receive()
            except (RedisError, OSError) as error:
                log.warning("no notices from Redis; trying again: %s", error)
            await asyncio.sleep(RETRY_SECONDS)

    async def _receive(self) -> None:
        """Ring the bells, until the connection is lost."""
        client = redis_asyncio.Redis.from_url(settings.NOTICES_URL, health_check_interval=HEALTH_CHECK_SECONDS)
        async with client, client.pubsub() as channel:
            await channel.subscribe(CHANNEL)
            while True:
                message = await channel.get_message(timeout=HEALTH_CHECK_SECONDS)
                if message is None:
                    continue
                if message["type"] == "message":
                    self.ring(uuid.UUID(message["data"].decode()))
                else:  # subscribed, perhaps again: earlier notices are lost
                    self.ring(*self._bells)


listeners = Listeners()
