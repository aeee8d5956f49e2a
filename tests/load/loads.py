"""The loads: each ends by itself, goes to this machine alone, and counts its own answers."""

import asyncio
import json
import os
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.load.figures import Times

EVENTS = 20_000
"""of the long run"""
EVENTS_A_PAGE = 2000
LONGEST_SECONDS = 120.0
"""for which any load goes on"""
UPLOAD_BYTES = 20 * 1024**2
TRICKLE_SECONDS = 3.0
"""between two bytes of a slow request"""


@dataclass(slots=True)
class Visit:
    """What a load needs of the application."""

    client: aiohttp.ClientSession
    address: str
    port: int
    project: str
    """its address, as those below"""
    graph: str
    run: str
    follow: Callable[[float], str]
    """start a run with new events for so many seconds, and return its address"""
    notes: dict[str, Any] = field(default_factory=dict)

    async def get(self, path: str, times: Times | None = None) -> bytes:
        """The body of an answer; its time goes to `times`. Raises aiohttp.ClientError for anything but 200."""
        begun = time.perf_counter()
        async with self.client.get(self.address + path) as answer:
            body = await answer.read()
            answer.raise_for_status()
        if times is not None:
            times.seconds.append(time.perf_counter() - begun)
        return body


Load = Callable[[Visit, Times, int], Awaitable[None]]


async def _all_at_once(count: int, times: Times, visit: Callable[[int], Awaitable[None]]) -> None:
    async def one(index: int) -> None:
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                await visit(index)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            times.failed(_words(error))

    await asyncio.gather(*(one(index) for index in range(count)))


def _words(error: Exception) -> str:
    return f"{error.status}" if isinstance(error, aiohttp.ClientResponseError) else type(error).__name__


async def viewers(visit: Visit, times: Times, count: int) -> None:
    """Open the page of an ended run at once, with all that its scripts ask for. A time is that until all is there."""
    checked: dict[int, bytes] = {}

    async def one(_: int) -> None:
        begun = time.perf_counter()
        await visit.get(visit.run)
        await visit.get(f"{visit.run}graph.json")
        after = 0
        while True:
            page = await visit.get(f"{visit.run}events.json?after={after}&limit={EVENTS_A_PAGE}")
            if page != checked.get(after):  # to parse each viewer's would cost more than to serve it
                events = json.loads(page)["events"]
                if [event["seq"] for event in events] != list(range(after + 1, after + 1 + len(events))):
                    times.failed("a gap or a double")
                checked[after] = page
            after += EVENTS_A_PAGE
            if after >= EVENTS:
                break
        times.seconds.append(time.perf_counter() - begun)

    await _all_at_once(count, times, one)


async def scripts(visit: Visit, times: Times, count: int) -> None:
    """Read the stream of an ended run from its first event, at once. A time is that until the stream's end."""

    async def one(_: int) -> None:
        begun = time.perf_counter()
        async with visit.client.get(f"{visit.address}{visit.run}events") as answer:
            answer.raise_for_status()
            async for _chunk in answer.content.iter_any():
                pass
        times.seconds.append(time.perf_counter() - begun)

    await _all_at_once(count, times, one)


async def followers(visit: Visit, times: Times, count: int) -> None:
    """Follow a run that gets 5 events a second. A time is that from one piece of news to the next."""
    seconds = 30.0
    run = await asyncio.to_thread(visit.follow, seconds + 5)

    async def one(_: int) -> None:
        last = json.loads(await visit.get(f"{run}run.json"))["last_seq"]
        deadline = time.perf_counter() + seconds
        async with visit.client.get(f"{visit.address}{run}events?after={last}") as answer:
            answer.raise_for_status()
            earlier = time.perf_counter()
            async for line in answer.content:
                if line.startswith(b"id:"):
                    now = time.perf_counter()
                    times.seconds.append(now - earlier)
                    earlier = now
                if time.perf_counter() > deadline:
                    return

    await _all_at_once(count, times, one)


async def pages(visit: Visit, times: Times, count: int) -> None:
    """Ten pages each, one after the other: projects, project, graph, run."""
    addresses = ["/", visit.project, visit.graph, visit.run]

    async def one(index: int) -> None:
        for turn in range(10):
            await visit.get(addresses[(index + turn) % len(addresses)], times)

    begun = time.perf_counter()
    await _all_at_once(count, times, one)
    visit.notes["pages a second"] = round(len(times.seconds) / (time.perf_counter() - begun), 1)


async def uploads(visit: Visit, times: Times, count: int) -> None:
    """Upload 20 MiB each that are no graph: 400 is the right answer, 503 one that asks to come again."""
    page = (await visit.get(visit.project)).decode()
    token = csrf_token(page)
    content = os.urandom(UPLOAD_BYTES)

    async def one(_: int) -> None:
        form = aiohttp.FormData({"csrfmiddlewaretoken": token})
        form.add_field("file", content, filename="load.pb", content_type="application/octet-stream")
        begun = time.perf_counter()
        address = f"{visit.address}{visit.project}graphs/"
        async with visit.client.post(address, data=form, headers={"Accept": "application/json"}) as answer:
            await answer.read()
        if answer.status == 400:
            times.seconds.append(time.perf_counter() - begun)
        else:
            times.failed(str(answer.status))

    await _all_at_once(count, times, one)


def csrf_token(page: str) -> str:
    """The token of a page's form. Raises RuntimeError without one."""
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    if found is None:
        raise RuntimeError("the project's page has no form")
    return found[1]


async def slow_requests(visit: Visit, times: Times, count: int) -> None:
    """Half of them send headers, half a body, a byte each 3 s, for 60 s. A time is that until the server ended it."""
    seconds = 60.0

    async def one(index: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", visit.port)
        begun = time.perf_counter()
        try:
            writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n")
            writer.write(b"X-Slow: " if index % 2 else b"\r\n")
            ended = asyncio.ensure_future(reader.read())
            while time.perf_counter() - begun < seconds and not ended.done():
                writer.write(b"a")
                await writer.drain()
                await asyncio.wait([ended], timeout=TRICKLE_SECONDS)
            if ended.done():
                times.seconds.append(time.perf_counter() - begun)
            else:
                times.failed(f"open after {seconds:.0f} s")
                ended.cancel()
        except ConnectionError:
            times.seconds.append(time.perf_counter() - begun)
        finally:
            writer.close()

    await _all_at_once(count, times, one)


LOADS: dict[str, tuple[Load, int, str]] = {
    "viewers": (viewers, 200, "viewers open a run of 20,000 events"),
    "scripts": (scripts, 200, "streams from event 0 of that run"),
    "followers": (followers, 200, "viewers follow a run at work"),
    "pages": (pages, 200, "visitors, each 10 pages"),
    "uploads": (uploads, 20, "uploads of 20 MiB"),
    "slow": (slow_requests, 300, "slow requests"),
}
"""name → load, how many at once, words"""
