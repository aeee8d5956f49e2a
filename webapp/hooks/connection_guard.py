"""Judges each connection of a library that opens its own: the rules of `reachable`, at the moment of the connection.

Python reports a connection to its audit hooks before it is made, with the address to which the name was resolved. So
nothing can change between the check and the connection, redirects and second connections are judged too, and it does
not matter by which library they are made.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from webapp.hooks.reachable import AllowedPlaces, UnreachableError, address_of

_CONNECTIONS = ("socket.connect", "socket.sendto", "socket.sendmsg")
_NOT_HERE = "It uses a connection other than one over the internet."


class Guard:
    """What was refused in one `with` block."""

    def __init__(self) -> None:
        self._allowed = AllowedPlaces.of_settings()
        self.refused = ""
        """the last refusal's sentence; empty without one"""

    def judge(self, where: object) -> None:
        """Raise UnreachableError unless `where`, a socket's address, may be reached."""
        host = where[0] if isinstance(where, tuple) and where and isinstance(where[0], str) else ""
        address = address_of(host)
        sentence = _NOT_HERE if address is None else self._allowed.refusal(address)
        if sentence:
            self.refused = sentence
            raise UnreachableError(sentence)


_guard: ContextVar[Guard | None] = ContextVar("guard", default=None)


@contextmanager
def guarded() -> Iterator[Guard]:
    """In a `with` block: connections of this context are judged."""
    _listen()
    token = _guard.set(Guard())
    guard = _guard.get()
    assert guard is not None
    try:
        yield guard
    finally:
        _guard.reset(token)


@cache
def _listen() -> None:
    """Once in a process: an audit hook stays to its end."""
    sys.addaudithook(_judge)


def _judge(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _CONNECTIONS and (guard := _guard.get(None)) is not None and arguments[1] is not None:
        token = _guard.set(None)  # what judges looks at the network itself
        try:
            guard.judge(arguments[1])
        finally:
            _guard.reset(token)
