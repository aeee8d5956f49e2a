"""Leaves no process behind, even if the supervisor itself is killed."""

import os
import signal
import sys
import traceback
from collections.abc import Callable

from webapp.processes import (
    adopt_orphans,
    die_with_parent,
    end_descendants,
    hold_signals,
    listen_to_signals,
    send,
)
from webapp.supervisor.output import Console


def guard(work: Callable[[], int]) -> int:
    """Run `work` in a child process, forward signals to it, then end all processes it left; returns its status.

    Signals to stop and to drain are held back until `work` listens. If this process is killed, the child gets SIGTERM.
    """
    adopt_orphans()
    guardian = os.getpid()
    hold_signals()
    child = os.fork()
    if child == 0:
        _work_as_child(work, guardian)
    listen_to_signals(lambda received: send(child, received))
    status = _wait_for(child)
    hold_signals()  # the rest takes a moment and must not be cut short
    end_descendants()
    if status < 0:
        Console().say(f"the supervisor was ended by {signal.Signals(-status).name}; all parts have been ended too")
        return 1
    return status


def _work_as_child(work: Callable[[], int], guardian: int) -> None:
    """Run `work` and exit. In a process group of its own, so that Ctrl-C arrives once, through the guardian."""
    status = 1
    try:
        os.setpgid(0, 0)
        die_with_parent(guardian, signal.SIGTERM)
        status = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _wait_for(child: int) -> int:
    """Reap processes until `child` ends; its exit status, negative for a signal."""
    while True:
        process, status = os.waitpid(-1, 0)
        if process == child:
            return os.waitstatus_to_exitcode(status)
