"""How far a worker is, written into the row."""

import time
from typing import Any

from webapp.jobs.claim import Claim

PROGRESS_EVERY_SECONDS = 0.5


class ProgressReport:
    """Writes how far it is into a `StagedJob`, at most twice a second. Raises ClaimLostError if it is not ours."""

    def __init__(self, claim: Claim[Any]) -> None:
        self._claim = claim
        self._stage = ""
        self._written_at = float("-inf")

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Called by the engine."""
        now = time.monotonic()
        if stage == self._stage and now - self._written_at < PROGRESS_EVERY_SECONDS:
            return
        self._stage, self._written_at = stage, now
        self._claim.update(stage=stage[:200], stage_done=done, stage_total=total)
