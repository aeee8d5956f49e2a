"""A proxy that breaks connections: the first ones, after so many bytes in one direction."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from urllib.parse import urlsplit

PIECE_BYTES = 65536


class BreakingProxy:
    """Passes connections on to a server; `breaks` of them break in their middle."""

    def __init__(self, server: str, *, sent: int | None, received: int | None, breaks: int) -> None:
        """`sent`, `received`: bytes after which a connection breaks, by their direction as the client sees it."""
        parts = urlsplit(server)
        self._target = str(parts.hostname), int(parts.port or 0)
        self._limits = sent, received
        self._left = breaks
        self._lock = threading.Lock()
        self.broken = 0
        """how many have broken"""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            for source, target, limit in ((client, server, self._limits[0]), (server, client, self._limits[1])):
                threading.Thread(target=self._pass, args=(source, target, limit), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, limit: int | None) -> None:
        passed = 0
        with suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                passed += len(piece)
                if limit is not None and passed > limit and self._may_break():
                    target.sendall(piece[: max(0, len(piece) - (passed - limit))])
                    break
                target.sendall(piece)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()  # or a sender waits for room until its patience ends

    def _may_break(self) -> bool:
        with self._lock:
            if not self._left:
                return False
            self._left -= 1
            self.broken += 1
            return True


@contextmanager
def breaking(
    server: str, *, sent: int | None = None, received: int | None = None, breaks: int = 1
) -> Iterator[BreakingProxy]:
    """Such a proxy before `server`, for the time of a block."""
    with closing(BreakingProxy(server, sent=sent, received=received, breaks=breaks)) as proxy:
        yield proxy
