"""What each rule of merging is worth: local search on the levels of groups that it makes.

`python -m experiments merging_rules` writes docs/results/merging_rules.md; a second call continues where the first
stopped. All rules have the same search, seconds and seeds, and levels with the same numbers of groups.
"""

import time
from collections.abc import Sequence
from math import expm1, log
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from engine import VERSION
from engine.bench.problems import nested_problem
from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.graphs.grouping.levels import nearest, nested_groupings
from engine.graphs.grouping.rules import LEAST_BYTES, MERGING_RULES, MergingRule
from engine.placers.registry import make_placer
from engine.prepared import PreparedGraph
from engine.problem import MOST_EVALUATIONS, Budget
from experiments.keeping.kept_results import RESULT, KeptResults, Measurement
from experiments.keeping.statistics import MeanInterval, exceeds, holm, paired_mean
from experiments.leveled import LEVELS, GraphOnCluster, graph_named, measure_rounds
from experiments.pages import ReportLine, table_of_figures, write_page

COMMAND = "python -m experiments merging_rules"
NAME = "merging_rules"
PROBLEMS = tuple(
    GraphOnCluster(*place)
    for place in (
        ("ptb/0", "2xK80"),
        ("cifar10/0", "2xK80"),
        ("zoo/inception_v3", "2xK80"),
        ("zoo/nmt", "2xK80"),
        ("zoo/nasnet", "2xK80"),
        ("zoo/nmt_4_layers", "4xK80"),
        ("ptb/1", "4xK80"),
        ("cifar10/1", "4xK80"),
        ("zoo/nasnet", "4xK80"),
        ("zoo/inception_v3", "4xK80"),
        ("zoo/nmt_4_layers", "8xK80"),
    )
)
SECONDS = 5.0
"""of one processor, for each search"""
COLUMNS: tuple[int | str, ...] = (128, 512, LEVELS)
"""the level nearest to so many groups, or a search through all of them"""
SEEDS = (0, 1, 2)
METHOD = "local_search"
DEFAULT = next(name for name, rule in MERGING_RULES.items() if rule is LEAST_BYTES)
"""the rule with which the others are compared"""


def run(folder: Path, report: ReportLine) -> str:
    """Measure what `folder`/kept/merging_rules.jsonl lacks, write the page, and return it."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    for place in PROBLEMS:
        orders = {f"{place.graph} on {place.cluster}: {rule}": key_of(place, rule) for rule in MERGING_RULES}
        measure_rounds(kept, place.graph, orders, report, "experiments.merging_rules:in_child")
        write_page(folder, NAME, page(kept))
    return write_page(folder, NAME, page(kept))


def key_of(place: GraphOnCluster, rule: str) -> Measurement:
    """What a child measures: all levels and seeds of a rule on a problem."""
    levels, seeds = list[Json](COLUMNS), list[Json](SEEDS)
    return {**place._asdict(), "rule": rule, "levels": levels, "seeds": seeds, "seconds": SECONDS}


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The step times of a rule on a problem; `arguments` is the key."""
    order: dict[str, Any] = arguments
    prepared = graph_named(order["graph"], lambda _: None)
    return {}, {RESULT: step_times_us(prepared, order["cluster"], MERGING_RULES[order["rule"]])}


def step_times_us(prepared: PreparedGraph, cluster: str, rule: MergingRule) -> dict[str, Json]:
    """Level → the best step time with each seed."""
    nested = nested_groupings(prepared.graph, prepared.costs, rule=rule)
    found: dict[str, Json] = {}
    for groups in COLUMNS:
        chosen = nested if isinstance(groups, str) else [nearest(nested, groups)]
        best_us: list[Json] = []
        for seed in SEEDS:
            problem = nested_problem(prepared, cluster, chosen, Budget(MOST_EVALUATIONS, SECONDS), time.process_time)
            problem.begin()
            make_placer(METHOD, {}).place(problem, np.random.default_rng(seed), lambda: False)
            best_us.append(problem.ledger.best_step_time_us)
        found[str(groups)] = best_us
    return found


def page(kept: KeptResults) -> str:
    """The page with all problems that every rule has been measured on."""
    known = [place for place in PROBLEMS if all(key in kept for key in _keys(place))]
    keys = [key for place in known for key in _keys(place)]
    made = kept.made(keys) if keys else "nothing measured yet"
    rules = [f"- `{name}`: {rule.words}. Source: {rule.source}." for name, rule in MERGING_RULES.items()]
    tables = [f"## {_title(groups)}\n\n{_table(kept, known, str(groups))}" for groups in COLUMNS]
    return (
        "\n\n".join(
            [
                "# Rules of merging",
                f"`{COMMAND}`; Placeto Explorer {VERSION}; {made}; estimated costs.",
                _HEAD,
                "\n".join(rules),
                *tables,
            ]
        )
        + "\n"
    )


_HEAD = f"""Nested groupings by each rule; `{METHOD}`, default settings, at the level nearest to so many groups, or
through all levels: {SECONDS:g} s of one processor each, seeds {SEEDS[0]} to {SEEDS[-1]}. Figures are mean step times
relative to those of `{DEFAULT}`, the default; negative is faster. The means are geometric, of each graph's; their 95 %
intervals are Student's t over the graphs. Faster: the mean is below 0, with Holm's correction for the rules of a table.
Joining comes before all rules. It leaves fewer than 512 groups of Inception-V3 and of the ptb graphs, so at that level
their groups are the same by all."""


def _title(groups: int | str) -> str:
    return "All levels" if groups == LEVELS else f"Level of {groups} groups"


def _keys(place: GraphOnCluster) -> list[Measurement]:
    return [key_of(place, rule) for rule in MERGING_RULES]


def _table(kept: KeptResults, known: Sequence[GraphOnCluster], level: str) -> str:
    """A row for each problem and one for the mean, a column for each rule but the default."""
    others = [name for name in MERGING_RULES if name != DEFAULT]
    logs: dict[str, dict[str, list[float]]] = {name: {} for name in others}
    rows = []
    for place in known:
        default = _step_times_us(kept, place, DEFAULT, level)
        cells = [f"{place.graph}, {place.cluster}", f"{fmean(default) / 1e6:.4f}"]
        for name in others:
            own = _step_times_us(kept, place, name, level)
            ratios = [log(one / other) for one, other in zip(own, default, strict=True)]
            logs[name].setdefault(place.graph, []).extend(ratios)
            cells.append(f"{100 * expm1(fmean(ratios)):+.1f} %")
        rows.append(cells)
    of_graphs = [[fmean(values) for values in logs[name].values()] for name in others]
    head = ("graph, cluster", f"`{DEFAULT}`, s", *(f"`{name}`" for name in others))
    means = ["mean", "", *(relative_mean(values).as_percent() for values in of_graphs)]
    chances = [exceeds([-value for value in values], 0.0) for values in of_graphs]
    faster = ["faster", "", *("yes" if rejected else "no" for rejected in holm(chances))]
    return "\n".join(table_of_figures(head, [*rows, means, faster] if rows else []))


def relative_mean(logs: Sequence[float]) -> MeanInterval:
    """The geometric mean of ratios, less 1, and its interval; `logs` [graphs]."""
    mean = paired_mean(logs)
    return MeanInterval(expm1(mean.mean), expm1(mean.low), expm1(mean.high))


def _step_times_us(kept: KeptResults, place: GraphOnCluster, rule: str, level: str) -> list[float]:
    found: list[float] = kept[key_of(place, rule)][level]
    return found
