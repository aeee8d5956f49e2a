"""What each rule of merging is worth: local search on the levels of groups that it makes.

`python -m experiments merging_rules` writes docs/results/merging_rules.md; a second call continues where the first
stopped. All rules have the same search, evaluations and seeds, and levels with the same numbers of groups.
"""

from collections.abc import Sequence
from math import expm1, log
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from engine import VERSION, api
from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import nearest, nested_groupings
from engine.graphs.grouping.rules import LEAST_BYTES, MERGING_RULES, MergingRule
from engine.placers.registry import make_placer
from engine.prepared import PreparedGraph
from engine.problem import Budget, PlacementProblem
from engine.problem.pins import allowed_devices
from experiments.family_graphs import first_graphs
from experiments.keeping.code_state import code_state
from experiments.keeping.kept_results import RESULT, KeptResults, Measurement, measure_missing
from experiments.keeping.statistics import MeanInterval, exceeds, holm, paired_mean
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.zoo_graphs import kept_zoo_graph

COMMAND = "python -m experiments merging_rules"
NAME = "merging_rules"
PROBLEMS: tuple[tuple[str, str, int], ...] = (
    ("ptb/0", "2xK80", 3000),
    ("cifar10/0", "2xK80", 3000),
    ("inception_v3", "2xK80", 4000),
    ("nmt", "2xK80", 2000),
    ("nasnet", "2xK80", 2000),
    ("nmt_4_layers", "4xK80", 1000),
    ("ptb/1", "4xK80", 3000),
    ("cifar10/1", "4xK80", 3000),
    ("nasnet", "4xK80", 2000),
    ("inception_v3", "4xK80", 4000),
    ("nmt_4_layers", "8xK80", 1000),
)
"""graph, cluster, evaluations of each search; a graph of a family with its number among those held out"""
ALL = "all"
LEVELS: tuple[int | str, ...] = (128, 512, ALL)
"""the level nearest to so many groups, or a search through all of them"""
SEEDS = (0, 1, 2)
METHOD = "local_search"
PROCESSES = 2
WORK = Path(".cache") / "zoo"
"""where the children find the graphs"""
DEFAULT = next(name for name, rule in MERGING_RULES.items() if rule is LEAST_BYTES)
"""the rule with which the others are compared"""


def run(folder: Path, report: ReportLine) -> str:
    """Measure what `folder`/kept/merging_rules.jsonl lacks, write the page, and return it."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    for graph, cluster, _ in PROBLEMS:
        orders = {f"{graph} on {cluster}: {rule}": key_of(graph, cluster, rule) for rule in MERGING_RULES}
        if any(key not in kept for key in orders.values()):
            prepared_graph(graph, report)  # the children find it
        measure_missing(kept, "experiments.merging_rules:in_child", orders, PROCESSES, report)
        write_page(folder, NAME, page(kept))
    return write_page(folder, NAME, page(kept))


def key_of(graph: str, cluster: str, rule: str) -> Measurement:
    """What a child measures: all levels and seeds of a rule on a problem."""
    evaluations = next(count for name, on, count in PROBLEMS if (name, on) == (graph, cluster))
    levels, seeds = list[Json](LEVELS), list[Json](SEEDS)
    return {
        "graph": graph,
        "cluster": cluster,
        "rule": rule,
        "levels": levels,
        "seeds": seeds,
        "evaluations": evaluations,
    }


def prepared_graph(graph: str, report: ReportLine) -> PreparedGraph:
    """A graph of the zoo, or, as `family/number`, one of a family."""
    family, _, number = graph.partition("/")
    return (
        first_graphs(family, "test", int(number) + 1)[-1]
        if number
        else kept_zoo_graph(WORK / code_state(), graph, report)
    )


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The step times of a rule on a problem; `arguments` is the key."""
    order: dict[str, Any] = arguments
    prepared = prepared_graph(order["graph"], lambda _: None)
    rule = MERGING_RULES[order["rule"]]
    return {}, {RESULT: step_times_us(prepared, order["cluster"], rule, order["evaluations"])}


def step_times_us(prepared: PreparedGraph, cluster: str, rule: MergingRule, evaluations: int) -> dict[str, Json]:
    """Level → the best step time with each seed."""
    levels = nested_groupings(prepared.graph, prepared.costs, rule=rule)
    found: dict[str, Json] = {}
    for groups in LEVELS:
        best_us: list[Json] = []
        for seed in SEEDS:
            problem = _problem(prepared, cluster, levels, groups, evaluations)
            make_placer(METHOD, {}).place(problem, np.random.default_rng(seed), lambda: False)
            best_us.append(problem.ledger.best_step_time_us)
        found[str(groups)] = best_us
    return found


def _problem(
    prepared: PreparedGraph, cluster: str, levels: Sequence[Grouping], groups: int | str, evaluations: int
) -> PlacementProblem:
    """The problem at one level, or of the finest groups with all coarser levels."""
    grouping = levels[-1] if isinstance(groups, str) else nearest(levels, groups)
    on, budget = api.parse_cluster(cluster), Budget(evaluations)
    graph, costs = prepared.graph, prepared.costs
    allowed = allowed_devices(graph, costs, grouping, on)
    coarser = tuple(levels[:-1]) if isinstance(groups, str) else ()
    return PlacementProblem(graph, costs, grouping, on, allowed, budget, coarser=coarser)


def page(kept: KeptResults) -> str:
    """The page with all problems that every rule has been measured on."""
    known = [problem for problem in PROBLEMS if all(key in kept for key in _keys(problem))]
    keys = [key for problem in known for key in _keys(problem)]
    rules = [f"- `{name}`: {rule.words}. Source: {rule.source}." for name, rule in MERGING_RULES.items()]
    tables = [f"## {_title(groups)}\n\n{_table(kept, known, str(groups))}" for groups in LEVELS]
    return (
        "\n\n".join(
            [
                "# Rules of merging",
                f"`{COMMAND}`; Placeto Explorer {VERSION}; {kept.made(keys)}; estimated costs.",
                _HEAD,
                "\n".join(rules),
                *tables,
            ]
        )
        + "\n"
    )


_HEAD = f"""Nested groupings by each rule; `{METHOD}`, default settings, at the level nearest to so many groups, or
through all levels: equal evaluations for all rules, seeds {SEEDS[0]} to {SEEDS[-1]}. Figures are mean step times
relative to those of `{DEFAULT}`, the default; negative is faster. The means are geometric, of each graph's; their 95 %
intervals are Student's t over the graphs. Faster: the mean is below 0, with Holm's correction for the rules of a table.
Joining comes before all rules. It leaves fewer than 512 groups of Inception-V3 and of the ptb graphs, so at that level
their groups are the same by all."""


def _title(groups: int | str) -> str:
    return "All levels" if groups == ALL else f"Level of {groups} groups"


def _keys(problem: tuple[str, str, int]) -> list[Measurement]:
    return [key_of(*problem[:2], rule) for rule in MERGING_RULES]


def _table(kept: KeptResults, known: Sequence[tuple[str, str, int]], level: str) -> str:
    """A row for each problem and one for the mean, a column for each rule but the default."""
    others = [name for name in MERGING_RULES if name != DEFAULT]
    logs: dict[str, dict[str, list[float]]] = {name: {} for name in others}
    rows = []
    for graph, cluster, evaluations in known:
        default = _step_times_us(kept, graph, cluster, DEFAULT, level)
        cells = [f"{graph}, {cluster}", f"{evaluations:,}", f"{fmean(default) / 1e6:.4f}"]
        for name in others:
            own = _step_times_us(kept, graph, cluster, name, level)
            ratios = [log(one / other) for one, other in zip(own, default, strict=True)]
            logs[name].setdefault(graph, []).extend(ratios)
            cells.append(f"{100 * expm1(fmean(ratios)):+.1f} %")
        rows.append(cells)
    of_graphs = [[fmean(values) for values in logs[name].values()] for name in others]
    head = ("graph, cluster", "evaluations", f"`{DEFAULT}`, s", *(f"`{name}`" for name in others))
    means = ["mean", "", "", *(relative_mean(values).as_percent() for values in of_graphs)]
    chances = [exceeds([-value for value in values], 0.0) for values in of_graphs]
    faster = ["faster", "", "", *("yes" if rejected else "no" for rejected in holm(chances))]
    return "\n".join(table_of_figures(head, [*rows, means, faster]))


def relative_mean(logs: Sequence[float]) -> MeanInterval:
    """The geometric mean of ratios, less 1, and its interval; `logs` [graphs]."""
    mean = paired_mean(logs)
    return MeanInterval(expm1(mean.mean), expm1(mean.low), expm1(mean.high))


def _step_times_us(kept: KeptResults, graph: str, cluster: str, rule: str, level: str) -> list[float]:
    found: list[float] = kept[key_of(graph, cluster, rule)][level]
    return found
