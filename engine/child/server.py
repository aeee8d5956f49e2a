"""A process that has loaded what takes long to load, and forks children from itself: the server's side of `warm.py`.

Run as `python -m engine.child.server`; it is of no use to people. It has one thread, no
environment of anybody's and nothing of a user's in it: of a request it reads the name of a folder alone, and the child
that it forks then does what the order in that folder says, with the same limits and the same end as a child that was
started on its own (`process.py`). A child is used once.
"""

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from engine.child.parent import ORDER_FILE
from engine.child.process import bind_to_parent, carry_out_and_exit

PROGRESS = 3
"""the descriptor on which a forked child reports its progress"""
LONGEST_REQUEST = 4096
"""bytes of a folder's name"""
SEVERAL_THREADS_EXIT_STATUS = 3
"""what was loaded has started threads, so that nothing can be forked"""


class _Server:
    """Forks a child for each request, reports how each ended, and ends those that nobody waits for."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._selector = selectors.DefaultSelector()
        self._control_of_child: dict[int, socket.socket] = {}
        self._ended, wake_up = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_up, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # so that the descriptor is written to
        self._selector.register(requests, selectors.EVENT_READ)
        self._selector.register(self._ended, selectors.EVENT_READ)

    def serve(self) -> None:
        """Until whoever asks is gone."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._requests:
                    if not self._take():
                        return
                elif key.fileobj == self._ended:
                    with suppress(BlockingIOError):
                        os.read(self._ended, LONGEST_REQUEST)
                else:
                    self._kill(key.data)
            self._take_ends()

    def end(self) -> None:
        """Kill all children."""
        for child in self._control_of_child:
            _kill_group(child)

    def _take(self) -> bool:
        """Fork a child for the next request; False where there will be none."""
        message, descriptors, _, _ = socket.recv_fds(self._requests, LONGEST_REQUEST, 3)
        if not message:
            return False
        control, progress, log = descriptors
        child = os.fork()
        if child == 0:
            try:
                _become_child(Path(os.fsdecode(message)), progress, log)
            finally:  # whatever happens, this is no server
                os._exit(1)
        os.close(progress)
        os.close(log)
        self._control_of_child[child] = socket.socket(fileno=control)
        self._selector.register(self._control_of_child[child], selectors.EVENT_READ, child)
        return True

    def _kill(self, child: int) -> None:
        """End a child that its parent wants ended, or whose parent is gone; the rest follows when it has ended."""
        self._selector.unregister(self._control_of_child[child])
        _kill_group(child)

    def _take_ends(self) -> None:
        """Report how children ended, once no process of their groups is left."""
        while (child := _ended_child()) is not None:
            _kill_group(child)
            _, status = os.waitpid(child, 0)
            control = self._control_of_child.pop(child)
            with suppress(KeyError):
                self._selector.unregister(control)
            with suppress(OSError), control:
                control.sendall(json.dumps(os.waitstatus_to_exitcode(status)).encode())


def _ended_child() -> int | None:
    """A child that has ended, whose number is not yet free for another process."""
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None
    return None if found is None else found.si_pid


def _kill_group(child: int) -> None:
    for kill in (os.kill, os.killpg):  # it may have no group of its own yet
        with suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)


def _become_child(folder: Path, progress: int, log: int) -> NoReturn:
    """What a started child has, and nothing of the server's or of another child's; then do as the order says."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(progress, PROGRESS)
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) > PROGRESS:
            with suppress(OSError):  # the list's own
                os.close(int(entry.name))
    tempfile.tempdir = str(folder)
    os.putenv("HOME", str(folder))
    os.putenv("TMPDIR", str(folder))
    order: dict[str, Any] = json.loads((folder / ORDER_FILE).read_bytes())
    order |= {"parent": os.getppid(), "progress": PROGRESS, "memory_bytes": order["memory_bytes"] + _address_space()}
    carry_out_and_exit(order)


def _address_space() -> int:
    """Bytes of addresses that this process has already; the limit is on what it takes beside them."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _load(paths: Sequence[str]) -> None:
    """Import each `module`, and call each `module:function`, which fills its cache."""
    for path in paths:
        module, _, name = path.partition(":")
        loaded = importlib.import_module(module)
        if name:
            getattr(loaded, name)()


def main() -> int:
    """Load what the order on standard input says, then serve; the exit status."""
    order = json.loads(sys.stdin.buffer.read())
    bind_to_parent(order["parent"])
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    _load(order["paths"])
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        return SEVERAL_THREADS_EXIT_STATUS
    gc.collect()
    gc.freeze()  # what is loaded stays shared with the children
    server = _Server(socket.socket(fileno=order["requests"]))
    try:
        server.serve()
    finally:
        server.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
