"""Lets a long job yield to another owner's: it goes back to the queue at its next saved state.

    working ──(long enough, and others wait)──▶ asked ──(a state is saved)──▶ yielded ─▶ queued, behind the others

Work after that state is not stored: the next attempt does it again, so that events and answer are those of a job that
never waited. The state holds the seconds of work so far, so that waiting costs nothing of the job's budget.
"""

from typing import Any

from webapp.jobs.claim import Claim, ClaimLostError
from webapp.jobs.heartbeat import Heartbeat
from webapp.jobs.job import Job
from webapp.jobs.reaper import give_back
from webapp.jobs.turns import owner_of, take_turn


class Yielding:
    """Whether one attempt at a job has yielded."""

    def __init__(self, heartbeat: Heartbeat) -> None:
        self._heartbeat = heartbeat
        self.has_yielded = False

    def saved(self) -> None:
        """To be called when the job's store has taken a state; what is done after it may then be dropped."""
        self.has_yielded = self.has_yielded or self._heartbeat.should_yield.is_set()

    def should_stop(self) -> bool:
        """Whether the work should end now, for this or for another reason."""
        return self.has_yielded or self._heartbeat.should_stop()


def wait_behind_others(claim: Claim[Any], job: Job) -> None:
    """Queue the claimed `job` again; its owner has had its turn. Raises ClaimLostError."""
    take_turn(job.QUEUE, owner_of(job))
    if not give_back(claim):
        raise ClaimLostError(f"{job.id}")
