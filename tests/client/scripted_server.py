"""A server of a test: it answers what a function says, and notes what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

API = "/api/v1"


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    """below the address of the API, with its query"""
    headers: dict[str, str] = field(repr=False)
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    """What the server says to one."""

    status: int = 200
    body: Any = None
    """JSON; bytes are sent as they are"""
    headers: dict[str, str] = field(default_factory=dict)
    lost_after: int | None = None
    """so many bytes of the body are sent, then the connection breaks"""


Script = Callable[[Asked, int], Answer]
"""takes a request and how many came before it"""


@dataclass
class Scripted:
    """The running server."""

    address: str
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def scripted(script: Script) -> Iterator[Scripted]:
    """A server for the time of a block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path.removeprefix(API), headers, body)
            before = len(running.asked)
            running.asked.append(asked)
            self._send(script(asked, before))

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815  as http.server calls them

        def _send(self, answer: Answer) -> None:
            content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            if answer.lost_after is not None and answer.lost_after < 0:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: answer.lost_after])
            if answer.lost_after is not None:
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    running = Scripted(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
