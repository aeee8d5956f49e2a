"""Notices processes that hang: they are stopped, or all their threads wait for ever.

The processes that it watches do a little all the time, such as a heartbeat, so that one that uses no processor time at
all for a while does not do its work any more. Linux only; elsewhere nothing is noticed.
"""

from pathlib import Path

WAITING_FOR_DISK = "D"
"""a state in /proc: such a process goes on when the disk does, and cannot be killed before"""


class Watched:
    """One process. The caller looks again and again, and passes the seconds of a monotonic clock."""

    def __init__(self, process: int, now: float) -> None:
        self.process = process
        self._work = _work_of(process)
        self._worked_at = self._looked_at = now

    def idle_seconds(self, now: float, usual_seconds: float) -> float:
        """For how long it has used no processor time. Looks are `usual_seconds` apart.

        A look that comes far too late shows that the caller itself was held up, by a machine's sleep, say: then the
        time begins anew.
        """
        work = _work_of(self.process)
        was_held_up = now - self._looked_at > 3 * usual_seconds
        if was_held_up or work is None or work != self._work or _state_of(self.process) == WAITING_FOR_DISK:
            self._work, self._worked_at = work, now
        self._looked_at = now
        return now - self._worked_at


def _work_of(process: int) -> int | None:
    """Nanoseconds of processor time that the living threads of the process have used; None where /proc has none."""
    try:
        used = [int(path.read_text().split()[0]) for path in Path(f"/proc/{process}/task").glob("*/schedstat")]
        return sum(used) if used else None
    except (OSError, ValueError, IndexError):  # a thread ended meanwhile: its process works
        return None


def _state_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
