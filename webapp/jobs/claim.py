"""A worker's claim on a job: taken, renewed and ended by compare-and-set."""

import os
import uuid
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from django.db.models import Exists, F, QuerySet
from django.db.models.functions import Coalesce, Now

from webapp.jobs.job import CHANGED, Job
from webapp.jobs.notices import announce
from webapp.workers.version import same_version

JobType = TypeVar("JobType", bound=Job)

WORKER_VARIABLE = "PLACETO_WORKER_IDENTITY"
"""set by the worker's parent process, so that all its pool children write the same name"""


class ClaimLostError(Exception):
    """The job is no longer this worker's: another has it, or it is deleted. Nothing may be stored."""


@dataclass(frozen=True, slots=True)
class Claim(Generic[JobType]):
    """One attempt at a job."""

    model: type[JobType]
    job_id: uuid.UUID
    token: uuid.UUID

    @classmethod
    def take(cls, model: type[JobType], job_id: uuid.UUID) -> "Claim[JobType] | None":
        """queued → working; None if it cannot be claimed: the message came twice, or too late, or this code is another
        version than the database's.
        """
        claim = cls(model, job_id, uuid.uuid4())
        waiting = model._default_manager.filter(id=job_id, status=model.QUEUED, cancel_requested=False)
        taken = waiting.filter(Exists(same_version())).update(
            status=model.WORKING,
            claim=claim.token,
            worker=os.environ.get(WORKER_VARIABLE, ""),
            heartbeat_at=Now(),
            attempts=F("attempts") + 1,
            fruitless_attempts=F("fruitless_attempts") + 1,
            started_at=Coalesce("started_at", Now()),
            **CHANGED,
        )
        if taken != 1:
            return None
        announce(job_id)
        return claim

    def rows(self) -> QuerySet[JobType]:
        """The job's row while this claim holds it, else none."""
        rows = self.model._default_manager.filter(id=self.job_id, status=self.model.WORKING, claim=self.token)
        return cast("QuerySet[JobType]", rows)

    def update(self, **changes: Any) -> None:
        """Renew the heartbeat and change columns of the row. Raises ClaimLostError."""
        self._update(heartbeat_at=Now(), **changes, **(CHANGED if changes else {}))
        if changes:
            announce(self.job_id)

    def end(self, status: str, **changes: Any) -> None:
        """working → `status`. Raises ClaimLostError."""
        self._update(status=status, claim=None, worker="", finished_at=Now(), **changes, **CHANGED)
        announce(self.job_id)

    def put_off(self, **changes: Any) -> None:
        """working → queued, for another attempt once `Job.waiting` has the row again. Raises ClaimLostError.

        `changes` are what `waiting` asks for, such as a time. The attempt was not fruitless.
        """
        nobodys = {"claim": None, "worker": "", "heartbeat_at": None, "fruitless_attempts": 0}
        self._update(status=self.model.QUEUED, **nobodys, **changes, **CHANGED)
        announce(self.job_id)

    def cancel_requested(self) -> bool:
        """Whether somebody asked to cancel it. Raises ClaimLostError."""
        requested: bool | None = self.rows().values_list("cancel_requested", flat=True).first()
        if requested is None:
            raise ClaimLostError(f"{self.model.__name__} {self.job_id}")
        return requested

    def _update(self, **changes: Any) -> None:
        if self.rows().update(**changes) != 1:
            raise ClaimLostError(f"{self.model.__name__} {self.job_id}")
