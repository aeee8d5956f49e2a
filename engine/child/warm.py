"""Requests children forked from a process that has loaded TensorFlow already: the client's side of `server.py`.

    worker ──exec──▶ server (TensorFlow loaded, one thread, nothing of a user's) ──fork──▶ child, used once
       └─fork─▶ pool process ──folder, control, progress, log──▶ ┘                            │
                      └◀──── its process id; its status, when it has ended ───────────────────┘

Requests go through a pair of unnamed sockets: only the process that started the server, and processes forked from it,
can send them. The server ends when the last of them is gone. The process that requests a child holds the child's
control socket: when that closes, the server kills the child and its group. Linux only; elsewhere every child is started
on its own.
"""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from engine.child.idling import is_stopped

SECONDS_BETWEEN_STARTS = 60.0
"""limits the load of a server that always ends at once"""
SECONDS_TO_END = 10.0
"""time in which a server reports that a child was killed"""
SECONDS_TO_FORK = 120.0
"""time in which a server answers a request, its start included; one that does not, hangs"""
SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_STOPPED = 5.0
"""time after which a server that does not answer, and is stopped by a signal, counts as lost"""
LONGEST_ANSWER = 64
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""a process with threads cannot be forked: the child would lack them and what they hold"""

_logger = logging.getLogger(__name__)


class ServerLostError(Exception):
    """The server ended before its child did; another child may do the work."""


class WarmChild:
    """A forked child, for `parent.py`."""

    def __init__(self, control: socket.socket, server: int) -> None:
        """`server`: its process id."""
        self._control, self._server = control, server
        self._asked_at = time.monotonic()
        self._received = b""
        self._pid: int | None = None
        self._status: int | None = None

    @property
    def pid(self) -> int | None:
        """Its process id; None as long as the server has not said it. Raises ServerLostError."""
        if self._pid is None:
            self._control.settimeout(0.0)
            try:
                self._pid = self._answer()
            except BlockingIOError:
                self._require_server()
        return self._pid

    def _require_server(self) -> None:
        """End a server that hangs. Raises ServerLostError."""
        waited = time.monotonic() - self._asked_at
        if waited > SECONDS_TO_FORK or (waited > SECONDS_STOPPED and is_stopped(self._server)):
            _logger.warning("the process that forks children did not answer for %.0f s; it is ended", waited)
            os.kill(self._server, signal.SIGKILL)  # it has not ended: its end would have closed the socket
            raise ServerLostError

    def wait(self, seconds: float) -> bool:
        """Whether it ends within `seconds`. Raises ServerLostError."""
        deadline = self._asked_at = time.monotonic()
        deadline += seconds
        while self._status is None:
            left = deadline - time.monotonic()
            self._control.settimeout(min(max(left, 1e-3), SECONDS_BETWEEN_LOOKS))
            try:
                self._take_status()
            except TimeoutError:
                if left <= 0:
                    return False
                self._require_server()
        return True

    def end(self) -> int:
        """Kill what is left of it and its group, and return its exit status. Raises ServerLostError."""
        with self._control:
            if self._status is None:
                with suppress(OSError):
                    self._control.sendall(b"end")
                self._control.settimeout(SECONDS_TO_END)
                try:
                    self._take_status()
                except TimeoutError:
                    raise ServerLostError from None
        assert self._status is not None
        return self._status

    def _take_status(self) -> None:
        if self._pid is None:
            self._pid = self._answer()
        self._status = self._answer()

    def _answer(self) -> int:
        """The next number from the server, a line. Raises ServerLostError, TimeoutError, BlockingIOError."""
        while b"\n" not in self._received:
            try:
                received = self._control.recv(LONGEST_ANSWER)
            except ConnectionError:
                received = b""
            if not received:
                raise ServerLostError
            self._received += received
        line, _, self._received = self._received.partition(b"\n")
        return int(line)


class WarmServer:
    """A server that this process has started."""

    def __init__(self, paths: Sequence[str], environment: Mapping[str, str]) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._started = time.monotonic()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "engine.child.server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=Path(__file__).parents[2],
                env={**environment, **ONE_THREAD},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
            order = {"requests": theirs.fileno(), "parent": os.getpid(), "paths": list(paths)}
            assert self._process.stdin is not None
            with suppress(BrokenPipeError), self._process.stdin as pipe:
                pipe.write(json.dumps(order).encode())

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """The server's exit status; None while it runs."""
        return self._process.returncode

    def age_seconds(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self._started

    def has_ended(self) -> bool:
        """Whether the server has ended; only the process that started it may call this."""
        return self._process.poll() is not None

    def child(self, folder: Path, progress: int, log: int) -> WarmChild | None:
        """A child that carries out the order in `folder`; None where the server is gone."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._requests, [os.fsencode(folder)], [theirs.fileno(), progress, log])
            except OSError:
                ours.close()
                return None
        return WarmChild(ours, self.pid)

    def end(self) -> None:
        """End it and its children."""
        self._requests.close()
        self._process.kill()
        self._process.wait()


class _Holder:
    """Holds the server of this process, or of the process from which it was forked, if there is one."""

    server: WarmServer | None = None


def keep_warm(paths: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Start a server that loads `paths` (`module`, or `module:function` to call), unless one runs already.

    It ends with this process, and with the thread that calls this. If it has ended, a later call starts another one, at
    most one a minute. Returns whether one had ended, and is replaced.
    """
    if sys.platform != "linux":
        return False
    had_ended = _Holder.server is not None
    if _Holder.server is not None:
        if not _Holder.server.has_ended() or _Holder.server.age_seconds() < SECONDS_BETWEEN_STARTS:
            return False
        _Holder.server.end()
        _logger.warning("the process that forks children ended with status %d", _Holder.server.status)
    _Holder.server = WarmServer(paths, environment)
    return had_ended


def end_warm() -> None:
    """End the server, if there is one."""
    if _Holder.server is not None:
        _Holder.server.end()
        _Holder.server = None


def warm_server() -> WarmServer | None:
    """The server that forks children; None where there is none."""
    return _Holder.server
