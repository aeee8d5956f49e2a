"""Stores what a run emits: its events, its latest checkpoint, and the best placement so far as its answer."""

import math
from collections.abc import Mapping
from functools import partial

from engine import api
from webapp.jobs.claim import Claim
from webapp.jobs.event_store import EventStore
from webapp.runs.models import Answer, KeptPolicy, Run
from webapp.runs.run_summary import store_summary, summary_of


class RunStore(EventStore[Run]):
    """Keeps a run's events, its latest checkpoint, and the policy that its method learned.

    A run that resumes from a checkpoint emits some events again: stored ones are skipped.
    """

    def __init__(self, claim: Claim[Run], run: Run) -> None:
        super().__init__(claim, run.last_seq)
        self._best_step_time_us = math.inf if run.best_step_time_us is None else run.best_step_time_us
        self._evaluations_used = run.evaluations_used
        self._takes_trivial = run.method not in api.TRIVIAL_BASELINES
        """a run of a trivial method answers with its own placement alone"""
        self._summary = summary_of(run)
        self._finished: api.NumberedEvent | None = None
        """held back until `end_with`: if the end cannot be stored, the next attempt emits it again"""

    def emit(self, item: api.Emitted) -> None:
        """The engine's `emit`."""
        with self._memory:
            if isinstance(item, api.Checkpoint):
                self._batch.state = {"seq": item.seq, "state": item.state}
                return
            if isinstance(item, api.LearnedPolicy):
                kept = {"policy": item.policy}
                write = partial(KeptPolicy.objects.update_or_create, run_id=self._claim.job_id, defaults=kept)
                self._batch.others["policy"] = write
                return
            self._wait_for_room()
            self._note(item.event)
            assert item.seq <= self._last_seq + 1, "the engine numbers events without a gap"
            if isinstance(item.event, api.Finished):
                self._finished = item
            elif item.seq > self._last_seq:
                self._keep(item)

    def end_with(self, status: str, report: Mapping[str, api.Json] | None = None) -> None:
        """Store the rest, the report and the run's last status in one transaction."""
        if report is not None and report["feasible"]:
            self.end(status, partial(_write_report, self._claim, report))
        else:
            self.end(status)

    def _remember_end(self) -> None:
        """A resumed run with a limit in seconds can end before its last stored event: its end is still stored."""
        if self._finished is not None:
            self._keep(self._finished)
            self._finished = None

    def _keep(self, item: api.NumberedEvent) -> None:
        event = item.to_json()
        self._remember(item.event.type, event)
        self._summary.add_json(event)

    def _sum_up(self) -> None:
        write = partial(store_summary, self._claim.job_id, self._last_seq, self._summary.to_json())
        self._batch.others["summary"] = write

    def _note(self, event: object) -> None:
        """Update the row and the answer from `event`."""
        if isinstance(event, api.Episode):
            if event.evaluations > self._evaluations_used:
                self._evaluations_used = self._batch.columns["evaluations_used"] = event.evaluations
            if event.feasible:
                self._note_placement(event.step_time_us, event.placement, event.parts)
        elif (
            self._takes_trivial
            and isinstance(event, api.Baseline)
            and event.method in api.TRIVIAL_BASELINES  # the random baseline's placements are not the run's
            and event.step_time_us is not None
            and event.placement is not None
        ):
            self._note_placement(event.step_time_us, event.placement, [])

    def _note_placement(self, step_time_us: float, device_of_group: list[int], parts: list[list[int]]) -> None:
        if step_time_us < self._best_step_time_us:
            self._best_step_time_us = self._batch.columns["best_step_time_us"] = step_time_us
            answer = {"step_time_us": step_time_us, "device_of_group": device_of_group, "parts": parts}
            write = partial(Answer.objects.update_or_create, run_id=self._claim.job_id, defaults=answer)
            self._batch.others["answer"] = write


def _write_report(claim: Claim[Run], report: Mapping[str, api.Json]) -> None:
    """Store the engine's answer, unless an earlier attempt at this run has found a better one.

    Of a stream it is always stored: a whole batch chooses it, and its period may be longer than that of an episode.
    """
    best = {key: report[key] for key in ("step_time_us", "device_of_group")} | {"parts": report.get("parts", [])}
    rest = {key: value for key, value in report.items() if key not in ("device_of_group", "parts")}
    answer = Answer.objects.filter(run_id=claim.job_id).first()
    if answer is None or "stream" in report or best["step_time_us"] <= answer.step_time_us:  # type: ignore[operator]  # the engine's report
        claim.update(best_step_time_us=report["step_time_us"], evaluations_used=report["evaluations"])
        Answer.objects.update_or_create(run_id=claim.job_id, defaults=best | {"report": rest})
    else:
        Answer.objects.filter(run_id=claim.job_id).update(report=rest)
