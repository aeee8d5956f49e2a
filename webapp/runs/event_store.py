"""What a run tells, on its way into the database: in batches, once each, and only while the run is this worker's."""

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from engine import api
from webapp.jobs.claim import Claim, ClaimLostError
from webapp.json_text import to_text
from webapp.runs.models import Answer, Checkpoint, Event, Run

MOST_BUFFERED = 20_000
"""a placer that tells more between two writes waits for the database"""
LONGEST_WAIT_SECONDS = 5.0
"""so that it still looks whether it should stop"""
ROWS_A_STATEMENT = 500
TRIVIAL_BASELINES = ("single_device", "cpu_only")
"""what every run evaluates too, so that its answer is never worse; what the random baseline finds is not the run's"""


@dataclass(slots=True)
class Batch:
    """What is to be written in one transaction."""

    events: list[Event] = field(default_factory=list)
    checkpoint: api.Checkpoint | None = None
    """the latest, of a state no later than the last event that is stored once this batch is"""
    best: tuple[float, list[int]] | None = None
    """step time and [groups] of the best feasible placement so far, if it is new"""
    evaluations_used: int | None = None

    @property
    def is_empty(self) -> bool:
        return not self.events and self.checkpoint is None

    def then(self, later: "Batch") -> "Batch":
        """This batch and a later one as one."""
        return Batch(
            self.events + later.events,
            later.checkpoint or self.checkpoint,
            later.best or self.best,
            self.evaluations_used if later.evaluations_used is None else later.evaluations_used,
        )

    def write(self, claim: Claim[Run]) -> None:
        """Write it, in the caller's transaction. Raises ClaimLostError before anything is written."""
        claim.keep(**self._row_changes())
        Event.objects.bulk_create(self.events, batch_size=ROWS_A_STATEMENT)
        if self.checkpoint is not None:
            state = {"seq": self.checkpoint.seq, "state": self.checkpoint.state}
            Checkpoint.objects.update_or_create(run_id=claim.job_id, defaults=state)
        if self.best is not None:
            answer = {"step_time_us": self.best[0], "device_of_group": self.best[1]}
            Answer.objects.update_or_create(run_id=claim.job_id, defaults=answer)

    def _row_changes(self) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        if self.events:
            changes["last_seq"] = self.events[-1].seq
        if self.best is not None:
            changes["best_step_time_us"] = self.best[0]
        if self.evaluations_used is not None:
            changes["evaluations_used"] = self.evaluations_used
        return changes


class EventStore:
    """Keeps a run's events and its latest checkpoint.

    `emit` only remembers, so that the engine does not wait for the database; `write` writes what is remembered in one
    transaction with the claim's check. A run that goes on from a checkpoint tells some events again: those that are
    stored already are skipped.
    """

    def __init__(self, claim: Claim[Run], run: Run) -> None:
        self._claim = claim
        self._last_seq = run.last_seq
        """of the last event that is stored or remembered"""
        self._best_step_time_us = math.inf if run.best_step_time_us is None else run.best_step_time_us
        self._evaluations_used = run.evaluations_used
        self._takes_trivial = run.method not in TRIVIAL_BASELINES
        """who asks for a trivial placement by name gets just that"""
        self._batch = Batch()
        self._abandoned = False
        self._memory = threading.Condition()
        """guards all of the above"""
        self._writing = threading.Lock()

    def emit(self, item: api.NumberedEvent | api.Checkpoint) -> None:
        """Called by the engine."""
        with self._memory:
            if isinstance(item, api.Checkpoint):
                self._batch.checkpoint = item
                return
            self._memory.wait_for(
                lambda: len(self._batch.events) < MOST_BUFFERED or self._abandoned, timeout=LONGEST_WAIT_SECONDS
            )
            self._remember(item)

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

    def end(self, status: str, report: Mapping[str, api.Json] | None = None) -> None:
        """Write the rest, the report and the run's last status in one transaction."""
        with self._writing, transaction.atomic():
            self._take_batch().write(self._claim)
            if report is not None and report["feasible"]:
                _write_report(self._claim, report)
            self._claim.end(status)

    def _take_batch(self) -> Batch:
        with self._memory:
            batch, self._batch = self._batch, Batch()
            self._memory.notify_all()
        return batch

    def _put_back(self, batch: Batch, *, abandoned: bool) -> None:
        with self._memory:
            self._batch = batch.then(self._batch)
            self._abandoned = abandoned
            self._memory.notify_all()

    def _remember(self, item: api.NumberedEvent) -> None:
        self._note(item.event)
        seq = item.seq
        if seq <= self._last_seq:
            if not isinstance(item.event, api.Finished):
                return
            # A run with a limit in seconds can end sooner after going on than it had got before: its end still counts.
            seq = self._last_seq + 1
        assert seq == self._last_seq + 1, "the engine numbers events without a gap"
        self._last_seq = seq
        data = to_text(item.to_json() | {"seq": seq})
        self._batch.events.append(Event(run_id=self._claim.job_id, seq=seq, type=item.event.type, data=data))

    def _note(self, event: object) -> None:
        """Keep what the row and the answer show of `event`."""
        if isinstance(event, api.Episode):
            if event.evaluations > self._evaluations_used:
                self._evaluations_used = self._batch.evaluations_used = event.evaluations
            if event.feasible:
                self._note_placement(event.step_time_us, event.placement)
        elif (
            self._takes_trivial
            and isinstance(event, api.Baseline)
            and event.method in TRIVIAL_BASELINES
            and event.step_time_us is not None
            and event.placement is not None
        ):
            self._note_placement(event.step_time_us, event.placement)

    def _note_placement(self, step_time_us: float, device_of_group: list[int]) -> None:
        if step_time_us < self._best_step_time_us:
            self._best_step_time_us = step_time_us
            self._batch.best = (step_time_us, device_of_group)


def _write_report(claim: Claim[Run], report: Mapping[str, api.Json]) -> None:
    """Keep the engine's own answer, unless an earlier attempt at this run has found a better one."""
    best = {"step_time_us": report["step_time_us"], "device_of_group": api.device_of_group(report)}
    rest = {key: value for key, value in report.items() if key != "device_of_group"}
    answer = Answer.objects.filter(run_id=claim.job_id).first()
    if answer is None or best["step_time_us"] <= answer.step_time_us:  # type: ignore[operator]  # the engine's report
        claim.keep(best_step_time_us=report["step_time_us"], evaluations_used=report["evaluations"])
        Answer.objects.update_or_create(run_id=claim.job_id, defaults=best | {"report": rest})
    else:
        Answer.objects.filter(run_id=claim.job_id).update(report=rest)
