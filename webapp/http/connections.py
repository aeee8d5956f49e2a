"""The web server's side of connections: `uvicorn --http webapp.http.connections:BoundedProtocol`.

uvicorn waits without an end for a request's headers, and for a client to read its answer; it takes connections until
the process has no file left for anything else.
"""

import asyncio
import resource

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_WITHIN_SECONDS = 10.0
"""from the connection, or from the first byte of a later request on it"""
READ_WITHIN_SECONDS = 60.0
"""for the 64 KiB of an answer that are with the operating system at a time: about 1 KB a second"""
MOST_CONNECTIONS = 10_000
SHARE_OF_FILES = 0.75
"""of the files that the process may open; the rest are for databases, uploads, and checks of uploads"""
SENTENCE = b"The server has too many open connections. Try again in a few seconds."
TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
    b"Retry-After: 5\r\nConnection: close\r\n\r\n%b" % (len(SENTENCE), SENTENCE)
)


def most_connections() -> int:
    """The number of connections that this process takes at once."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, int(SHARE_OF_FILES * files))


class BoundedProtocol(H11Protocol):
    """Closes a connection whose headers do not arrive, or whose answer is not read, in time; 503 beyond the bound."""

    headers_due_at: float | None = None
    """None while no headers are awaited"""
    unread: asyncio.TimerHandle | None = None
    """hangs up; None while the operating system has taken all that was sent"""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """A client has connected."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # writing pauses until the operating system has taken all of it
        if len(self.connections) > most_connections():
            transport.write(TOO_MANY)
            transport.close()
            return
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Bytes of a request have come: perhaps the end of its headers."""
        super().data_received(data)  # which also stops the timer
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._await_headers()
        else:
            self.headers_due_at = None

    def pause_writing(self) -> None:
        """The operating system takes no more, since the client does not read."""
        super().pause_writing()
        self.unread = self.loop.call_later(READ_WITHIN_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """All that was sent has been taken."""
        super().resume_writing()
        self._forget_unread()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        super().connection_lost(exc)
        self._forget_unread()

    def _forget_unread(self) -> None:
        if self.unread is not None:
            self.unread.cancel()
            self.unread = None

    def _await_headers(self) -> None:
        if self.headers_due_at is None:
            self.headers_due_at = self.loop.time() + HEADERS_WITHIN_SECONDS
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_at(self.headers_due_at, self.timeout_keep_alive_handler)
