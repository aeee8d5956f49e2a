"""What a search for plans tells, as events: each better plan at once, others and the progress in turns."""

import time
from collections.abc import Mapping

from engine.events import Emit, Event, Finished, Json, NumberedEvent, PlanFound, Progress
from engine.plans.partitions import Division
from engine.plans.plan import Plan
from engine.plans.simulated import SimulatedPlan

SECONDS_BETWEEN_TURNS = 0.5
MOST_IN_A_TURN = 20
"""plans that are no better than the best one, the fastest of those that wait"""
MOST_IN_TURNS = 1_000
"""of such plans in all, so that a search for hours does not flood who watches it"""
STAGE = "searching"
"""of the progress"""


class PlansTold:
    """Numbers and emits the events of one search."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._seq = 0
        self._best_us = float("inf")
        self._usual: set[Plan] = set()
        """told by their names, and not again where a search begins with them"""
        self._waiting: dict[Division, PlanFound] = {}
        """the fastest plan of each division that is not told yet"""
        self._told_in_turns = 0
        self._turn_at = float("-inf")

    def usual(self, name: str, simulated: SimulatedPlan) -> None:
        """Tell a usual plan, of that name."""
        self._usual.add(simulated.plan)
        self._tell(self._event(simulated, name))

    def found(self, division: Division, simulated: SimulatedPlan) -> None:
        """Tell the fastest plan of a division so far: at once if it is the best of all, else in its turn."""
        if simulated.plan in self._usual:
            return
        event = self._event(simulated, None)
        if event.is_best:
            self._waiting.pop(division, None)
            self._tell(event)
        else:
            self._waiting[division] = event

    def progress(self, done: int, total: int) -> None:
        """Tell how many candidates are done, with the plans that wait, if it is time."""
        now = time.monotonic()
        if now - self._turn_at >= SECONDS_BETWEEN_TURNS:
            self._turn_at = now
            self._tell_waiting()
            self._tell(Progress(STAGE, done, total))

    def end(self, report: Mapping[str, Json], *, stopped: bool) -> None:
        """Tell what waits, and the report unless the search was stopped."""
        self._tell_waiting()
        if not stopped:
            self._tell(Finished({**report}))

    def _tell_waiting(self) -> None:
        fastest = sorted(self._waiting.values(), key=lambda event: event.batch_time_us)
        room = min(MOST_IN_A_TURN, MOST_IN_TURNS - self._told_in_turns)
        for event in fastest[:room]:
            self._tell(event)
            self._told_in_turns += 1
        self._waiting.clear()

    def _event(self, simulated: SimulatedPlan, usual: str | None) -> PlanFound:
        is_best = simulated.batch_time_us < self._best_us
        self._best_us = min(self._best_us, simulated.batch_time_us)
        return PlanFound(
            simulated.batch_time_us,
            simulated.samples_per_second,
            simulated.peak_bytes.tolist(),
            [replica.in_short() for replica in simulated.plan.replicas],
            is_best,
            usual,
        )

    def _tell(self, event: Event) -> None:
        self._seq += 1
        self._emit(NumberedEvent(self._seq, event))
