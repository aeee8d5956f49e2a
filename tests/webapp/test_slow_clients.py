"""Requests that trickle are ended, and connections are bounded: real sockets, with limits of parts of a second."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from webapp.http import body_pace, connections, upload_places
from webapp.http.body_limit import BodyLimit
from webapp.http.body_pace import AsgiMessage, Receive
from webapp.http.connections import BoundedProtocol, most_connections
from webapp.http.once_read_body import OnceReadBody, punch
from webapp.http.upload_places import BUSY
from webapp.supervisor.parts import web_command

WINDOW_SECONDS = 0.3
PATIENCE_SECONDS = 60.0
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(autouse=True)
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a second instead of ten and thirty seconds."""
    monkeypatch.setattr(connections, "HEADERS_WITHIN_SECONDS", WINDOW_SECONDS)
    monkeypatch.setattr(connections, "READ_WITHIN_SECONDS", WINDOW_SECONDS)
    monkeypatch.setattr(body_pace, "WINDOW_SECONDS", WINDOW_SECONDS)


async def echo(scope: dict[str, Any], receive: Receive, send: Any) -> None:
    """Read the whole body, and answer with its length."""
    length, more = 0, True
    while more:
        message = await receive()
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    body = str(length).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def server(inner: Any = echo, larger_limit_bytes: int | None = None) -> AsyncIterator[int]:
    """The web server with our protocol and limits, around `inner`; yields its port."""

    async def larger_limit(_scope: dict[str, Any]) -> int | None:
        return larger_limit_bytes

    application: Any = BodyLimit(inner, 1024**2, larger_limit)
    config = uvicorn.Config(application, port=0, http=BoundedProtocol, lifespan="off", log_level="critical")
    running = uvicorn.Server(config)
    serving = asyncio.create_task(running.serve())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not running.started:
            await asyncio.sleep(0.01)
        try:
            yield running.servers[0].sockets[0].getsockname()[1]
        finally:
            running.should_exit = True
            await serving


async def trickled(port: int, first: bytes, rest: bytes, *, every_seconds: float) -> bytes:
    """Send `first`, then a byte of `rest` at a time; what came back by then, empty if the connection was just closed.

    A socket of its own, since a stream forgets what it has read when a later write fails.
    """
    loop = asyncio.get_running_loop()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setblocking(False)
        await loop.sock_sendall(connection, first)
        answer = asyncio.ensure_future(_all_that_comes(connection))
        for byte in rest:
            await asyncio.wait([answer], timeout=every_seconds)
            if answer.done():
                break
            with contextlib.suppress(ConnectionError):
                await loop.sock_sendall(connection, bytes([byte]))
        return await answer


async def _all_that_comes(connection: socket.socket) -> bytes:
    """What the server sends until it closes the connection."""
    answer = b""
    with contextlib.suppress(ConnectionError):
        while received := await asyncio.get_running_loop().sock_recv(connection, 65_536):
            answer += received
    return answer


async def answer_to(first: bytes, rest: bytes) -> bytes:
    async with server() as port:
        return await trickled(port, first, rest, every_seconds=WINDOW_SECONDS / 3)


@pytest.mark.parametrize("first", [b"", b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "])
def test_headers_that_trickle_are_ended(first: bytes) -> None:
    assert asyncio.run(answer_to(first, b"a" * 1000)) == b""


def test_a_silent_connection_is_ended() -> None:
    assert asyncio.run(answer_to(b"", b"")) == b""


def test_later_headers_on_the_same_connection_have_the_same_limit() -> None:
    answer = asyncio.run(answer_to(GET + b"GET / HTTP", b"a" * 1000))
    assert answer.startswith(b"HTTP/1.1 200 OK") and answer.count(b"HTTP/1.1") == 1


def test_a_body_that_trickles_is_408() -> None:
    answer = asyncio.run(answer_to(POST + b"Accept: application/json\r\n\r\n", b"a" * 1000))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer.lower()
    assert b"The request came too slowly; allowed: at least 1024 bytes a second over 30 s." in answer


def test_a_body_at_the_least_pace_is_read_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def send() -> tuple[bytes, float]:
        loop = asyncio.get_running_loop()
        async with server() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            begun = loop.time()
            writer.write(POST + b"Connection: close\r\n\r\n")
            for _ in range(100):
                writer.write(bytes(1000))
                await asyncio.sleep(WINDOW_SECONDS / 20)
            return await reader.read(), loop.time() - begun

    monkeypatch.setattr(connections, "HEADERS_WITHIN_SECONDS", 10.0)
    answer, seconds = asyncio.run(send())
    assert answer.endswith(b"\r\n\r\n100000"), answer
    assert seconds > 2 * WINDOW_SECONDS, "over several windows"


def test_an_answer_may_take_longer_than_the_limits() -> None:
    async def wait() -> tuple[AsgiMessage, bool]:
        messages = [{"body": b"", "more_body": False}]

        async def receive() -> AsgiMessage:
            if messages:
                return messages.pop()
            await asyncio.sleep(2 * WINDOW_SECONDS)
            return {"type": "http.disconnect"}

        pace = body_pace.BodyPace(receive)
        await pace.receive()
        return await pace.receive(), True

    assert asyncio.run(wait()) == ({"type": "http.disconnect"}, True)


ANSWER_BYTES = 32 * 1024**2
"""more than the operating system takes for one connection"""


class Large:
    """Answers each request with so many bytes in pieces; it counts those that the server has taken."""

    def __init__(self, last_bytes: int = 0) -> None:
        self.last_bytes = last_bytes
        self.taken_bytes = 0
        self.ended = asyncio.Event()

    async def __call__(self, _scope: dict[str, Any], receive: Receive, send: Any) -> None:
        await receive()
        length = b"%d" % (ANSWER_BYTES + self.last_bytes)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        gone = asyncio.ensure_future(receive())
        while self.taken_bytes < ANSWER_BYTES and not gone.done():
            await send({"type": "http.response.body", "body": bytes(65_536), "more_body": True})
            self.taken_bytes += 65_536
        if not gone.done():
            await send({"type": "http.response.body", "body": bytes(self.last_bytes)})
        gone.cancel()
        self.ended.set()


def asked(port: int) -> socket.socket:
    """A connection with a request; nothing has been read."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setblocking(False)
    connection.sendall(GET)
    return connection


def test_an_answer_that_is_not_read_is_ended() -> None:
    async def ask() -> Large:
        large = Large()
        async with server(large) as port:
            with asked(port):
                await large.ended.wait()
        return large

    assert asyncio.run(ask()).taken_bytes < ANSWER_BYTES


def test_the_last_bytes_of_an_answer_have_the_same_limit() -> None:
    """The application has ended, and the connection would be closed once these bytes are taken."""

    async def ask() -> tuple[bytes, int]:
        async def all_at_once(_scope: dict[str, Any], receive: Receive, send: Any) -> None:
            await receive()
            headers = [(b"content-length", b"%d" % ANSWER_BYTES), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": bytes(ANSWER_BYTES)})

        async with server(all_at_once) as port:
            with asked(port) as connection:
                await asyncio.sleep(2 * WINDOW_SECONDS)
                read = await _all_that_comes(connection)
                return read[:12], len(read)

    start, length = asyncio.run(ask())
    assert start == b"HTTP/1.1 200"
    assert length < ANSWER_BYTES


def test_an_answer_that_is_read_slowly_comes_whole() -> None:
    async def ask() -> tuple[int, float]:
        loop = asyncio.get_running_loop()
        large = Large(last_bytes=1)
        async with server(large) as port:
            with asked(port) as connection:
                begun, length = loop.time(), 0
                while length < ANSWER_BYTES:
                    await asyncio.sleep(WINDOW_SECONDS / 10)
                    length += len(await loop.sock_recv(connection, ANSWER_BYTES // 32))
                return length, loop.time() - begun

    length, seconds = asyncio.run(ask())
    assert length > ANSWER_BYTES
    assert seconds > 2 * WINDOW_SECONDS, "over several limits"


UPLOAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\nConnection: close\r\n\r\n"


def test_few_uploads_are_taken_at_once_and_the_others_are_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_places, "MOST_UPLOADS", 2)
    monkeypatch.setattr(upload_places, "LONGEST_WAIT_SECONDS", WINDOW_SECONDS)
    monkeypatch.setattr(body_pace, "WINDOW_SECONDS", 30.0)
    monkeypatch.setattr(connections, "HEADERS_WITHIN_SECONDS", 30.0)

    async def ask() -> list[bytes]:
        async with server(larger_limit_bytes=3_000_000) as port:
            opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
            for _, writer in opened[:2]:
                writer.write(UPLOAD + bytes(1000))
            (third, third_writer), (small, small_writer), (later, later_writer) = opened[2:]
            await asyncio.sleep(0.1)
            third_writer.write(UPLOAD)
            small_writer.write(GET.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\nContent-Length: 3\r\n\r\nabc"))
            answers = [await small.readline(), await third.read()]
            monkeypatch.setattr(upload_places, "LONGEST_WAIT_SECONDS", 30.0)
            later_writer.write(UPLOAD + bytes(2_000_000))
            for reader, writer in opened[:2]:
                writer.write(bytes(1_999_000))
                answers.append(await reader.read())
            answers.append(await later.read())
            for _, writer in opened:
                writer.close()
            return answers

    small, third, *whole = asyncio.run(ask())
    assert small.startswith(b"HTTP/1.1 200 ")
    assert third.startswith(b"HTTP/1.1 503 ") and b"retry-after: 5" in third.lower() and BUSY.encode() in third
    assert all(answer.endswith(b"2000000") for answer in whole), "one waited for its place"


def test_a_slow_upload_is_ended_while_another_waits_for_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_places, "MOST_UPLOADS", 1)
    monkeypatch.setattr(upload_places, "LONGEST_WAIT_SECONDS", 30.0)
    monkeypatch.setattr(connections, "HEADERS_WITHIN_SECONDS", 30.0)

    async def ask() -> tuple[bytes, bytes]:
        async with server(larger_limit_bytes=3_000_000) as port:
            slow, slow_writer = await asyncio.open_connection("127.0.0.1", port)
            slow_writer.write(UPLOAD)
            ended = asyncio.ensure_future(slow.read())
            for _ in range(12):
                slow_writer.write(bytes(500))
                await asyncio.sleep(WINDOW_SECONDS / 4)
            assert not ended.done(), "nobody waits: over the least pace"
            other, other_writer = await asyncio.open_connection("127.0.0.1", port)
            other_writer.write(UPLOAD + bytes(2_000_000))
            while not ended.done():
                slow_writer.write(bytes(500))
                await asyncio.sleep(WINDOW_SECONDS / 4)
            answers = await ended, await other.read()
            for writer in (slow_writer, other_writer):
                writer.close()
            return answers

    slow, other = asyncio.run(ask())
    assert slow.startswith(b"HTTP/1.1 408 ")
    assert other.endswith(b"2000000")


def test_an_upload_takes_its_size_on_the_disk_once(tmp_path: Path) -> None:
    """What is read of the spooled body is no longer there: the reader has written it to its own file."""
    mebibyte = 1024**2
    with OnceReadBody(mebibyte, dir=str(tmp_path)) as body:
        for number in range(20):
            body.write(bytes([number]) * mebibyte)
        body.seek(0)
        if not punch(body.fileno(), 0, 4096):
            pytest.skip("this file system cannot give back a part of a file")
        taken, pieces = [], []
        while piece := body.read(mebibyte // 4):
            pieces.append(piece[-1])
            taken.append(os.fstat(body.fileno()).st_blocks * 512)
        assert pieces == [number for number in range(20) for _ in range(4)]
        assert all(bytes_ <= (21 - index // 4) * mebibyte for index, bytes_ in enumerate(taken)), taken
        assert taken[-1] <= mebibyte


def test_a_connection_beyond_the_bound_is_503_and_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(connections, "HEADERS_WITHIN_SECONDS", 30.0)

    async def open_all() -> tuple[bytes, bytes]:
        async with server() as port:
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            refused = await reader.read()
            writer.close()
            reader, writer = held[0]
            writer.write(GET)
            served = await reader.readline()
            for _, held_writer in held:
                held_writer.close()
            return refused, served

    refused, served = asyncio.run(open_all())
    assert refused.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 5" in refused
    assert refused.endswith(connections.SENTENCE)
    assert served.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(("files", "most"), [(1024, 768), (2**20, 10_000), (-1, 10_000)])
def test_the_bound_leaves_files_for_everything_else(files: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.http.connections.resource.getrlimit", lambda _: (files, files))
    assert most_connections() == most


def test_the_web_server_is_started_with_these_limits() -> None:
    command = web_command("127.0.0.1", 8000)
    assert command[command.index("--http") + 1] == f"{BoundedProtocol.__module__}:{BoundedProtocol.__qualname__}"
