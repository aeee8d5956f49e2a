"""What a training tells, on its way into the database: in batches, once each, only while it is this worker's."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from engine import api
from webapp.jobs.claim import Claim
from webapp.json_text import to_text
from webapp.policies.models import Policy, PolicyEvent, PolicyFile, TrainingState
from webapp.policies.summary import columns_of_file
from webapp.policies.training_plan import TrainingPlan

EVENT_VERSION = 1
LEAST_SECONDS_BETWEEN_EVENTS = 0.5
"""of one stage: a training may tell more often than anybody can see"""
MOST_SECONDS_BETWEEN_EVENTS = 10.0
EVENTS_OF_A_STAGE = 3600
"""about: a long training tells less often, so that its page need not load a day of half seconds"""
BEGUN_AGAIN = (
    "The training was interrupted and has begun again from the start: its graphs, or the version of the engine, are no "
    "longer those of what had been kept."
)
NO_STAGE: dict[str, Any] = {"stage": "", "stage_done": 0, "stage_total": 0}


@dataclass(slots=True)
class _Batch:
    """What is to be written in one transaction."""

    events: list[PolicyEvent] = field(default_factory=list)
    state: bytes | None = None
    """the latest to go on from"""
    stage: dict[str, Any] | None = None
    """columns of the row"""


class TrainingStore:
    """Remembers what the engine tells, so that it does not wait for the database; `write` is called now and then."""

    def __init__(self, claim: Claim[Policy], policy: Policy) -> None:
        self._claim = claim
        self._between_events = seconds_between_events(policy.training_plan)
        self._identity = ""
        """of the training whose states are kept"""
        self._last_seq = policy.last_seq
        self._batch = _Batch()
        self._rows_told = 0
        """held-out rows that are in events: each event tells only the new ones"""
        self._last: api.TrainingProgress | None = None
        self._last_at = float("-inf")
        self._withheld: api.TrainingProgress | None = None
        self._memory = threading.Lock()
        """guards all of the above"""
        self._writing = threading.Lock()

    def state_of(self, identity: str) -> bytes | None:
        """What this training can go on from; `identity` is its own. A state of another is dropped, and that is told."""
        self._identity = identity
        kept = TrainingState.objects.filter(policy_id=self._claim.job_id).first()
        if kept is None or kept.identity == identity:
            return None if kept is None else bytes(kept.state)
        with self._writing, transaction.atomic():
            self._claim.keep(note=BEGUN_AGAIN)
            kept.delete()
        return None

    def stage(self, stage: str, done: int, total: int) -> None:
        """How far the preparation is: for the row alone."""
        with self._memory:
            self._batch.stage = {"stage": stage[:200], "stage_done": done, "stage_total": total}

    def tell(self, progress: api.TrainingProgress) -> None:
        """Called by the engine."""
        now = time.monotonic()
        with self._memory:
            same = self._last is not None and self._last.stage == progress.stage
            if same and len(progress.held_out) == self._rows_told and now - self._last_at < self._between_events:
                self._withheld = progress
                return
            self._last, self._last_at, self._withheld = progress, now, None
            self._remember(progress)

    def keep(self, state: bytes) -> None:
        """Called by the engine: what it could go on from."""
        with self._memory:
            self._batch.state = state

    def write(self) -> None:
        """Write what is remembered. Raises ClaimLostError; after any other error it is still remembered."""
        with self._writing:
            batch = self._take()
            try:
                with transaction.atomic():
                    self._write(batch)
            except BaseException:
                self._put_back(batch)
                raise

    def end(self, status: str, blob: bytes | None, card: dict[str, api.Json] | None) -> None:
        """Write the rest, the policy's file and its last status in one transaction.

        Without a file a state that is there stays: it may be of an earlier attempt, which had learned something.
        """
        with self._memory:
            if self._withheld is not None:
                self._remember(self._withheld)
        changes: dict[str, Any] = dict(NO_STAGE)
        if blob is not None and card is not None:
            changes |= columns_of_file(blob, card)
        with self._writing, transaction.atomic():
            self._write(self._take())
            if blob is not None:
                PolicyFile.objects.update_or_create(policy_id=self._claim.job_id, defaults={"blob": blob})
                TrainingState.objects.filter(policy_id=self._claim.job_id).delete()
            self._claim.end(status, **changes)

    def _remember(self, progress: api.TrainingProgress) -> None:
        self._last_seq += 1
        told = progress.to_json()
        rows = told["held_out"]
        assert isinstance(rows, list)
        if len(rows) < self._rows_told:  # a training that has gone on from a state looks at them again
            self._rows_told = 0
        event = told | {"type": "progress", "version": EVENT_VERSION, "seq": self._last_seq}
        data = to_text(event | {"held_out": rows[self._rows_told :], "held_out_from": self._rows_told})
        self._rows_told = len(rows)
        self._batch.events.append(PolicyEvent(policy_id=self._claim.job_id, seq=self._last_seq, data=data))
        words = f"{STAGE_WORDS.get(progress.stage, progress.stage)}, {100 * progress.done:.0f} % of the training"
        self._batch.stage = {"stage": words, "stage_done": 0, "stage_total": 0}

    def _take(self) -> _Batch:
        with self._memory:
            batch, self._batch = self._batch, _Batch()
        return batch

    def _put_back(self, batch: _Batch) -> None:
        with self._memory:
            later = self._batch
            self._batch = _Batch(
                batch.events + later.events,
                batch.state if later.state is None else later.state,
                later.stage or batch.stage,
            )

    def _write(self, batch: _Batch) -> None:
        """In the caller's transaction. Raises ClaimLostError before anything is written."""
        changes: dict[str, Any] = batch.stage or {}
        if batch.events:
            changes = changes | {"last_seq": batch.events[-1].seq}
        if not changes and batch.state is None:
            return
        self._claim.keep(**changes)
        PolicyEvent.objects.bulk_create(batch.events, batch_size=500)
        if batch.state is not None:
            kept = {"state": batch.state, "identity": self._identity}
            TrainingState.objects.update_or_create(policy_id=self._claim.job_id, defaults=kept)


def seconds_between_events(plan: TrainingPlan | None) -> float:
    """The least time between two events of one stage."""
    wanted = 0.0 if plan is None else plan.seconds / EVENTS_OF_A_STAGE
    return min(MOST_SECONDS_BETWEEN_EVENTS, max(LEAST_SECONDS_BETWEEN_EVENTS, wanted))


STAGE_WORDS = {
    "teacher": "Searching good placements to learn from",
    "imitation": "Learning to imitate them",
    "reinforcement": "Improving by reinforcement",
    "held_out": "Looking at graphs that it has not seen",
}
"""stages of the engine, for people; the page's script has the same"""
