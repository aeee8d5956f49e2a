"""A part that is kept running."""

from collections.abc import Callable
from dataclasses import dataclass, field

from webapp.supervisor.parts import Part
from webapp.supervisor.restarts import Restarts
from webapp.supervisor.running_part import RunningPart


@dataclass(slots=True)
class KeptPart:
    """A part, its process, and the time of its next start.

    starting ──▶ running ──dies──▶ waiting ──▶ running …   `Restarts` says how long
                    └──ends well (only a part that may end, or one that is drained)──▶ ended
    """

    part: Part
    start: Callable[[Part], RunningPart]
    """Raises StartError."""
    running: RunningPart | None = None
    """its process; None before the start, after the end, and while it waits"""
    starts_at: float | None = None
    """the time of its next start, while it waits"""
    _started_at: float = 0.0
    _restarts: Restarts = field(default_factory=Restarts)

    def start_at(self, now: float) -> None:
        """Start it. Raises StartError."""
        self.starts_at, self._started_at = None, now
        self.running = self.start(self.part)

    def wait_after_death(self, now: float) -> float:
        """Note its death at `now`; returns the seconds until the next start."""
        self.running = None
        wait_seconds = self._restarts.wait_after_death(self._started_at, now)
        self.starts_at = now + wait_seconds
        return wait_seconds
