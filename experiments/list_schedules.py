"""The list schedulers and Scotch on the zoo and the families: each reading of a group, several tolerances, no merging.

`python -m experiments list_schedules` writes list_schedules.md into docs/results/ and keeps a result for each graph
in docs/results/kept/list_schedules.jsonl, so a second call continues.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from engine import VERSION, api
from engine.graphs.grouping.grouping import group_ops
from engine.placers import heft, m_etf
from engine.placers.auto import MOST_OPS_TO_RELAX
from engine.placers.list_schedules import ListScheduler, evaluate_schedules
from engine.placers.m_sct import MSct
from engine.placers.registry import make_placer
from engine.problem import PlacementProblem
from engine.search.tasks import Tasks, tasks_of_groups, tasks_of_ops, tasks_of_phases
from engine.zoo.families.catalogue import FAMILIES
from experiments.best_found import best_one_device_us
from experiments.family_graphs import first_graphs, first_names
from experiments.grid import KeptResults, measure_cells_here
from experiments.keeping.statistics import mean_over
from experiments.keeping.yardstick import YARDSTICK, BestKnown, Yardstick, days_of, key_of
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.problems import problem_on
from experiments.table1 import ROWS
from experiments.zoo_graphs import prepared_zoo_graph

COMMAND = "python -m experiments list_schedules"
FAMILY_GRAPHS = 10
"""held out of each family"""
FAMILY_CLUSTER = "4xK80"
ZOO = "zoo"
READINGS: dict[str, Callable[[PlacementProblem], Tasks]] = {
    "ops": tasks_of_ops,
    "groups": tasks_of_groups,
    "phases": tasks_of_phases,
}
BEFORE = ("ops", "groups")
"""the readings that were evaluated before `phases` was one"""
UNMERGED = "unmerged"
LABELS = {"heft": "HEFT", "m_etf": "m-ETF", "m_sct": "m-SCT"}
MAPPINGS = (1, 3)
"""of Scotch"""
EVALUATIONS = 100
"""more than a list scheduler or Scotch needs"""
Shares = dict[str, float]
"""variant, such as `heft, phases` → its step time as a share of one device's"""
BEST_KNOWN = "best known"
"""the variant that is no schedule: the yardstick's step time"""


@dataclass(frozen=True, slots=True)
class ScheduledGraph:
    """A graph on a cluster, before it is built."""

    of: str
    """the zoo or a family"""
    graph: str
    cluster: str
    make: Callable[[], api.PreparedGraph]

    def __str__(self) -> str:
        return f"{self.graph} on {self.cluster}"

    @property
    def key(self) -> dict[str, api.Json]:
        return {"of": self.of, "graph": self.graph, "cluster": self.cluster}


def schedulers(problem: PlacementProblem, reading: str, tasks: Tasks) -> dict[str, ListScheduler]:
    """Each list scheduler on one reading; m-SCT only where its linear programme is small enough for auto."""
    found = {"heft": heft.list_scheduler(tasks), "m_etf": m_etf.list_scheduler(tasks)}
    if reading != "ops" or problem.graph.op_count <= MOST_OPS_TO_RELAX:
        found["m_sct"] = MSct().list_scheduler(problem, tasks)
    return found


def run(folder: Path, report: ReportLine) -> str:
    """Schedule the graphs that are not known yet, write the page, and return it."""
    kept = KeptResults(folder / "kept" / "list_schedules.jsonl")
    every = list(scheduled_graphs(report))
    results = measure_cells_here(
        kept, {each: each.key for each in every}, lambda each: result_of(each.make(), each.cluster), report
    )
    lines = Yardstick(folder / YARDSTICK.name).lines()
    found = {(each.of, each.graph, each.cluster): with_best_known(row, lines) for each, row in results.items()}
    return write_page(
        folder, "list_schedules", page(found, kept.made(each.key for each in every), _known_words(kept, every, lines))
    )


def scheduled_graphs(report: ReportLine) -> Iterator[ScheduledGraph]:
    """The rows of Table 1, and the held-out graphs of each family."""
    zoo = cache(partial(prepared_zoo_graph, report=report))
    for row in ROWS:
        yield ScheduledGraph(ZOO, row.graph, f"{row.gpus}xK80", partial(zoo, row.graph))
    for family in [name for name, row in FAMILIES.items() if not row.variant_of]:
        report(f"the graphs of {family}")
        graphs = first_graphs(family, "test", FAMILY_GRAPHS)
        for name, graph in zip(first_names(family, "test", FAMILY_GRAPHS), graphs, strict=True):
            yield ScheduledGraph(family, name, FAMILY_CLUSTER, partial(_same, graph))


def _same(prepared: api.PreparedGraph) -> api.PreparedGraph:
    return prepared


def result_of(prepared: api.PreparedGraph, cluster: str) -> dict[str, api.Json]:
    """What is kept of a graph: the variants' shares, and what relates them to the yardstick."""
    problem = problem_on(prepared, cluster, EVALUATIONS)
    found = {name: round(share, 4) for name, share in shares(prepared, cluster).items()}
    return {"shares": dict(found), "problem": key_of(problem), "one_device_us": best_one_device_us(problem)}


def with_best_known(result: Mapping[str, Any], lines: Mapping[str, BestKnown]) -> Shares:
    """The shares of a `result_of`, and the best known one where the yardstick's `lines` have it."""
    found: Shares = dict(result["shares"])
    if result["problem"] in lines:
        found[BEST_KNOWN] = lines[result["problem"]].step_time_us / result["one_device_us"]
    return found


def shares(prepared: api.PreparedGraph, cluster: str) -> Shares:
    """Step times of all variants as shares of the best single device's; each its own placement, whatever its memory."""
    problem = problem_on(prepared, cluster, EVALUATIONS)
    one_device_us = best_one_device_us(problem)
    unmerged = dataclasses.replace(prepared, grouping=group_ops(prepared.graph, prepared.costs, None))
    found: Shares = {}
    readings = [(prepared, name, tasks_of) for name, tasks_of in READINGS.items()]
    for graph, name, tasks_of in (*readings, (unmerged, UNMERGED, tasks_of_ops)):
        tried = problem_on(graph, cluster, EVALUATIONS)
        for method, scheduler in schedulers(tried, "ops" if name == UNMERGED else name, tasks_of(tried)).items():
            fresh = problem_on(graph, cluster, EVALUATIONS)
            evaluate_schedules(fresh, [scheduler], lambda: False)
            found[f"{method}, {name}"] = fresh.ledger.best_time_us
    for mappings in MAPPINGS:
        problem = problem_on(prepared, cluster, EVALUATIONS)
        found[f"scotch, {mappings}"] = _placed_us("scotch", problem, {"mappings": mappings})
    found[f"scotch, {UNMERGED}"] = _placed_us("scotch", problem_on(unmerged, cluster, EVALUATIONS), {})
    return {name: time_us / one_device_us for name, time_us in found.items()}


def _placed_us(method: str, problem: PlacementProblem, settings: dict[str, api.Json]) -> float:
    """The step time of the method's best placement."""
    make_placer(method, settings).place(problem, np.random.default_rng(0), lambda: False)
    return problem.ledger.best_time_us


def best_of(found: Shares, method: str, readings: Sequence[str]) -> float:
    """The best of some readings."""
    return min(found[f"{method}, {name}"] for name in readings if f"{method}, {name}" in found)


def _known_words(kept: KeptResults, every: Sequence[ScheduledGraph], lines: Mapping[str, BestKnown]) -> str:
    keys = [kept[each.key]["problem"] for each in every]
    own = [lines[key] for key in keys if key in lines]
    return f"`yardstick.jsonl`: {len(own)} of {len(every)} problems, {days_of(own)}"


def page(found: dict[tuple[str, str, str], Shares], made: str, known: str) -> str:
    """The whole page."""
    groups = list(dict.fromkeys(of for of, _, _ in found))
    parts = []
    for of in groups:
        rows = {f"{graph}, {cluster}": each for (kind, graph, cluster), each in found.items() if kind == of}
        parts.append(f"## {'The zoo' if of == ZOO else of}\n\n" + "\n".join(_table(rows)))
    return (
        f"""# List schedulers and Scotch on the zoo and the families

`{COMMAND}`; Placeto Explorer {VERSION}, {made}; default settings, the graphs' usual groups, K80s, estimated costs,
seed 0 of Scotch.

Step times of a method's own placement as shares of one device's. "Before" is the better of two readings, each op or
each group as a task. "Phases" has the forward ops, the gradients and the updates of a group as tasks of their own on
one device; "now" is the best of the three, which the method evaluates. "Unmerged" has a group for each set of
co-located ops. m-SCT reads single ops only in graphs of at most {MOST_OPS_TO_RELAX:,} ops: its linear programme takes
too long on larger ones. Scotch maps once with a tolerance of 1 %, or three times. At the end of a table stand the mean
and the mean gap to the best known step time ({known}), in brackets their 95 % intervals over the graphs.

"""
        + "\n\n".join(parts)
        + "\n"
    )


def _figures(found: Shares) -> dict[str, float | None]:
    """The cells of a line by their heading."""
    figures: dict[str, float | None] = {}
    for method, label in LABELS.items():
        figures[f"{label} before"] = best_of(found, method, BEFORE)
        figures[f"{label} phases"] = found[f"{method}, phases"]
        figures[f"{label} now"] = best_of(found, method, list(READINGS))
        figures[f"{label} {UNMERGED}"] = found.get(f"{method}, {UNMERGED}")
    variants = (*map(str, MAPPINGS), UNMERGED)
    scotch = {f"Scotch {variant}": found[f"scotch, {variant}"] for variant in variants}
    return figures | scotch | {BEST_KNOWN: found.get(BEST_KNOWN)}


def _table(rows: dict[str, Shares]) -> list[str]:
    figures = {row: _figures(found) for row, found in rows.items()}
    columns = list(next(iter(figures.values())))
    lines = [[row, *("–" if share is None else f"{share:.3f}" for share in of.values())] for row, of in figures.items()]
    means = [_mean([of[column] for of in figures.values()]) for column in columns]
    behind = [_behind([(of[column], of[BEST_KNOWN]) for of in figures.values()]) for column in columns]
    return table_of_figures(
        ["graph, cluster", *columns], [*lines, ["mean", *means], ["behind the best known", *behind]]
    )


def _mean(column: Sequence[float | None]) -> str:
    known = [[share] for share in column if share is not None]
    if not known:
        return "–"
    interval = mean_over(known)
    return f"{interval.mean:.3f} ({interval.low:.2f} to {interval.high:.2f})"


def _behind(column: Sequence[tuple[float | None, float | None]]) -> str:
    """The mean gap of shares to the best known ones."""
    gaps = [[share / best - 1] for share, best in column if share is not None and best is not None]
    return mean_over(gaps).as_percent() if gaps else "–"
