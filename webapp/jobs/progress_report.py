"""Writes a job's progress into its row."""

import time
from typing import Any

from webapp.jobs.claim import Claim

PROGRESS_EVERY_SECONDS = 0.5


class ProgressReport:
    """Writes the progress of a `StagedJob`, at most twice a second. Raises ClaimLostError."""

    def __init__(self, claim: Claim[Any]) -> None:
        self._claim = claim
        self._stage = ""
        self._written_at = float("-inf")

    def __call__(self, stage: str, done: int, total: int) -> None:
        """The engine's `report_progress`."""
        now = time.monotonic()
        if stage == self._stage and now - self._written_at < PROGRESS_EVERY_SECONDS:
            return
        self._stage, self._written_at = stage, now
        self._claim.update(stage=stage[:200], stage_done=done, stage_total=total)
