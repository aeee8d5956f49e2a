"""Turns runs into the engine's outcomes, for a comparison's table, figure and report."""

from typing import Any

from engine import api
from webapp.runs.models import Run
from webapp.runs.run_summary import summary_of

CANCELLED = "cancelled before it found a placement that fits the memory"


def outcome_of(run: Run) -> api.Outcome:
    """The outcome of `run`; while it works, the outcome so far."""
    listener = summary_of(run)
    reason = run.error if run.status == Run.FAILED else ""
    step_time_us = None if reason else run.best_step_time_us
    if run.status == Run.CANCELLED and step_time_us is None:
        reason = CANCELLED
    if reason:
        listener.own_best_us = None
    feasible = step_time_us is not None
    report = _report_of(run, with_placement=feasible)
    report |= {"step_time_us": step_time_us, "evaluations": run.evaluations_used}
    return listener.outcome(run.method, run.seed, report, feasible=feasible, reason=reason, ended=run.has_ended)


def _report_of(run: Run, *, with_placement: bool) -> dict[str, Any]:
    """What the run's row and its answer have of a report."""
    answer = getattr(run, "answer", None)
    report: dict[str, Any] = {"verdict": run.verdict}
    if answer is not None:
        report |= (answer.report or {}) | {"device_of_group": answer.device_of_group, "parts": answer.parts}
    return report if with_placement else report | {"device_of_group": (), "parts": ()}
