"""A thread that renews a job's heartbeat and checks whether the job is cancelled or should yield."""

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection

from webapp.jobs.claim import Claim, ClaimLostError

log = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 0.5


class Heartbeat:
    """In a `with` block: renews `claim`, checks whether it is cancelled, and calls `chore` about once a second.

    It runs in its own thread, so that a long computation neither looks dead nor delays the writing of its events.
    If the database does not answer for a while, the next round tries again.
    """

    def __init__(
        self,
        claim: Claim[Any],
        chore: Callable[[], None],
        chore_every_seconds: float = 1.0,
        others_wait: Callable[[], bool] = lambda: False,
    ) -> None:
        """`others_wait` is asked with each heartbeat, once the job has worked for `settings.YIELD_AFTER_SECONDS`."""
        self._claim, self._chore, self._chore_every_seconds = claim, chore, chore_every_seconds
        self._others_wait, self._began = others_wait, time.monotonic()
        self._ended = threading.Event()
        self.cancelled = threading.Event()
        self.lost = threading.Event()
        self.should_yield = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heartbeat-{claim.job_id}", daemon=True)

    def should_stop(self) -> bool:
        """Whether the work should end now. Cheap: it does not ask the database."""
        return self.cancelled.is_set() or self.lost.is_set()

    def raise_if_lost(self) -> None:
        """Raise ClaimLostError if the job is no longer this worker's, or deleted."""
        if self.lost.is_set():
            raise ClaimLostError(f"{self._claim.job_id}")

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        # The wall clock: a clock that stops while the machine sleeps would renew the heartbeat too late.
        beat_at, chore_at = time.time(), time.monotonic()
        try:
            while not self._ended.wait(min(LOOK_EVERY_SECONDS, settings.HEARTBEAT_SECONDS)):
                beat_due = abs(time.time() - beat_at) >= settings.HEARTBEAT_SECONDS
                chore_due = time.monotonic() - chore_at >= self._chore_every_seconds
                if not self._round(beat_due=beat_due, chore_due=chore_due):
                    return
                beat_at = time.time() if beat_due else beat_at
                chore_at = time.monotonic() if chore_due else chore_at
        finally:
            connection.close()

    def _round(self, *, beat_due: bool, chore_due: bool) -> bool:
        """Check for a cancellation and do what is due; False once the claim is lost."""
        try:
            if self._claim.cancel_requested():
                self.cancelled.set()
            if beat_due:
                self._claim.update()
                self._look_whether_others_wait()
            if chore_due:
                self._chore()
        except ClaimLostError:
            self.lost.set()
            return False
        except DatabaseError:
            log.warning("%s: the database does not answer; trying again", self._claim.job_id, exc_info=True)
            connection.close()
        return True

    def _look_whether_others_wait(self) -> None:
        worked_long = time.monotonic() - self._began >= settings.YIELD_AFTER_SECONDS
        if worked_long and self._others_wait():
            self.should_yield.set()
        else:
            self.should_yield.clear()
