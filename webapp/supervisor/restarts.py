"""When a part that died is started again."""

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
WELL_AFTER_SECONDS = 600.0
"""a part that ran this long waits the first time again"""


class Restarts:
    """Decides when one part is started again: after 1, 2, 4 … 60 s. It never gives up: the other parts go on meanwhile.

    It reads no clock: the caller passes the seconds of a monotonic one.
    """

    def __init__(self) -> None:
        self._wait_seconds = FIRST_WAIT_SECONDS

    def wait_after_death(self, started_at: float, died_at: float) -> float:
        """Seconds until the next start of a part that ran from `started_at` to `died_at`."""
        if died_at - started_at >= WELL_AFTER_SECONDS:
            self._wait_seconds = FIRST_WAIT_SECONDS
        wait_seconds = self._wait_seconds
        self._wait_seconds = min(2 * wait_seconds, LONGEST_WAIT_SECONDS)
        return wait_seconds
