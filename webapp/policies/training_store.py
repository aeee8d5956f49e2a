"""Stores what a training reports: its events, its latest state and its progress."""

import time
from functools import partial
from typing import Any

from django.db import transaction

from engine import api
from webapp.jobs.claim import Claim
from webapp.jobs.event_store import EventStore
from webapp.jobs.models import SavedState
from webapp.policies.models import Policy, PolicyFile
from webapp.policies.summary import columns_of_file
from webapp.policies.training_plan import TrainingPlan

EVENT_TYPE, EVENT_VERSION = "progress", 1
LEAST_SECONDS_BETWEEN_EVENTS = 0.5
"""between events of one stage: a training may report faster than anybody can see"""
MOST_SECONDS_BETWEEN_EVENTS = 10.0
EVENTS_OF_A_STAGE = 3600
"""at most, approximately, so that the page of a long training need not load 170,000 events"""
BEGUN_AGAIN = (
    "The training was interrupted and has started again, because its graphs or the version of the engine have changed."
)
NO_STAGE: dict[str, Any] = {"stage": "", "stage_done": 0, "stage_total": 0}


class TrainingStore(EventStore[Policy]):
    """Keeps a training's events, thinned to a rate that can be seen, and its latest state."""

    def __init__(self, claim: Claim[Policy], policy: Policy) -> None:
        super().__init__(claim, policy.last_seq)
        self._between_events = seconds_between_events(policy.training_plan)
        self._identity = ""
        """of the training whose states are stored"""
        self._rows_emitted = 0
        """held-out rows already in events: each event holds only the new ones"""
        self._last: api.TrainingProgress | None = None
        self._last_at = float("-inf")
        self._withheld: api.TrainingProgress | None = None

    def state_of(self, identity: str) -> bytes | None:
        """The state from which the training `identity` resumes. Deletes a state of another; the row's note says so."""
        self._identity = identity
        saved = SavedState.objects.filter(job_id=self._claim.job_id).first()
        if saved is None or saved.identity == identity:
            return None if saved is None else bytes(saved.state)
        with self._writing, transaction.atomic():
            self._claim.update(note=BEGUN_AGAIN)
            saved.delete()
        return None

    def report_preparation(self, stage: str, done: int, total: int) -> None:
        """The progress of the preparation, for the row alone."""
        with self._memory:
            self._batch.columns |= {"stage": stage[:200], "stage_done": done, "stage_total": total}

    def report_progress(self, progress: api.TrainingProgress) -> None:
        """The engine's `report_progress`."""
        now = time.monotonic()
        with self._memory:
            same = self._last is not None and self._last.stage == progress.stage
            if same and len(progress.held_out) == self._rows_emitted and now - self._last_at < self._between_events:
                self._withheld = progress
                return
            self._wait_for_room()
            self._last, self._last_at, self._withheld = progress, now, None
            self._remember_progress(progress)

    def save_state(self, state: bytes) -> None:
        """The engine's `save_state`."""
        with self._memory:
            self._batch.state = {"state": state, "identity": self._identity}

    def end_with(self, status: str, blob: bytes | None, card: dict[str, api.Json] | None) -> None:
        """Store the rest, the policy's file and its last status in one transaction.

        Without a file, a stored state is kept: an earlier attempt may have learned something.
        """
        with self._memory:
            if self._withheld is not None:
                self._remember_progress(self._withheld)
        if blob is None or card is None:
            self.end(status, **NO_STAGE)
        else:
            self.end(status, partial(_write_file, self._claim, blob), **NO_STAGE, **columns_of_file(blob, card))

    def _remember_progress(self, progress: api.TrainingProgress) -> None:
        """With `_memory` held: buffer `progress` as an event."""
        values = progress.to_json()
        rows = values["held_out"]
        assert isinstance(rows, list)
        if len(rows) < self._rows_emitted:  # a resumed training evaluates them again
            self._rows_emitted = 0
        new_rows: dict[str, api.Json] = {"held_out": rows[self._rows_emitted :], "held_out_from": self._rows_emitted}
        self._remember(EVENT_TYPE, {**values, "type": EVENT_TYPE, "version": EVENT_VERSION, **new_rows})
        self._rows_emitted = len(rows)
        words = f"{STAGE_WORDS.get(progress.stage, progress.stage)}, {100 * progress.done:.0f} % of the training"
        self._batch.columns |= {"stage": words, "stage_done": 0, "stage_total": 0}


def _write_file(claim: Claim[Policy], blob: bytes) -> None:
    PolicyFile.objects.update_or_create(policy_id=claim.job_id, defaults={"blob": blob})
    SavedState.objects.filter(job_id=claim.job_id).delete()


def seconds_between_events(plan: TrainingPlan | None) -> float:
    """The least time between two events of one stage."""
    wanted = 0.0 if plan is None else plan.seconds / EVENTS_OF_A_STAGE
    return min(MOST_SECONDS_BETWEEN_EVENTS, max(LEAST_SECONDS_BETWEEN_EVENTS, wanted))


STAGE_WORDS = {
    "teacher": "Searching for placements to learn from",
    "imitation": "Learning by imitation",
    "reinforcement": "Reinforcement learning",
    "held_out": "Evaluating held-out graphs",
}
"""stages of the engine, for people"""
