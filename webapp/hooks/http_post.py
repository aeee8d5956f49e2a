"""Posts a body to a webhook's address: one request, over a connection to an address that may be reached."""

import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import httpcore

from webapp.accounts.addresses import IpAddress
from webapp.hooks.reachable import AllowedPlaces, UnreachableError, address_of
from webapp.hooks.web_address import USUAL_PORTS, WebAddress

LONGEST_SECONDS = 10.0
"""of a request from the look-up of the name to the end of its answer"""
MOST_ANSWER_BYTES = 4096


class NotTakenError(Exception):
    """The receiver did not take the body: one sentence for people, without the address."""

    def __init__(self, sentence: str, *, is_final: bool = False) -> None:
        """`is_final`: another try would end in the same way."""
        super().__init__(sentence)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What the receiver answered."""

    status_code: int
    beginning: bytes


@dataclass(frozen=True, slots=True)
class Until:
    """The moment until which all must be done, on the monotonic clock."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> "Until":
        """In so many seconds."""
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """The seconds left. Raises TimeoutException once there are none."""
        seconds = self.at - time.monotonic()
        if seconds <= 0:
            raise httpcore.TimeoutException("no time is left")
        return seconds


def post(address: WebAddress, headers: Mapping[str, str], body: bytes, seconds: float = LONGEST_SECONDS) -> HttpAnswer:
    """Post `body`; redirects are answers like others. Raises NotTakenError."""
    backend = _CheckedBackend(AllowedPlaces.of_settings(), Until.after(seconds))
    pool = httpcore.ConnectionPool(ssl_context=ssl.create_default_context(), network_backend=backend, retries=0)
    host = f"[{address.host}]" if ":" in address.host else address.host
    url = httpcore.URL(scheme=address.scheme, host=host, port=_port(address), target=address.path)
    sent = {"Host": address.place, "Content-Length": str(len(body)), "Connection": "close", **headers}
    try:
        with pool, pool.stream("POST", url, headers=list(sent.items()), content=body) as response:
            return HttpAnswer(response.status, _beginning(response.iter_stream()))
    except UnreachableError as error:
        raise NotTakenError(str(error), is_final=True) from None
    except httpcore.TimeoutException:
        raise NotTakenError(f"It did not answer within {seconds:g} s.") from None
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        raise NotTakenError(_sentence(error, address)) from None


def _port(address: WebAddress) -> int | None:
    return None if address.port == USUAL_PORTS[address.scheme] else address.port


def _beginning(pieces: Iterable[bytes]) -> bytes:
    """The first bytes of an answer, however long it is."""
    found = b""
    for piece in pieces:
        found += piece
        if len(found) >= MOST_ANSWER_BYTES:
            break
    return found[:MOST_ANSWER_BYTES]


def _sentence(error: Exception, address: WebAddress) -> str:
    cause = error.args[0] if error.args else None  # the library's errors hold those of the socket
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"Its certificate is refused: {cause.verify_message.rstrip('.')}."
    if isinstance(cause, ssl.SSLError):
        return "It does not speak TLS as it should."
    if isinstance(error, httpcore.ProtocolError):
        return "Its answer is not HTTP."
    if isinstance(error, socket.gaierror):
        return f"The name {address.host} cannot be resolved."
    return "It cannot be reached: it refused or ended the connection."


class _CheckedBackend(httpcore.NetworkBackend):
    """Connects to addresses that may be reached, and to those alone."""

    def __init__(self, allowed: AllowedPlaces, deadline: Until) -> None:
        self._allowed, self._deadline = allowed, deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002  the deadline counts
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        """Resolve the name once, judge what it resolves to, and connect to that. Raises UnreachableError, OSError."""
        by_name = self._allowed.has_name(host)
        addresses = _resolve(host, port, self._deadline)
        for address in addresses:
            if not by_name and (sentence := self._allowed.refusal(address)):
                raise UnreachableError(sentence)
        for address in addresses[:-1]:
            try:
                return self._connect(address, port)
            except httpcore.ConnectError:
                continue
        return self._connect(addresses[-1], port)

    def _connect(self, address: IpAddress, port: int) -> httpcore.NetworkStream:
        stream = httpcore.SyncBackend().connect_tcp(str(address), port, timeout=self._deadline.left())
        return _TimedStream(stream, self._deadline)


class _TimedStream(httpcore.NetworkStream):
    """A stream of which all parts together end by the deadline, however slowly the other side sends."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Until) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """At most so many bytes."""
        return self._stream.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Write all."""
        self._stream.write(buffer, self._deadline.left())

    def close(self) -> None:
        """Close it."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        """The same with TLS; the certificate must be one of `server_hostname`."""
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, self._deadline.left()), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """What is known of the connection."""
        return self._stream.get_extra_info(info)


def _resolve(host: str, port: int, deadline: Until) -> list[IpAddress]:
    """The addresses of a name, each once. Raises OSError; TimeoutException where no answer comes.

    The resolver has no limit of its own, so it works in a thread, which a look-up that hangs outlives.
    """
    answers: queue.Queue[list[Any] | OSError] = queue.Queue()
    threading.Thread(target=_look_up, args=(host, port, answers), name="resolving", daemon=True).start()
    try:
        found = answers.get(timeout=deadline.left())
    except queue.Empty:
        raise httpcore.ConnectTimeout("the name is not resolved") from None
    if isinstance(found, OSError):
        raise found
    addresses = [address_of(entry[4][0]) for entry in found]
    return list(dict.fromkeys(address for address in addresses if address is not None))


def _look_up(host: str, port: int, answers: "queue.Queue[list[Any] | OSError]") -> None:
    try:
        answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except OSError as error:
        answers.put(error)
    except UnicodeError:
        answers.put(socket.gaierror(socket.EAI_NONAME, "the name is invalid"))
