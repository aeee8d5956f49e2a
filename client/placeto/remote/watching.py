"""Follows work on a server, whatever happens to the connection: no event is lost, none comes twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from placeto.errors import ClientError, ServerError
from placeto.remote.connection import PASSING, Connection, LostError, Waits

ENDED = frozenset(("ready", "asking", "done", "failed", "cancelled"))
"""of graphs, and of jobs"""
DELETED = "deleted"
SILENCE_SECONDS = 45.0
"""after which a stream counts as lost: the server sends a sign of life three times as often"""
PATIENCE_SECONDS = 600.0
"""without any answer"""
BETWEEN_SECONDS = 2.0
"""at least, before a stream that has ended is asked for again"""
EVENTS_A_PAGE = 2000
LONGEST_LINE = 256 * 1024**2


@dataclass(frozen=True)
class News:
    """Events, in their order, and the state after them."""

    events: list[dict[str, Any]] = field(default_factory=list)
    state: Mapping[str, Any] = field(default_factory=dict)
    """status, error, and what changes without an event; empty where the stream has not said it"""

    @property
    def has_ended(self) -> bool:
        """Whether no more comes."""
        return self.state.get("status") in ENDED


class Watch:
    """Iterates over the news of one job until it has ended.

    The stream is resumed after the last event that came. Where no stream can be had, pages of events take its place.
    """

    def __init__(self, connection: Connection, path: str, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._connection, self._path = connection, path
        self._patience_seconds = patience_seconds
        self._after = 0
        """the number of the last event that has come"""
        self._heard = 0
        """how many news have come"""
        self._has_ended = False

    def __iter__(self) -> Iterator[News]:
        """The news.

        Raises:
            ServerError: The job is deleted, or may not be seen any more.
            ClientError: The server has not answered for a long time.
        """
        heard, waits = 0, self._new_waits()
        while True:
            lost = yield from self._tried(self._streamed)
            if not self._has_ended:
                lost = yield from self._tried(self._paged)
            if self._has_ended:
                return
            if self._heard > heard:
                heard, waits = self._heard, self._new_waits()
            if not waits.wait(BETWEEN_SECONDS):
                raise lost

    def _new_waits(self) -> Waits:
        return Waits(self._patience_seconds, self._connection.sleep)

    def _tried(self, look: Callable[[], Iterator[News]]) -> Generator[News, None, ClientError]:
        """The news of one look; why there are no more of it. Raises ServerError for what will not pass."""
        try:
            for news in look():
                self._heard += 1
                self._has_ended = news.has_ended
                yield news
                if self._has_ended:
                    break
        except LostError as error:
            return error
        except ServerError as error:
            if error.status not in PASSING:
                raise
            return error
        return LostError(f"{self._connection.login.address} has ended the stream")

    def _streamed(self) -> Iterator[News]:
        headers = {"Last-Event-ID": str(self._after), "Accept": "text/event-stream"}
        with self._connection.stream(f"{self._path}/events/stream", headers, SILENCE_SECONDS) as pieces:
            for kind, number, data in messages(pieces):
                if kind == "status":
                    yield News(state=_present(json.loads(data)))
                elif kind == "events":
                    events = self._new(json.loads(data))
                    self._after = max(self._after, number)
                    yield News(events)

    def _paged(self) -> Iterator[News]:
        while True:
            query = {"after": self._after, "limit": EVENTS_A_PAGE}
            answer = self._connection.send_once("GET", f"{self._path}/events", params=query)
            page = json.loads(answer.content)
            events = self._new(page.pop("events"))
            is_last = len(events) < EVENTS_A_PAGE
            self._after = max(self._after, *(event["seq"] for event in events), 0)
            yield News(events, page if is_last else {})
            if is_last:
                return

    def _new(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [event for event in events if event.get("seq", self._after + 1) > self._after]


def _present(state: dict[str, Any]) -> dict[str, Any]:
    if state.get("status") == DELETED:
        raise ServerError(404, "not_found", str(state.get("error") or "it has been deleted"))
    return state


def messages(pieces: Iterable[bytes]) -> Iterator[tuple[str, int, str]]:
    """(event, id, data) of the server-sent events in a stream; comments are left out.

    Lines end where the format says, not wherever Unicode breaks lines: names in the data may hold such characters.
    """
    kind, number = "message", 0
    data: list[str] = []
    for line in _lines(pieces):
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if not line:
            if data:
                yield kind, number, "\n".join(data)
            kind, data = "message", []
        elif name == "event":
            kind = value
        elif name == "id" and value.isascii() and value.isdigit():
            number = int(value)
        elif name == "data":
            data.append(value)


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    rest: list[bytes] = []
    size = 0
    for piece in pieces:
        *whole, last = piece.split(b"\n")
        for part in whole:
            yield b"".join([*rest, part]).rstrip(b"\r").decode("utf-8", "replace")
            rest, size = [], 0
        rest.append(last)
        size += len(last)
        if size > LONGEST_LINE:
            raise LostError("a line of the stream does not end")
