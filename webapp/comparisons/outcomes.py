"""Turns runs into the engine's outcomes, for a comparison's table, figure and report."""

from engine import api
from webapp.runs.models import Answer, Run
from webapp.runs.run_summary import summary_of

CANCELLED = "cancelled before it found a placement that fits the memory"


def outcome_of(run: Run) -> api.Outcome:
    """The outcome of `run`; while it works, the outcome so far."""
    listener = summary_of(run)
    answer = _answer_of(run)
    reason = run.error if run.status == Run.FAILED else ""
    step_time_us = None if reason else run.best_step_time_us
    if run.status == Run.CANCELLED and step_time_us is None:
        reason = CANCELLED
    report = answer.report if answer is not None and isinstance(answer.report, dict) else {}
    seconds, peaks = report.get("wall_seconds"), report.get("peak_bytes")
    feasible = step_time_us is not None
    placement = answer.placement if feasible and answer is not None else api.SplitPlacement([])
    close_us = 0.0 if step_time_us is None else step_time_us * (1 + api.CLOSE)
    return api.Outcome(
        method=run.method,
        seed=run.seed,
        step_time_us=step_time_us,
        feasible=feasible,
        reason=reason,
        peak_bytes=tuple(peak for peak in peaks if isinstance(peak, int)) if isinstance(peaks, list) else (),
        evaluations=run.evaluations_used,
        wall_seconds=float(seconds) if isinstance(seconds, int | float) else listener.elapsed_seconds,
        lower_bound_us=listener.lower_bound_us,
        one_device_us=listener.one_device_us,
        own_best_us=None if reason else listener.own_best_us,
        evaluations_to_best=listener.curve.evaluations_to_reach(close_us) if feasible else None,
        curve=tuple(listener.curve.points()) if feasible else (),
        ended=run.has_ended,
        settings=listener.settings,
        engine_version=listener.engine_version,
        device_of_group=tuple(placement.device_of_group),
        parts=tuple(tuple(part) for part in placement.parts),
        devices_used=_integer(report.get("devices_used")),
        crossing_edges=_integer(report.get("crossing_edges")),
        verdict=_object(report.get("verdict", run.verdict)),
        simplest=_object(report.get("simplest")),
    )


def _integer(value: api.Json) -> int | None:
    return value if isinstance(value, int) else None


def _object(value: api.Json) -> dict[str, api.Json] | None:
    return value if isinstance(value, dict) else None


def _answer_of(run: Run) -> Answer | None:
    return getattr(run, "answer", None)
