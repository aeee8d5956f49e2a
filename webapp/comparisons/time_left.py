"""How long a comparison will still take, by the evaluations and seconds of its runs so far."""

from collections import defaultdict
from collections.abc import Sequence

from engine import api
from webapp.runs.models import Run


def left_seconds(runs: Sequence[Run], outcomes: Sequence[api.Outcome]) -> float | None:
    """An estimate: as many runs as now work beside each other. None while none works, or nothing is known yet."""
    working = sum(run.status == Run.RUNNING for run in runs)
    spent: dict[str, list[api.Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.evaluations and outcome.wall_seconds:
            spent[outcome.method].append(outcome)
    if not working or not spent:
        return None
    rest = [(run, outcome) for run, outcome in zip(runs, outcomes, strict=True) if not run.has_ended]
    everything = [outcome for found in spent.values() for outcome in found]
    return sum(_left_of(run, outcome, spent[run.method], everything) for run, outcome in rest) / working


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
