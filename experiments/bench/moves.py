"""Measures the evaluations of a search as Markdown, with and without early stop: `python -m experiments bench moves`.

Times are processor times, and the two searches of a row take turns chunk by chunk, so that other work on the machine
slows both alike.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import api
from engine.placers.registry import make_placer
from engine.problem import ChunkBest, PlacementProblem
from engine.search.annealer import Annealer
from engine.search.chunk_result import chunk_size
from engine.search.local_search import LocalSearch, LocalSearchSettings
from experiments.bench.simulator import SEED, machine, table
from experiments.problems import prepared_graph, problem_on, regrouped

COARSE_GROUPS = 128
COARSE_EVALUATIONS, EVALUATIONS = 3_000, 3_000
"""of the search for a good placement: in coarse groups, then in the row's units"""
HEATS = (0.005, 0.0007, 0.0002)
"""shares of the step time: that of a short cycle's start, one on the way, and the cold end"""
SETTLING, MEASURED = 200, 400
"""evaluations of a walk at each heat: before and while it is timed"""


@dataclass(frozen=True, slots=True)
class Units:
    """A graph of the zoo on a cluster, in at most so many groups, or each co-location class by itself (None)."""

    graph: str
    cluster: str
    groups: int | None


ROWS = (
    Units("inception_v3", "2xK80", 128),
    Units("inception_v3", "2xK80", None),
    Units("nmt_4_layers", "4xK80", 128),
    Units("nmt_4_layers", "4xK80", 512),
    Units("nmt_4_layers", "4xK80", 5_000),
    Units("nmt_4_layers", "4xK80", None),
)


def run_benchmark() -> str:
    """Measure all rows on graphs of the zoo; returns them as Markdown."""
    graphs = {name: prepared_graph(lambda _: None, name) for name in dict.fromkeys(row.graph for row in ROWS)}
    return figures_of(graphs, ROWS)


def figures_of(graphs: dict[str, api.PreparedGraph], rows: Sequence[Units]) -> str:
    """Measure `rows` on `graphs`, by name; returns them as Markdown."""
    left, speeds = [], []
    coarse: dict[str, NDArray[np.int32]] = {}
    for row in rows:
        if row.graph not in coarse:
            coarse[row.graph] = coarse_placement(graphs[row.graph], row.cluster)
        problem, searched = good_placement(graphs[row.graph], row, coarse[row.graph])
        name = f"{row.graph}, {problem.graph.op_count:,} ops", f"{problem.group_count:,}"
        drawn = np.random.default_rng(SEED).integers(0, problem.cluster.device_count, problem.group_count, np.int32)
        for kind, placement in (("random", drawn), ("searched", searched)):
            exact, free = shares_left(problem, placement)
            figures = f"{exact:.1%}", f"{1 / exact:.2f} times", f"{free:.1%}", f"{1 / free:.2f} times"
            left.append((*name, kind, *figures))
        speeds += [(*name, f"{heat:g}", *_speeds(problem, searched, heat)) for heat in HEATS]
    head_left = (
        "graph",
        "units",
        "placement",
        "ops left, exact",
        "at most faster",
        "ops left, if ops without time moved for free",
        "at most faster",
    )
    head_speeds = "graph", "units", "heat", "before, a second", "with early stop, a second", "times"
    parts = (
        machine("Moves"),
        f"## One unit moves\n\n{table(head_left, left)}",
        f"## Early stop\n\n{table(head_speeds, speeds)}",
    )
    return "\n\n".join(parts) + "\n"


def coarse_placement(prepared: api.PreparedGraph, cluster: str) -> NDArray[np.int32]:
    """[ops] the device of each op in a placement of a search in coarse groups."""
    problem = problem_on(regrouped(prepared, COARSE_GROUPS), cluster, COARSE_EVALUATIONS)
    make_placer("local_search", {}).place(problem, np.random.default_rng(SEED), lambda: False)
    return problem.ledger.answer()[problem.grouping.group_of_op]


def good_placement(
    prepared: api.PreparedGraph, row: Units, device_of_op: NDArray[np.int32]
) -> tuple[PlacementProblem, NDArray[np.int32]]:
    """The row's problem, and a placement [groups] of a search in the row's units that begins at `device_of_op`."""
    problem = problem_on(regrouped(prepared, row.groups), row.cluster, EVALUATIONS)
    start = np.zeros(problem.group_count, np.int32)
    start[problem.grouping.group_of_op] = device_of_op
    problem.evaluate(start[np.newaxis])
    LocalSearch(problem, LocalSearchSettings(), np.random.default_rng(SEED), lambda: False).run()
    return problem, problem.ledger.answer()


def shares_left(problem: PlacementProblem, placement: NDArray[np.int32]) -> tuple[float, float]:
    """The share of ops that end after a moved unit first matters; and after its first op that takes time starts.

    A unit matters from the end of the first producer of its ops on, or from the start if one of them has no inputs.
    Means over all units, each moved by itself from `placement` [groups].
    """
    graph, group_of_op, units = problem.graph, problem.grouping.group_of_op, problem.group_count
    timeline = problem.simulator.timeline(placement)
    matters_us = np.full(graph.op_count, np.inf)
    np.minimum.at(matters_us, graph.edge_target, timeline.end_us[graph.edge_source])
    matters_us[np.isinf(matters_us)] = 0.0
    working = timeline.end_us > timeline.start_us
    exact_us, free_us = np.full(units, timeline.step_time_us), np.full(units, timeline.step_time_us)
    np.minimum.at(exact_us, group_of_op, matters_us)
    np.minimum.at(free_us, group_of_op[working], timeline.start_us[working])
    ends_us = np.sort(timeline.end_us)
    exact, free = (1 - np.searchsorted(ends_us, moment_us) / graph.op_count for moment_us in (exact_us, free_us))
    return float(exact.mean()), float(free.mean())


def _speeds(problem: PlacementProblem, placement: NDArray[np.int32], heat: float) -> tuple[str, str, str]:
    """Evaluations a second of a walk from `placement`, without and with early stop, and their ratio."""
    step_time_us = float(problem.simulator.evaluate(placement[np.newaxis]).step_time_us[0])
    heat_us, size = heat * step_time_us, chunk_size(problem)
    whole, stopping = (Annealer(problem, np.random.default_rng(SEED)) for _ in range(2))
    whole.never_stop()
    for annealer in (whole, stopping):
        annealer.go_to(placement, step_time_us)
        annealer.evaluate(SETTLING, heat_us, heat_us)
    seconds = {id(whole): 0.0, id(stopping): 0.0}
    turns = -(-MEASURED // size)
    for turn in range(turns):
        for annealer in (whole, stopping) if turn % 2 else (stopping, whole):
            seconds[id(annealer)] += _seconds(annealer, size, heat_us)
    assert np.array_equal(whole.placement, stopping.placement), "early stop changed the walk"
    before, after = (turns * size / seconds[id(annealer)] for annealer in (whole, stopping))
    return f"{before:,.0f}", f"{after:,.0f}", f"{after / before:.2f}"


def _seconds(annealer: Annealer, count: int, heat_us: float) -> float:
    """Processor time of a chunk."""
    begin = time.process_time()
    best: ChunkBest = annealer.evaluate(count, heat_us, heat_us)
    assert best.evaluations == count
    return time.process_time() - begin
