"""Refuses a body: too large, whatever its Content-Length says, too slow, one too many, or too much for the disk."""

import errno
import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from engine import api
from webapp.http.api_errors import api_error, is_api
from webapp.http.body_pace import LEAST_BYTES_A_SECOND, WINDOW_SECONDS, AsgiMessage, BodyPace, BodyTooSlowError, Receive
from webapp.http.upload_places import BUSY, UploadPlaces

Scope = dict[str, Any]
Send = Callable[[AsgiMessage], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
LargerLimit = Callable[[Scope], Awaitable[int | None]]
"""a request → the largest body it takes, in bytes; None: the usual limit"""


RETRY_AFTER_SECONDS = 5
DISK_FULL = "The server's disk is full. Nothing was stored; try again once there is space."
TOO_SLOW = (
    f"The request came too slowly; allowed: at least {LEAST_BYTES_A_SECOND} bytes a second over {WINDOW_SECONDS:g} s."
)
_RETRY = (b"retry-after", str(RETRY_AFTER_SECONDS).encode())
DISK_FAULTS = (errno.ENOSPC, errno.EDQUOT)


class BodyTooLargeError(Exception):
    """The body grew over its limit while it was read."""


class BodyWithoutSpaceError(Exception):
    """The disk is too full to spool the body."""


class BodyLimit:
    """ASGI middleware: 413 for a body over the limit, 408 for a slow one, 503 for a full disk; then it hangs up."""

    def __init__(self, application: Application, limit_bytes: int, larger_limit: LargerLimit) -> None:
        self._application = application
        self._limit_bytes = limit_bytes
        self._larger_limit = larger_limit
        self._places = UploadPlaces()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of the server."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        limit_bytes = await self._limit_of(scope)
        if _content_length(scope) > limit_bytes:
            await _refuse(scope, send, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _too_large(limit_bytes))
            return
        if not self._may_be_large(scope, limit_bytes):
            await self._taken(scope, send, limit_bytes, BodyPace(receive))
        elif await self._places.take():
            try:
                pace = BodyPace(receive, lambda: self._places.wanted)
                await self._taken(scope, send, limit_bytes, pace)
            finally:
                self._places.give_back()
        else:
            await _refuse(scope, send, HTTPStatus.SERVICE_UNAVAILABLE, BUSY, _RETRY)

    def _may_be_large(self, scope: Scope, limit_bytes: int) -> bool:
        """Whether it is an upload that may be larger than other requests' bodies."""
        has_length = bool(_headers(scope, b"content-length"))
        return limit_bytes > self._limit_bytes and (not has_length or _content_length(scope) > self._limit_bytes)

    async def _taken(self, scope: Scope, send: Send, limit_bytes: int, pace: BodyPace) -> None:
        read_bytes = 0

        async def receive_within_limit() -> AsgiMessage:
            nonlocal read_bytes
            message = await pace.receive()
            read_bytes += len(message.get("body", b""))
            if read_bytes > limit_bytes:
                raise BodyTooLargeError
            return message

        try:
            await self._application(scope, receive_within_limit, send)
        except BodyTooLargeError:  # Django reads the whole body before it answers: nothing has been sent
            await _refuse(scope, send, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _too_large(limit_bytes))
        except BodyTooSlowError:
            await _refuse(scope, send, HTTPStatus.REQUEST_TIMEOUT, TOO_SLOW)
        except BodyWithoutSpaceError:
            await _refuse(scope, send, HTTPStatus.SERVICE_UNAVAILABLE, DISK_FULL, _RETRY)

    async def _limit_of(self, scope: Scope) -> int:
        if scope["method"] not in ("POST", "PUT"):
            return self._limit_bytes
        return await self._larger_limit(scope) or self._limit_bytes


def _headers(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]


def _content_length(scope: Scope) -> int:
    """The announced length; 0 where none is announced, and the bytes are counted as they come."""
    values = _headers(scope, b"content-length")
    return int(values[0]) if values and values[0].isdigit() else 0


def _too_large(limit_bytes: int) -> str:
    return f"The request is too large; allowed: at most {api.bytes_words(limit_bytes)}."


async def _refuse(
    scope: Scope, send: Send, status: HTTPStatus, sentence: str, *more_headers: tuple[bytes, bytes]
) -> None:
    if is_api(scope["path"]):
        content_type, body = b"application/json", json.dumps(api_error(status, {"": [sentence]})).encode()
    elif any(b"application/json" in value for value in _headers(scope, b"accept")):
        content_type, body = b"application/json", json.dumps({"errors": {"file": [sentence]}}).encode()
    else:
        content_type, body = b"text/plain; charset=utf-8", sentence.encode()
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
        *more_headers,
    ]
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": body})
