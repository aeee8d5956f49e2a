"""The page of the experiment: gaps to the best known, by kind, mode, devices and memory."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from engine.policies.card import PolicyCard
from experiments.corpus_policy.measuring import LISTS, gap
from experiments.keeping.statistics import mean_over
from experiments.pages import table_of_figures

WAYS = {
    "greedy": "greedy pass",
    "best": "best of the passes",
    "swept": "and a sweep",
    "list": "best list schedule",
    "one": "best one device",
}
MANY_DEVICES = 5
MeasuredRow: TypeAlias = Mapping[str, Any]
RowAndGaps: TypeAlias = tuple[MeasuredRow, Mapping[str, float]]
"""a problem, and way → gap there"""


def gaps_of(row: MeasuredRow) -> dict[str, float] | None:
    """Way → gap to the best known of a problem; None where nothing fits that anybody has found."""
    lists = [row["lists_us"][method] for method in LISTS if row["lists_us"][method] is not None]
    reached = {
        "greedy": row["greedy_us"],
        "best": row["best_us"],
        "swept": row["swept_us"],
        "list": min(lists, default=None),
        "one": row["one_us"],
    }
    known = [time for time in (*reached.values(), row["search_us"]) if time is not None]
    return {way: gap(time, min(known)) for way, time in reached.items()} if known else None


def page(rows: Sequence[MeasuredRow], card: PolicyCard, what: str) -> str:
    """The page; `what` says what was measured, and by which command."""
    compared = [(row, gaps) for row in rows if (gaps := gaps_of(row)) is not None]
    lines = [
        [name, str(len(of_it)), *(_cell([gaps[way] for _, gaps in of_it]) for way in WAYS)]
        for name, is_in in _strata(rows)
        if (of_it := [each for each in compared if is_in(each[0])])
    ]
    seconds = np.median([row["greedy_seconds"] for row in rows])
    return "\n".join(
        [
            "# A policy on unseen architectures",
            "",
            "For readers who want to know what a policy gives at once on a model that it has never seen.",
            "",
            f"{what} Gaps are to the best known step time: their mean where it fits",
            "[nine in ten are at most], and how many do not fit the memory.",
            "",
            *table_of_figures(["", "problems", *WAYS.values()], lines),
            "",
            f"{_interval(compared)}A greedy pass takes {seconds:.3f} s of a processor in the median, features",
            f"included. On {len(rows) - len(compared)} further problems nothing fits that anything here has found.",
            "",
            f"The policy: {card.seconds:,.0f} s of training on {len(card.graphs)} graphs and {card.drawn:,} drawn",
            f"problems, {card.episodes:,} episodes, seed {card.seed}, with these settings:",
            "",
            f"    {json.dumps(card.training, sort_keys=True)}",
            "",
        ]
    )


def _strata(rows: Sequence[MeasuredRow]) -> Iterator[tuple[str, Callable[[MeasuredRow], bool]]]:
    """(name, whether a row belongs to it)"""
    yield "all", lambda _: True
    for field in ("kind", "mode"):
        for value in dict.fromkeys(row[field] for row in rows):
            yield value, _has(field, value)
    yield f"fewer than {MANY_DEVICES} devices", lambda row: bool(row["devices"] < MANY_DEVICES)
    yield f"{MANY_DEVICES} devices and more", lambda row: bool(row["devices"] >= MANY_DEVICES)
    yield "memory is tight", lambda row: bool(row["tight"])


def _has(field: str, value: str) -> Callable[[MeasuredRow], bool]:
    return lambda row: bool(row[field] == value)


def _interval(compared: Sequence[RowAndGaps]) -> str:
    """The mean gap of the greedy pass where it fits, with its interval over graphs, in a sentence."""
    of_graph: dict[str, list[float]] = {}
    for row, gaps in compared:
        if np.isfinite(gaps["greedy"]):
            of_graph.setdefault(row["graph"], []).append(gaps["greedy"])
    if not of_graph:
        return ""
    return f"The greedy pass, where it fits: {mean_over(list(of_graph.values())).as_percent()} over graphs. "


def _cell(gaps: Sequence[float]) -> str:
    """`3.1 % [9.0 %], 2 do not fit`"""
    fitting = [each for each in gaps if np.isfinite(each)]
    if not fitting:
        return "none fits"
    ninth = float(np.quantile(gaps, 0.9, method="higher"))
    words = (
        f"{100 * float(np.mean(fitting)):.1f} % [{f'{100 * ninth:.1f} %' if np.isfinite(ninth) else 'does not fit'}]"
    )
    misfits = len(gaps) - len(fitting)
    return f"{words}, {misfits} do not fit" if misfits else words
