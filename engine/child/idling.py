"""Notices that a child does nothing any more: one that hangs for ever, or is stopped, is ended before its time limit.

A child that computes, reads, writes or waits for a disk does something; one whose threads all wait for each other uses
no processor time. Linux only; elsewhere nothing is noticed.
"""

import time
from pathlib import Path
from typing import NamedTuple

SECONDS_BETWEEN_LOOKS = 5.0
MOST_IDLE_SECONDS = 60.0
"""for which a child and its processes may use no processor time"""
RUNNABLE, WAITING_FOR_DISK, STOPPED = "R", "D", "Tt"
"""states in /proc; the first two are work"""


class _Process(NamedTuple):
    """What /proc says of a process."""

    state: str
    parent: int
    session: int
    ticks: int
    """of processor time, with that of its ended children"""


class Idling:
    """For how long a child, the leader of its session, has used no processor time, with all its processes."""

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self._ticks = -1
        self._worked_at = self._looked_at = time.monotonic()

    def seconds(self) -> float:
        """Seconds without work, as of the last look."""
        now = time.monotonic()
        if now - self._looked_at >= SECONDS_BETWEEN_LOOKS:
            if now - self._looked_at > 2 * SECONDS_BETWEEN_LOOKS:
                self._worked_at = now  # this process was held up itself
            self._look(now)
        return self._looked_at - self._worked_at

    def _look(self, now: float) -> None:
        self._looked_at = now
        found = _processes_of(self.leader)
        ticks = sum(each.ticks for each in found)
        works = any(each.state in (RUNNABLE, WAITING_FOR_DISK) for each in found)
        if works or ticks != self._ticks or not found:
            self._ticks, self._worked_at = ticks, now


def is_stopped(pid: int) -> bool:
    """Whether somebody has stopped the process by a signal."""
    process = _process(Path(f"/proc/{pid}"))
    return process is not None and process.state in STOPPED


def _processes_of(leader: int) -> list[_Process]:
    """The leader's session and all processes below one of these; none where there is no /proc."""
    of_id: dict[int, _Process] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        process = _process(folder)
        if process is not None:
            of_id[int(folder.name)] = process
    found = {pid for pid, process in of_id.items() if pid == leader or process.session == leader}
    grows = True
    while grows:
        below = {pid for pid, process in of_id.items() if process.parent in found} - found
        found |= below
        grows = bool(below)
    return [of_id[pid] for pid in found]


def _process(folder: Path) -> _Process | None:
    """None for one that has ended."""
    try:
        fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return _Process(fields[0], int(fields[1]), int(fields[3]), sum(map(int, fields[11:15])))
