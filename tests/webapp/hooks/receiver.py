"""A receiver of webhooks on this machine, in tests: real HTTP, with answers as a test says."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CERTIFICATE = Path(__file__).with_name("certificate_and_key.pem")
"""of hooks.test, signed by itself; it proves nothing to anybody else"""


@dataclass(frozen=True)
class Got:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """What it has got, and what it answers."""

    port: int = 0
    got: list[Got] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    answer: bytes = b"thanks"
    before_answer: Callable[[], object] = lambda: None
    connections: int = 0

    def address(self, host: str = "127.0.0.1", path: str = "/in", scheme: str = "http") -> str:
        """Its address, under a name."""
        return f"{scheme}://{host}:{self.port}{path}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    receiver: Receiver

    def get_request(self):  # type: ignore[no-untyped-def]  # as the library's
        self.receiver.connections += 1
        return super().get_request()

    def handle_error(self, request: object, client_address: object) -> None:
        """Tests break connections."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        receiver.got.append(Got(self.path, dict(self.headers.items()), body))
        receiver.before_answer()
        self.send_response(receiver.status)
        for name, value in receiver.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(receiver.answer)))
        self.end_headers()
        self.wfile.write(receiver.answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def receiving(*, tls: bool = False, host: str = "127.0.0.1") -> Iterator[Receiver]:
    """One that answers until the block ends."""
    receiver = Receiver()
    server = _Server((host, 0), _Handler)
    server.receiver, receiver.port = receiver, server.server_port
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
