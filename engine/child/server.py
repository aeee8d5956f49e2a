"""A process that has loaded the slow modules, and forks children from itself: the server's side of `warm.py`.

`warm.py` runs it as `python -m engine.child.server`; it is not for people. It has one thread, no inherited environment
and no user's data: it reads only a folder's name from a request. The child that it forks then carries out the order in
that folder, with the same limits and the same end as a child started on its own (`process.py`). A child is used once.
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

from engine.child import sandbox
from engine.child.parent import ORDER_FILE
from engine.child.process import bind_to_parent, carry_out_and_exit

PROGRESS = 3
"""the descriptor on which a forked child reports its progress"""
LONGEST_REQUEST = 4096
"""largest length of a folder's name, in bytes"""
SEVERAL_THREADS_EXIT_STATUS = 3
"""a loaded module has started threads, so that the process cannot be forked"""


class _Server:
    """Forks a child for each request, reports its process id and status, and kills children that nobody waits for."""

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
        """Serve requests until the other end of the socket is closed."""
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
        """Fork a child for the next request; False where no more can come."""
        message, descriptors, _, _ = socket.recv_fds(self._requests, LONGEST_REQUEST, 3)
        if not message:
            return False
        control, progress, log = descriptors
        child = os.fork()
        if child == 0:
            try:
                _become_child(Path(os.fsdecode(message)), progress, log)
            finally:  # a child never returns to the server's loop
                os._exit(1)
        os.close(progress)
        os.close(log)
        self._control_of_child[child] = socket.socket(fileno=control)
        with suppress(OSError):
            self._control_of_child[child].sendall(b"%d\n" % child)
        self._selector.register(self._control_of_child[child], selectors.EVENT_READ, child)
        return True

    def _kill(self, child: int) -> None:
        """Kill a child on its parent's request or after its parent's end; `_take_ends` cleans up after it."""
        self._selector.unregister(self._control_of_child[child])
        _kill_group(child)

    def _take_ends(self) -> None:
        """Report the exit status of ended children, after killing what is left of their groups."""
        while (child := _ended_child()) is not None:
            _kill_group(child)
            _, status = os.waitpid(child, 0)
            control = self._control_of_child.pop(child)
            with suppress(KeyError):
                self._selector.unregister(control)
            with suppress(OSError), control:
                control.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _ended_child() -> int | None:
    """The process id of an ended child, not yet free for another process; None where there is none."""
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
    """Take on the state of a started child, with nothing of the server or of other children; carry out the order."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(progress, PROGRESS)
    for entry in list(Path("/proc/self/fd").iterdir()):
        if int(entry.name) > PROGRESS:
            with suppress(OSError):  # the descriptor of this listing
                os.close(int(entry.name))
    tempfile.tempdir = str(folder)
    os.putenv("HOME", str(folder))
    os.putenv("TMPDIR", str(folder))
    order: dict[str, Any] = json.loads((folder / ORDER_FILE).read_bytes())
    if order["reads"] is not None:
        sandbox.enter(folder, map(Path, order["reads"]))
    order |= {"parent": os.getppid(), "progress": PROGRESS, "memory_bytes": order["memory_bytes"] + _address_space()}
    carry_out_and_exit(order)


def _address_space() -> int:
    """Bytes of addresses that this process has already; the limit is on further ones."""
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
    """Load the modules in the order on standard input, then serve; return the exit status."""
    order = json.loads(sys.stdin.buffer.read())
    bind_to_parent(order["parent"])
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    _load(order["paths"])
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        return SEVERAL_THREADS_EXIT_STATUS
    sandbox.code_folders()  # found once, not in each child
    gc.collect()
    gc.freeze()  # loaded objects stay shared with the children
    server = _Server(socket.socket(fileno=order["requests"]))
    try:
        server.serve()
    finally:
        server.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
