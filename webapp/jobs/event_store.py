"""Stores what a job reports: in batches, each event once, and only while this worker has the job."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from django.db import transaction
from django.db.models import F

from engine import api
from webapp.jobs.claim import Claim, ClaimLostError, JobType
from webapp.jobs.models import Event, SavedState, bytes_of_events
from webapp.json_field import to_text

MOST_BUFFERED = 20_000
"""if the engine emits more between two writes, it waits for the database"""
LONGEST_WAIT_SECONDS = 5.0
"""so that the job can still be cancelled"""
ROWS_A_STATEMENT = 500
THIS_ATTEMPT = 1


@dataclass(slots=True)
class Batch:
    """The changes to write in one transaction."""

    events: list[Event] = field(default_factory=list)
    state: dict[str, Any] | None = None
    """columns of the latest `SavedState`, which is no later than the last event stored with this batch"""
    columns: dict[str, Any] = field(default_factory=dict)
    """columns of the job's row"""
    others: dict[str, Callable[[], object]] = field(default_factory=dict)
    """name → another write; the latest of each name counts"""

    @property
    def is_empty(self) -> bool:
        return not self.events and self.state is None and not self.columns and not self.others

    def then(self, later: "Batch") -> "Batch":
        """This batch merged with a later one."""
        state = self.state if later.state is None else later.state
        return Batch(self.events + later.events, state, self.columns | later.columns, self.others | later.others)

    def write(self, claim: Claim[Any]) -> None:
        """Write it, in the caller's transaction. Raises ClaimLostError before anything is written."""
        claim.update(**self.columns, **self._stored(), **self._progress(claim))
        Event.objects.bulk_create(self.events, batch_size=ROWS_A_STATEMENT)
        if self.state is not None:
            SavedState.objects.update_or_create(job_id=claim.job_id, defaults=self.state)
        for write in self.others.values():
            write()

    def _stored(self) -> dict[str, Any]:
        """The columns that count the events."""
        if not self.events:
            return {}
        return {
            "last_seq": self.events[-1].seq,
            "event_bytes": F("event_bytes") + bytes_of_events(self.events),
        }

    def _progress(self, claim: Claim[Any]) -> dict[str, int]:
        """The column that counts attempts without progress, where the batch has a later state than the stored one."""
        if self.state is None:
            return {}
        later = SavedState.objects.filter(job_id=claim.job_id, seq__gte=max(1, self.state.get("seq", 0)))
        return {} if later.exists() else {"fruitless_attempts": THIS_ATTEMPT}


class EventStore(Generic[JobType]):
    """Keeps a job's events, its latest state, and what its row shows of them.

    It buffers what the engine reports, so that the engine does not wait for the database; `write` stores the buffer
    in one transaction with the claim's check. A subclass turns the engine's reports into events.
    """

    def __init__(self, claim: Claim[JobType], last_seq: int) -> None:
        self._claim = claim
        self._last_seq = last_seq
        """number of the last event stored or buffered"""
        self._batch = Batch()
        self._abandoned = False
        self._memory = threading.Condition()
        """guards all of the above and a subclass's own fields"""
        self._writing = threading.Lock()

    def write(self) -> None:
        """Store the buffer. Raises ClaimLostError; after any other error the buffer is kept."""
        with self._writing:
            batch = self._take_batch()
            if batch.is_empty:
                return
            try:
                with transaction.atomic():
                    batch.write(self._claim)
            except BaseException as error:
                self._put_back(batch, abandoned=isinstance(error, ClaimLostError))
                raise

    def end(self, status: str, finish: Callable[[], object] = lambda: None, **columns: Any) -> None:
        """Store the rest, run `finish` and set the job's last status, in one transaction."""
        with self._writing, transaction.atomic():
            with self._memory:
                self._remember_end()
            self._take_batch().write(self._claim)
            finish()
            self._claim.end(status, **columns)

    def _wait_for_room(self) -> None:
        """With `_memory` held: wait for the database to catch up."""
        self._memory.wait_for(
            lambda: len(self._batch.events) < MOST_BUFFERED or self._abandoned, timeout=LONGEST_WAIT_SECONDS
        )

    def _remember(self, kind: str, event: Mapping[str, api.Json]) -> None:
        """With `_memory` held: buffer `event` under the next number."""
        self._last_seq += 1
        data = to_text({**event, "seq": self._last_seq})
        self._batch.events.append(Event(job_id=self._claim.job_id, seq=self._last_seq, type=kind, data=data))

    def _remember_end(self) -> None:
        """With `_memory` held: buffer the event that is stored with the last status alone."""

    def _sum_up(self) -> None:
        """With `_memory` held: add the summary of all events to the batch."""

    def _take_batch(self) -> Batch:
        with self._memory:
            if self._batch.events:
                self._sum_up()
            batch, self._batch = self._batch, Batch()
            self._memory.notify_all()
        return batch

    def _put_back(self, batch: Batch, *, abandoned: bool) -> None:
        with self._memory:
            self._batch = batch.then(self._batch)
            self._abandoned = abandoned
            self._memory.notify_all()
