"""System calls on processes."""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""sent by a user, by a system that shuts down and by a closing terminal"""
DRAIN_SIGNAL = signal.SIGUSR2
"""finish what is running, take nothing new, then end; Celery leaves it free"""

_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
"""PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER of prctl(2)"""

_C_LIBRARY = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _process_control(option: int, value: int) -> None:
    """prctl(2) on Linux; on other systems the process groups must suffice."""
    if _C_LIBRARY is not None and _C_LIBRARY.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")


def die_with_parent(parent: int, death_signal: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process `death_signal` when its parent `parent` ends, however it ends."""
    _process_control(_SET_PARENT_DEATH_SIGNAL, death_signal)
    if os.getppid() != parent:  # the parent ended before the call
        os.kill(os.getpid(), death_signal)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that all stay within reach."""
    _process_control(_SET_CHILD_SUBREAPER, 1)


def hold_signals() -> None:
    """Hold stop and drain signals back until `listen_to_signals`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (*STOP_SIGNALS, DRAIN_SIGNAL))


def listen_to_signals(handle: Callable[[signal.Signals], None]) -> None:
    """Pass stop and drain signals to `handle`, held ones too. An ignored hang-up (nohup) stays ignored."""
    for number in (*STOP_SIGNALS, DRAIN_SIGNAL):
        if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda received, _frame: handle(signal.Signals(received)))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (*STOP_SIGNALS, DRAIN_SIGNAL))


def descendants(ancestor: int) -> list[int]:
    """Every living process below `ancestor`, children before grandchildren; none where there is no /proc."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (
                (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:2]
            )
        except (OSError, ValueError):
            continue  # the process ended meanwhile
        if state not in "ZX":
            children[int(parent)].append(int(entry.name))
    found = [ancestor]
    for process in found:
        found.extend(sorted(children[process]))
    return found[1:]


def send(process: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def send_to_group(group: int, number: signal.Signals) -> None:
    """Send a signal to a process group that may be empty, or hold only processes that have ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def end_descendants() -> None:
    """Kill and reap every process below this one."""
    while left := descendants(os.getpid()):
        for process in left:
            send(process, signal.SIGKILL)
        while _reap_one():
            pass
        time.sleep(0.01)


def _reap_one() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False
