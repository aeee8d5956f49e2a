"""When a part that died is started again."""

from collections import deque

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 60.0
MOST_DEATHS = 5
WITHIN_SECONDS = 600.0
"""this many deaths in this time end the application; a part that ran this long waits the first time again"""


class Restarts:
    """Decides when one part is started again: after 1, 2, 4 … 60 s, or never after five deaths within ten minutes.

    It reads no clock: the caller passes the seconds of a monotonic one.
    """

    def __init__(self) -> None:
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)
        self._wait_seconds = FIRST_WAIT_SECONDS

    def wait_after_death(self, started_at: float, died_at: float) -> float | None:
        """Seconds until the next start of a part that ran from `started_at` to `died_at`; None: too many deaths."""
        self._deaths.append(died_at)
        if len(self._deaths) == MOST_DEATHS and died_at - self._deaths[0] <= WITHIN_SECONDS:
            return None
        if died_at - started_at >= WITHIN_SECONDS:
            self._wait_seconds = FIRST_WAIT_SECONDS
        wait_seconds = self._wait_seconds
        self._wait_seconds = min(2 * wait_seconds, LONGEST_WAIT_SECONDS)
        return wait_seconds
