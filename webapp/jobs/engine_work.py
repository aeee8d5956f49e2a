"""Carries out jobs that the engine does in child processes, which a request to cancel ends at once."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic

from webapp.jobs.attempt import attempt
from webapp.jobs.claim import Claim, ClaimLostError, JobType
from webapp.jobs.event_store import THIS_ATTEMPT
from webapp.jobs.heartbeat import Heartbeat
from webapp.jobs.progress_report import ProgressReport
from webapp.jobs.turns import others_wait
from webapp.jobs.yielding import wait_behind_others

NO_STAGE = {"stage": "", "stage_done": 0, "stage_total": 0}
"""columns of a `StagedJob` that has ended"""


class StopAskedError(Exception):
    """Somebody has asked to stop; raised in a pulse, which ends the engine's child."""


class TurnOverError(Exception):
    """Others wait; raised where a state is saved, from which the job goes on later."""


@dataclass(frozen=True, slots=True)
class EngineWork(Generic[JobType]):
    """One attempt at a job, with what the engine calls meanwhile."""

    claim: Claim[JobType]
    heartbeat: Heartbeat
    report_progress: ProgressReport

    def pulse(self) -> None:
        """The engine's `pulse`. Raises ClaimLostError and StopAskedError."""
        self.heartbeat.raise_if_lost()
        if self.heartbeat.cancelled.is_set():
            raise StopAskedError

    def saved(self) -> None:
        """Note a saved state: the attempt was not fruitless. Raises ClaimLostError and TurnOverError."""
        self.claim.update(fruitless_attempts=THIS_ATTEMPT)
        if self.heartbeat.should_yield.is_set():
            raise TurnOverError


def carry_out(model: type[JobType], job_id: uuid.UUID, work: Callable[[EngineWork[JobType]], None]) -> bool:
    """Claim the job and do `work`, which ends it as done; False if it cannot be claimed."""
    claim = Claim.take(model, job_id)
    if claim is None:
        return False
    with attempt(claim):
        job = claim.rows().first()
        if job is None:
            raise ClaimLostError(str(job_id))
        with Heartbeat(claim, chore=lambda: None, others_wait=partial(others_wait, job)) as heartbeat:
            try:
                work(EngineWork(claim, heartbeat, ProgressReport(claim)))
            except StopAskedError:
                claim.end(model.CANCELLED, **NO_STAGE)
            except TurnOverError:
                wait_behind_others(claim, job)
    return True
