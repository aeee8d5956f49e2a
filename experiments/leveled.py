"""What the experiments on levels of groups share: their graphs by name, a problem at a level, and a child's search."""

import functools
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.child.parent import ReportProgress, Results
from engine.cli.compile import run_everything_once
from engine.errors import PlacetoError
from engine.events import Json
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.grouping.levels import nested_groupings
from engine.placers.registry import make_placer
from engine.prepared import PreparedGraph
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem
from experiments.family_graphs import first_graphs
from experiments.folders import CACHE
from experiments.grid import RESULT, KeptResults, Measurement, measure_cells
from experiments.keeping.code_state import code_state
from experiments.pages import ReportLine
from experiments.problems import nested_problem
from experiments.zoo_graphs import kept_zoo_graph

METHOD = "auto"
LEVELS = "levels"
"""the column of each set of co-located ops as a group, with all coarser levels; others are numbers of groups"""
PROCESSES = 2
WORK = CACHE / "zoo"
"""where children find graphs of the zoo, wherever they work"""


class GraphOnCluster(NamedTuple):
    """A graph, by its name as in `graph_named`, on a cluster."""

    graph: str
    cluster: str


def graph_named(name: str, report: ReportLine) -> PreparedGraph:
    """`zoo/inception_v3`, or `nmt/0`, held out of a family."""
    source, rest = name.split("/")
    if source == "zoo":
        return kept_zoo_graph(WORK / code_state(), rest, report)
    return first_graphs(source, "test", int(rest) + 1)[-1]


def measure_rounds(kept: KeptResults, graph: str, orders: dict[str, Measurement], report: ReportLine) -> None:
    """Measure what `kept` lacks of `orders`, all on one graph, each in a child."""
    if any(key not in kept for key in orders.values()):
        graph_named(graph, report)  # the children find it
        compile_all(report)
    measure_cells(kept, f"{__name__}:in_child", orders, PROCESSES, report)


@functools.cache
def compile_all(report: ReportLine) -> None:
    """Compile the engine's code and keep it on disk, so that no measured second goes into that."""
    for line in run_everything_once():
        report(f"left out: {line}")


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The best step time in µs of each seed, or nothing where the method finds none; `arguments` is the key.

    Seconds are those of this process alone.
    """
    order: dict[str, Any] = arguments
    prepared = graph_named(order["graph"], lambda _: None)
    budget = Budget(MOST_EVALUATIONS, order["seconds"])
    best_us: list[Json] = []
    for seed in order["seeds"]:
        problem = problem_of(prepared, order["cluster"], order["column"], budget)
        problem.context.begin()
        try:
            make_placer(order["method"], {}).place(problem, np.random.default_rng(seed), lambda: False)
        except PlacetoError:  # such as no rule for this graph, or a cluster without a CPU
            continue
        best_us.append(problem.ledger.best_step_time_us)
    return {}, {RESULT: best_us}


def problem_of(prepared: PreparedGraph, cluster: str, column: str, budget: Budget) -> PlacementProblem:
    """The problem in so many groups, or with each set of co-located ops as a group and all coarser levels."""
    graph, costs = prepared.graph, prepared.costs
    nested = nested_groupings(graph, costs) if column == LEVELS else [group_ops(graph, costs, int(column))]
    return nested_problem(prepared, cluster, nested, budget, time.process_time)
