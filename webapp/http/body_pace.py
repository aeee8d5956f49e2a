"""The least pace of a body: a request that trickles is ended."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

AsgiMessage = Mapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]

WINDOW_SECONDS = 30.0
LEAST_BYTES_A_SECOND = 1024
"""over each window; a smaller body has to be complete by the end of one"""
LEAST_WHILE_OTHERS_WAIT = 32 * 1024
"""the same of an upload while others wait for its place"""


class BodyTooSlowError(Exception):
    """The body came more slowly than the least pace."""


class BodyPace:
    """The body's messages, with a look at the pace at the end of each window."""

    def __init__(self, receive: Receive, others_wait: Callable[[], bool] = lambda: False) -> None:
        """With `others_wait` it must come faster, at `LEAST_WHILE_OTHERS_WAIT`."""
        self._receive, self._others_wait = receive, others_wait
        self._is_complete = False
        self._begin_window()

    def _begin_window(self) -> None:
        self._window_bytes = 0
        self._window_ends_at = asyncio.get_running_loop().time() + WINDOW_SECONDS

    async def receive(self) -> AsgiMessage:
        """The server's next message. Raises BodyTooSlowError; after the body it waits without an end."""
        while not self._is_complete:
            try:
                async with asyncio.timeout_at(self._window_ends_at):
                    message = await self._receive()
            except TimeoutError:
                least = LEAST_WHILE_OTHERS_WAIT if self._others_wait() else LEAST_BYTES_A_SECOND
                if self._window_bytes < least * WINDOW_SECONDS:
                    raise BodyTooSlowError from None
                self._begin_window()
                continue
            self._window_bytes += len(message.get("body", b""))
            self._is_complete = not message.get("more_body", False)
            return message
        return await self._receive()
