"""A thread that renews a job's heartbeat and checks whether the job is cancelled or should yield."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection

from webapp.jobs.claim import Claim, ClaimLostError
from webapp.jobs.memory_kills import forget_attempt, note_attempt
from webapp.processes import descendants, send

log = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 0.5
STOP_WITHIN_SECONDS = 8.0
"""for which work that is cancelled, or no longer this worker's, may go on before its process ends"""
ENDED_EARLY_EXIT_STATUS = 1


class Heartbeat:
    """In a `with` block: renews `claim`, checks whether it is cancelled, and calls `chore` about once a second.

    It runs in its own thread, so that a long computation neither looks dead nor delays the writing of its events.
    If the database does not answer for a while, the next round tries again.

    Work that does not stop when it should, such as a step of compiled code that takes minutes, is ended with its
    process and that process's children; a cancelled job is ended before, with what it has stored.
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
        self._asked_at: float | None = None
        """when it first saw that the job is cancelled"""
        self._thread = threading.Thread(target=self._run, name=f"heartbeat-{claim.job_id}", daemon=True)

    def should_stop(self) -> bool:
        """Whether the work should end now. Cheap: it does not ask the database."""
        return self.cancelled.is_set() or self.lost.is_set()

    def raise_if_lost(self) -> None:
        """Raise ClaimLostError if the job is no longer this worker's, or deleted."""
        if self.lost.is_set():
            raise ClaimLostError(f"{self._claim.job_id}")

    def __enter__(self) -> "Heartbeat":
        """Begin. Raises LimitError if the attempt before was killed because memory ran out."""
        note_attempt(self._claim.job_id)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        forget_attempt(self._claim.job_id)

    def _run(self) -> None:
        # The wall clock: a clock that stops while the machine sleeps would renew the heartbeat too late.
        beat_at, chore_at = time.time(), time.monotonic()
        try:
            while not self._ended.wait(min(LOOK_EVERY_SECONDS, settings.HEARTBEAT_SECONDS)):
                beat_due = abs(time.time() - beat_at) >= settings.HEARTBEAT_SECONDS
                chore_due = time.monotonic() - chore_at >= self._chore_every_seconds
                if not self._round(beat_due=beat_due, chore_due=chore_due) or self._has_ended_early():
                    break
                beat_at = time.time() if beat_due else beat_at
                chore_at = time.monotonic() if chore_due else chore_at
            if self.lost.is_set() and not self._ended.wait(STOP_WITHIN_SECONDS):
                log.warning("%s: lost, but its work does not stop; its process ends", self._claim.job_id)
                end_process()
        finally:
            connection.close()

    def _has_ended_early(self) -> bool:
        """End a cancelled job whose work does not stop; False if it is not to be ended yet."""
        if not self.cancelled.is_set():
            return False
        self._asked_at = self._asked_at or time.monotonic()
        if time.monotonic() - self._asked_at < STOP_WITHIN_SECONDS:
            return False
        try:
            self._chore()
            self._claim.end(self._claim.model.CANCELLED)
        except ClaimLostError:
            self.lost.set()  # the work has just ended, or the job is deleted
            return True
        except DatabaseError:
            log.warning("%s: the database does not answer; trying again", self._claim.job_id, exc_info=True)
            connection.close()
            return False
        log.warning("%s: cancelled, but its work does not stop; its process ends", self._claim.job_id)
        end_process()
        return True

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


def end_process() -> None:
    """End this process of the pool and its children at once; the worker starts another."""
    for child in descendants(os.getpid()):
        send(child, signal.SIGKILL)
    os._exit(ENDED_EARLY_EXIT_STATUS)
