"""Carries out jobs that the engine does in child processes, which a request to cancel ends at once."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from webapp.jobs.attempt import attempt
from webapp.jobs.claim import Claim, JobType
from webapp.jobs.heartbeat import Heartbeat
from webapp.jobs.progress_report import ProgressReport

NO_STAGE = {"stage": "", "stage_done": 0, "stage_total": 0}
"""columns of a `StagedJob` that has ended"""


class StopAskedError(Exception):
    """Somebody has asked to stop; raised in a pulse, which ends the engine's child."""


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


def carry_out(model: type[JobType], job_id: uuid.UUID, work: Callable[[EngineWork[JobType]], None]) -> bool:
    """Claim the job and do `work`, which ends it as done; False if it cannot be claimed."""
    claim = Claim.take(model, job_id)
    if claim is None:
        return False
    with attempt(claim), Heartbeat(claim, chore=lambda: None) as heartbeat:
        try:
            work(EngineWork(claim, heartbeat, ProgressReport(claim)))
        except StopAskedError:
            claim.end(model.CANCELLED, **NO_STAGE)
    return True
