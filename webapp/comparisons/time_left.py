"""How long a comparison will still take, by the evaluations and seconds of its runs so far."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.utils import timezone

from engine import api
from webapp.runs.models import Run


def left_seconds(runs: Sequence[Run], outcomes: Sequence[api.Outcome], now: datetime | None = None) -> float | None:
    """An estimate: as many runs as now work beside each other. None while none works, or nothing is known yet.

    A run takes longer than its evaluations: it evaluates baselines before them and looks at its answer after them.
    """
    now = now or timezone.now()
    working = sum(run.status == Run.RUNNING for run in runs)
    spent: dict[str, list[api.Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.evaluations and outcome.wall_seconds:
            spent[outcome.method].append(outcome)
    if not working or not spent:
        return None
    beside = _seconds_beside(runs, outcomes, now)
    everything = [outcome for found in spent.values() for outcome in found]
    rest = [
        _left_of(run, outcome, spent[run.method], everything) + _left_beside(run, outcome, beside, now)
        for run, outcome in zip(runs, outcomes, strict=True)
        if not run.has_ended
    ]
    return max(sum(rest) / working, *rest)


def _left_of(
    run: Run, outcome: api.Outcome, of_method: Sequence[api.Outcome], everything: Sequence[api.Outcome]
) -> float:
    """Seconds of one run: at its method's speed, and to the end at which the method's other runs have ended."""
    rate = _seconds_an_evaluation(of_method or everything)
    ends = [other.evaluations for other in of_method if other.ended]
    evaluations = max(ends, default=run.evaluations) - outcome.evaluations
    most = float("inf") if run.seconds is None else run.seconds - outcome.wall_seconds
    return max(0.0, min(evaluations * rate, most))


def _seconds_an_evaluation(outcomes: Sequence[api.Outcome]) -> float:
    return sum(outcome.wall_seconds for outcome in outcomes) / sum(outcome.evaluations for outcome in outcomes)


def _seconds_beside(runs: Sequence[Run], outcomes: Sequence[api.Outcome], now: datetime) -> float:
    """The mean of what a run takes beside its evaluations: of ended runs; of those that work while none has ended."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for run, outcome in zip(runs, outcomes, strict=True):
        if outcome.wall_seconds and run.attempts <= 1 and (since := _seconds_since_start(run, now)) is not None:
            found[run.has_ended].append(max(0.0, since - outcome.wall_seconds))
    counted = found[True] or found[False]
    return sum(counted) / len(counted) if counted else 0.0


def _left_beside(run: Run, outcome: api.Outcome, beside: float, now: datetime) -> float:
    """What is left of that: nothing once it evaluates, since most of it comes before."""
    if outcome.evaluations:
        return 0.0
    return max(0.0, beside - (_seconds_since_start(run, now) or 0.0))


def _seconds_since_start(run: Run, now: datetime) -> float | None:
    """Until its end, or now; None for one that has not begun."""
    return None if run.started_at is None else ((run.finished_at or now) - run.started_at).total_seconds()
