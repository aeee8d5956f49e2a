"""The current state of a comparison, computed from the rows and summaries of its runs."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from engine import api
from webapp.comparisons.lifecycle import runs_of
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.comparisons.outcomes import outcome_of
from webapp.comparisons.time_left import left_seconds
from webapp.jobs.stream import Look
from webapp.json_field import to_text
from webapp.runs.models import Run

EVENT_TYPE, EVENT_VERSION = "comparison", 1


def state_of(runs: Sequence[Run], outcomes: Sequence[api.Outcome]) -> dict[str, api.Json]:
    """For scripts: the progress with the time left where it is known, and one row with a band for each method."""
    left = left_seconds(runs, outcomes)
    return {
        **({} if left is None else {"left_seconds": left}),
        "total": len(outcomes),
        "ended": sum(outcome.ended for outcome in outcomes),
        "running": sum(run.status == Run.RUNNING for run in runs),
        "one_device_us": next((outcome.one_device_us for outcome in outcomes if outcome.one_device_us), None),
        "lower_bound_us": next((outcome.lower_bound_us for outcome in outcomes if outcome.lower_bound_us), None),
        "methods": [summary.to_json() for summary in api.comparison_summaries(outcomes)],
    }


def status_of(runs: Sequence[Run]) -> str:
    """The status, in the words of a run."""
    if all(run.has_ended for run in runs):
        return Run.DONE
    return Run.RUNNING if any(run.has_ended or run.status == Run.RUNNING for run in runs) else Run.QUEUED


@dataclass(frozen=True, slots=True)
class ComparisonEvents:
    """The events of a comparison: only one at a time, its current state.

    The number counts the changes of the runs, so that a viewer gets the event only after a change. The event is
    computed from the runs' rows for each request and never stored.
    """

    comparison_id: uuid.UUID
    what: str = "comparison"
    rest_seconds: float = 1.0
    """each look reads all of its runs"""

    def job_ids(self) -> list[uuid.UUID]:
        """The ids of its runs."""
        return list(ComparedRun.objects.filter(comparison_id=self.comparison_id).values_list("run_id", flat=True))

    def look(self, seq: int, limit: int) -> Look | None:
        """The state, with an event unless its number is `seq`; None if the comparison has been deleted."""
        comparison = Comparison.objects.only("methods").filter(id=self.comparison_id).first()
        if comparison is None:
            return None
        runs = runs_of(comparison)
        number = 1 + sum(run.revision for run in runs)
        state = {"status": status_of(runs), "error": ""}
        events = [(number, _event(number, runs))] if limit and number != seq else []
        return Look(state, all(run.has_ended for run in runs), number, events)


def _event(number: int, runs: list[Run]) -> str:
    state = state_of(runs, [outcome_of(run) for run in runs])
    return to_text({"type": EVENT_TYPE, "version": EVENT_VERSION, "seq": number, **state})
