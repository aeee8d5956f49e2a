"""A wire between browser and server that a test can cut: what runs over it breaks, and nothing new gets through."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

CHUNK_BYTES = 65536


class Wire:
    """Carries the connections to `server` while it is whole."""

    def __init__(self, server: str) -> None:
        place = urlsplit(server)
        self._server = (place.hostname, place.port)
        self._loop = asyncio.new_event_loop()
        self._ends: set[asyncio.StreamWriter] = set()
        self._is_whole = True
        self.address = ""
        """of this end, once it works"""

    @contextmanager
    def working(self) -> Iterator["Wire"]:
        """It works while the block runs."""
        thread = threading.Thread(target=self._loop.run_forever)
        thread.start()
        try:
            self._call(self._open)
            yield self
        finally:
            self._call(self._close)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()

    def cut(self) -> None:
        """Break what runs, and take nothing new."""
        self._call(self._break)

    def mend(self) -> None:
        """Take connections again."""
        self._is_whole = True

    def _call(self, action: Callable[[], Coroutine[None, None, None]]) -> None:
        asyncio.run_coroutine_threadsafe(action(), self._loop).result()

    async def _open(self) -> None:
        self._listener = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"

    async def _break(self) -> None:
        self._is_whole = False
        for end in self._ends:
            end.transport.abort()

    async def _close(self) -> None:
        self._listener.close()
        await self._break()

    async def _carry(self, from_browser: asyncio.StreamReader, to_browser: asyncio.StreamWriter) -> None:
        if not self._is_whole:
            to_browser.transport.abort()
            return
        from_server, to_server = await asyncio.open_connection(*self._server)
        ends = {to_browser, to_server}
        self._ends |= ends
        await asyncio.gather(_pipe(from_browser, to_server), _pipe(from_server, to_browser))
        self._ends -= ends


async def _pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while chunk := await source.read(CHUNK_BYTES):
            target.write(chunk)
            await target.drain()
    except ConnectionError:
        pass
    finally:
        target.close()
