"""Summaries of each method over its seeds, as rows and as a Markdown table."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from engine.comparing.curve import Band, band_of
from engine.comparing.outcome import CLOSE, Outcome
from engine.events import Json
from engine.number_words import TIME_UNITS, gap_words, percent_words, time_words
from engine.placers.registry import PLACERS

NO_FIGURE = "–"


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """The batches of one method over its seeds, in a stream. Rates are micro-batches a second."""

    mean_per_second: float
    least_per_second: float
    greatest_per_second: float
    samples_per_second: float | None
    """of the best; None where the graph does not say of how many samples a step is"""
    best_batch_us: float
    """the shortest batch of all seeds"""
    best_period_us: float
    """the period of that one"""


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """The results of one method over its seeds. Times count only feasible placements; None if there is none."""

    method: str
    label: str
    seeds: int
    """number of seeds"""
    ended: int
    """number of seeds that have ended"""
    feasible: int
    """number of seeds with a feasible placement"""
    mean_us: float | None
    least_us: float | None
    """the best of all seeds"""
    greatest_us: float | None
    own_mean_us: float | None
    """mean of the best that the method itself found, without the single devices"""
    of_one_device: float | None
    """mean step time divided by that of the best single device"""
    above_bound: float | None
    """relative gap of the best to the lower bound"""
    evaluations: float
    """mean of the evaluations used"""
    evaluations_to_best: float | None
    """mean of the evaluations until a seed's best was within 1 % of its final best"""
    wall_seconds: float
    """mean over the seeds"""
    reasons: tuple[str, ...]
    """why seeds have no feasible placement, each sentence once"""
    band: Band
    batch: BatchSummary | None = None
    """in a stream, where times are periods and `of_one_device` is of batches; None before a run has ended"""

    @property
    def gap_to_one_device(self) -> float | None:
        """The relative gap of the mean to the best single device; below 0 it is faster."""
        return None if self.of_one_device is None else self.of_one_device - 1

    @property
    def feasible_words(self) -> str:
        """Whether the placements are feasible, in words for a table."""
        if self.feasible == self.ended == self.seeds:
            return "yes"
        if self.feasible and self.feasible >= self.ended:
            return "yes so far"
        if self.feasible:
            return f"{self.feasible} of {self.seeds} seeds"
        return "no" if self.ended else "not yet"

    def to_json(self) -> dict[str, Json]:
        """The fields as JSON."""
        fields: dict[str, Json] = dataclasses.asdict(self)
        band: dict[str, Json] = {name: list(values) for name, values in dataclasses.asdict(self.band).items()}
        if self.batch is None:
            del fields["batch"]
        return {**fields, "reasons": list(self.reasons), "band": band}


def summaries_of(outcomes: Sequence[Outcome], labels: Mapping[str, str]) -> list[MethodSummary]:
    """One summary a method, in the order of the outcomes; `labels` are the methods' names for people."""
    methods = dict.fromkeys(outcome.method for outcome in outcomes)
    return [
        _summary([outcome for outcome in outcomes if outcome.method == method], labels.get(method, method))
        for method in methods
    ]


def _summary(own: list[Outcome], label: str) -> MethodSummary:
    good = [outcome for outcome in own if outcome.feasible]
    times_us = [outcome.step_time_us for outcome in good if outcome.step_time_us is not None]
    one_device_us = next((outcome.one_device_us for outcome in own if outcome.one_device_us), None)
    bound_us = next((outcome.lower_bound_us for outcome in own if outcome.lower_bound_us), None)
    mean_us = fmean(times_us) if times_us else None
    batches_us = [outcome.batch_time_us for outcome in good if outcome.batch_time_us is not None]
    judged_us = fmean(batches_us) if batches_us else mean_us
    if batches_us:  # whose verdicts compare with one device's batch
        one_device_us = next((_one_device_batch_us(outcome) for outcome in good if outcome.verdict is not None), None)
    begun = [outcome for outcome in own if outcome.ended or outcome.evaluations] or own
    return MethodSummary(
        method=own[0].method,
        label=label,
        seeds=len(own),
        ended=sum(outcome.ended for outcome in own),
        feasible=len(good),
        mean_us=mean_us,
        least_us=min(times_us, default=None),
        greatest_us=max(times_us, default=None),
        own_mean_us=_mean_known([outcome.own_best_us for outcome in good]),
        of_one_device=judged_us / one_device_us if judged_us is not None and one_device_us else None,
        above_bound=min(times_us) / bound_us - 1 if times_us and bound_us else None,
        evaluations=fmean(outcome.evaluations for outcome in begun),
        evaluations_to_best=_mean_known([outcome.evaluations_to_best for outcome in good]),
        wall_seconds=fmean(outcome.wall_seconds for outcome in begun),
        reasons=tuple(dict.fromkeys(_reason(outcome) for outcome in own if outcome.reason)),
        band=band_of([outcome.curve for outcome in good]),
        batch=_batch_summary([outcome for outcome in good if outcome.batch_time_us is not None]),
    )


def _one_device_batch_us(outcome: Outcome) -> float | None:
    """The batch on the best single device; None where the graph fits none."""
    found: Any = None if outcome.verdict is None else outcome.verdict["one_device_us"]
    return None if found is None else float(found)


def _batch_summary(good: list[Outcome]) -> BatchSummary | None:
    """Of outcomes whose batches are known; None without any, and where batches take no time."""
    rates = [outcome.micro_batches_per_second for outcome in good if outcome.micro_batches_per_second is not None]
    if not rates:
        return None
    best = min(good, key=lambda outcome: outcome.rank)
    return BatchSummary(
        mean_per_second=fmean(rates),
        least_per_second=min(rates),
        greatest_per_second=max(rates),
        samples_per_second=best.samples_per_second,
        best_batch_us=best.batch_time_us or 0.0,
        best_period_us=best.step_time_us or 0.0,
    )


def _reason(outcome: Outcome) -> str:
    """The outcome's reason without its leading method name, which the table already shows."""
    return outcome.reason.removeprefix(f"{outcome.method}: ")


def _mean_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def unit_of(summaries: Sequence[MethodSummary]) -> tuple[float, str]:
    """(µs in the unit, name of the unit) for the largest unit that the greatest step time reaches."""
    greatest_us = max((summary.greatest_us or 0.0 for summary in summaries), default=0.0)
    return next((unit for unit in TIME_UNITS if greatest_us >= unit[0]), TIME_UNITS[-1])


def verdict_sentence_of(outcomes: Sequence[Outcome]) -> str:
    """The verdict on the fastest placement of the runs that have ended, in words; empty before it is known.

    Where all have ended and none fits, the verdict on one that does not.
    """
    ended = [outcome for outcome in outcomes if outcome.ended]
    fitting = [outcome for outcome in ended if outcome.feasible and outcome.step_time_us is not None]
    if fitting:
        judged = [min(fitting, key=lambda outcome: outcome.rank)]
    else:
        judged = ended if len(ended) == len(outcomes) else []
    return next((str(outcome.verdict["sentence"]) for outcome in judged if outcome.verdict is not None), "")


def markdown_of(summaries: Sequence[MethodSummary], step_time_source: str, verdict: str = "") -> str:
    """The summaries as a Markdown table, followed by the reasons of methods without a feasible placement.

    `step_time_source`: how the step times were found, in words (`engine.costs.source_words`); `verdict`: the sentence
    of `verdict_sentence_of`.
    """
    if any(summary.batch is not None for summary in summaries):
        return _with_reasons(_table_of_batches(summaries), summaries, step_time_source, verdict)
    divisor, unit = unit_of(summaries)
    head = [
        "method",
        "seeds",
        f"mean ({unit})",
        f"range ({unit})",
        f"best ({unit})",
        f"by itself ({unit})",
        "against one device",
        "above the lower bound",
        f"evaluations to {percent_words(CLOSE)}",
        "evaluations",
        "seconds",
        "feasible",
    ]
    rows = [_cells(summary, divisor) for summary in summaries]
    lines = [_line(head), _line(["---", *["---:"] * 10, "---"]), *map(_line, rows)]
    return _with_reasons(lines, summaries, step_time_source, verdict)


def _table_of_batches(summaries: Sequence[MethodSummary]) -> list[str]:
    """The lines of the table in a stream."""
    head = [
        *("method", "seeds", "micro-batches a second, mean", "range", "best", "samples a second, best"),
        *("batch of the best", "period of the best", "against one device", "period above its lower bound"),
        *("evaluations", "seconds", "feasible"),
    ]
    rows = [_cells_of_batch(summary) for summary in summaries]
    return [_line(head), _line(["---", *["---:"] * (len(head) - 2), "---"]), *map(_line, rows)]


def _cells_of_batch(summary: MethodSummary) -> list[str]:
    batch = summary.batch
    figures = [NO_FIGURE] * 6
    if batch is not None:
        samples = NO_FIGURE if batch.samples_per_second is None else f"{batch.samples_per_second:.4g}"
        span = f"{batch.least_per_second:.4g} to {batch.greatest_per_second:.4g}"
        figures = [
            f"{batch.mean_per_second:.4g}",
            f"{batch.mean_per_second:.4g}" if batch.least_per_second == batch.greatest_per_second else span,
            f"{batch.greatest_per_second:.4g}",
            samples,
            time_words(batch.best_batch_us, 4),
            time_words(batch.best_period_us, 4),
        ]
    return [
        summary.label,
        _seeds_words(summary),
        *figures,
        NO_FIGURE if summary.gap_to_one_device is None else gap_words(summary.gap_to_one_device),
        NO_FIGURE if summary.above_bound is None else percent_words(summary.above_bound),
        f"{summary.evaluations:.0f}",
        f"{summary.wall_seconds:.2f}",
        summary.feasible_words,
    ]


def _seeds_words(summary: MethodSummary) -> str:
    return f"{summary.seeds}: deterministic" if PLACERS[summary.method].deterministic else str(summary.seeds)


def _with_reasons(lines: list[str], summaries: Sequence[MethodSummary], step_time_source: str, verdict: str) -> str:
    """The table's lines, the reasons, the verdict and the source of the times."""
    reasons = [f"- {summary.label}: {reason}" for summary in summaries for reason in summary.reasons]
    verdicts = [f"Verdict: {verdict}", ""] if verdict else []
    ends = ["", *verdicts, f"Step times: {step_time_source}."]
    return "\n".join([*lines, *([""] if reasons else []), *reasons, *ends]) + "\n"


def _cells(summary: MethodSummary, divisor: float) -> list[str]:
    def time(value_us: float | None) -> str:
        return NO_FIGURE if value_us is None else f"{value_us / divisor:.4f}"

    same = summary.least_us == summary.greatest_us
    return [
        summary.label,
        _seeds_words(summary),
        time(summary.mean_us),
        time(summary.least_us) if same else f"{time(summary.least_us)} to {time(summary.greatest_us)}",
        time(summary.least_us),
        time(summary.own_mean_us),
        NO_FIGURE if summary.gap_to_one_device is None else gap_words(summary.gap_to_one_device),
        NO_FIGURE if summary.above_bound is None else percent_words(summary.above_bound),
        NO_FIGURE if summary.evaluations_to_best is None else f"{summary.evaluations_to_best:.0f}",
        f"{summary.evaluations:.0f}",
        f"{summary.wall_seconds:.2f}",
        summary.feasible_words,
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
