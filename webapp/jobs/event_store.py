"""What a job reports, on its way into the database: in batches, once each, and only while it is this worker's."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from django.db import transaction

from engine import api
from webapp.jobs.claim import Claim, ClaimLostError, JobType
from webapp.jobs.models import Event, SavedState
from webapp.json_field import to_text

MOST_BUFFERED = 20_000
"""an engine that reports more between two writes waits for the database"""
LONGEST_WAIT_SECONDS = 5.0
"""so that it still looks whether it should stop"""
ROWS_A_STATEMENT = 500


@dataclass(slots=True)
class Batch:
    """What is to be written in one transaction."""

    events: list[Event] = field(default_factory=list)
    state: dict[str, Any] | None = None
    """columns of the latest `SavedState`, of no later than the last event that is stored once this batch is"""
    columns: dict[str, Any] = field(default_factory=dict)
    """of the job's row"""
    others: dict[str, Callable[[], object]] = field(default_factory=dict)
    """name → what else is to be written; the latest of a name counts"""

    @property
    def is_empty(self) -> bool:
        return not self.events and self.state is None and not self.columns and not self.others

    def then(self, later: "Batch") -> "Batch":
        """This batch and a later one as one."""
        state = self.state if later.state is None else later.state
        return Batch(self.events + later.events, state, self.columns | later.columns, self.others | later.others)

    def write(self, claim: Claim[Any]) -> None:
        """Write it, in the caller's transaction. Raises ClaimLostError before anything is written."""
        last_seq = {"last_seq": self.events[-1].seq} if self.events else {}
        claim.update(**self.columns, **last_seq)
        Event.objects.bulk_create(self.events, batch_size=ROWS_A_STATEMENT)
        if self.state is not None:
            SavedState.objects.update_or_create(job_id=claim.job_id, defaults=self.state)
        for write in self.others.values():
            write()


class EventStore(Generic[JobType]):
    """Keeps a job's events, its latest state, and what its row shows of them.

    It only remembers what the engine reports, so that the engine does not wait for the database; `write` writes what
    is remembered in one transaction with the claim's check. A subclass turns the reports of its engine into events.
    """

    def __init__(self, claim: Claim[JobType], last_seq: int) -> None:
        self._claim = claim
        self._last_seq = last_seq
        """of the last event that is stored or remembered"""
        self._batch = Batch()
        self._abandoned = False
        self._memory = threading.Condition()
        """guards all of the above, and what a subclass adds"""
        self._writing = threading.Lock()

    def write(self) -> None:
        """Write what is remembered. Raises ClaimLostError; after any other error it is still remembered."""
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
        """Write the rest, what `finish` writes, and the job's last status in one transaction."""
        with self._writing, transaction.atomic():
            self._take_batch().write(self._claim)
            finish()
            self._claim.end(status, **columns)

    def _wait_for_room(self) -> None:
        """With `_memory` held: let the database catch up."""
        self._memory.wait_for(
            lambda: len(self._batch.events) < MOST_BUFFERED or self._abandoned, timeout=LONGEST_WAIT_SECONDS
        )

    def _remember(self, kind: str, event: Mapping[str, api.Json]) -> None:
        """With `_memory` held: keep `event` under the next number."""
        self._last_seq += 1
        data = to_text({**event, "seq": self._last_seq})
        self._batch.events.append(Event(job_id=self._claim.job_id, seq=self._last_seq, type=kind, data=data))

    def _sum_up(self) -> None:
        """With `_memory` held: add to the batch what all of the events say in short."""

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
