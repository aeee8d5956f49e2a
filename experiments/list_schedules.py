"""The list schedulers and Scotch on the zoo: each reading of a group by itself, several tolerances, no merging.

`python -m experiments list_schedules` writes list_schedules.{md,json} into docs/results/.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import numpy as np

from engine import VERSION, api
from engine.graphs.grouping.grouping import group_ops
from engine.placers import heft, m_etf
from engine.placers.list_schedules import ListScheduler, evaluate_schedules
from engine.placers.registry import make_placer
from engine.placers.single_device import one_device_placements
from engine.problem import Budget, PlacementProblem
from engine.problem.pins import allowed_devices
from engine.search.tasks import Tasks, tasks_of_groups, tasks_of_ops, tasks_of_phases
from experiments.pages import ReportLine, table_line, table_of_figures, write_page, write_rows
from experiments.table1 import ROWS
from experiments.zoo_graphs import prepared_zoo_graph

COMMAND = "python -m experiments list_schedules"
READINGS: dict[str, Callable[[PlacementProblem], Tasks]] = {
    "ops": tasks_of_ops,
    "groups": tasks_of_groups,
    "phases": tasks_of_phases,
}
SCHEDULERS: dict[str, Callable[[Tasks], ListScheduler]] = {"heft": heft.list_scheduler, "m_etf": m_etf.list_scheduler}
EVALUATIONS = 100
"""more than a list scheduler or Scotch needs"""


def run(folder: Path, report: ReportLine) -> str:
    """Build the zoo, schedule each row of Table 1, write the page, and return it."""
    graphs = {name: prepared_zoo_graph(name, report) for name in dict.fromkeys(row.graph for row in ROWS)}
    rows: list[dict[str, api.Json]] = []
    for row in ROWS:
        report(f"{row.graph} on {row.gpus} GPUs")
        rows.append({"graph": row.graph, "gpus": row.gpus, **shares(graphs[row.graph], f"{row.gpus}xK80")})
    write_rows(folder, "list_schedules", rows, indent=1)
    return write_page(folder, "list_schedules", page(rows))


def shares(prepared: api.PreparedGraph, cluster: str) -> dict[str, api.Json]:
    """Step times of all variants as shares of the best single device's; its own placement, whatever its memory."""
    problem = problem_of(prepared, cluster)
    one_device_us = float(problem.simulator.evaluate(one_device_placements(problem)).step_time_us.min())
    found: dict[str, float] = {}
    for method, scheduler_of in SCHEDULERS.items():
        for reading, tasks_of in READINGS.items():
            fresh = problem_of(prepared, cluster)
            evaluate_schedules(fresh, [scheduler_of(tasks_of(fresh))], lambda: False)
            found[f"{method}, {reading}"] = fresh.ledger.best_time_us
    for mappings in (1, 3):
        found[f"scotch, {mappings}"] = placed_us("scotch", problem_of(prepared, cluster), {"mappings": mappings})
    unmerged = dataclasses.replace(prepared, grouping=group_ops(prepared.graph, prepared.costs, None))
    for method in (*SCHEDULERS, "scotch"):
        found[f"{method}, unmerged"] = placed_us(method, problem_of(unmerged, cluster), {})
    return {name: round(time_us / one_device_us, 4) for name, time_us in found.items()}


def problem_of(prepared: api.PreparedGraph, cluster_name: str) -> PlacementProblem:
    """A fresh problem."""
    cluster = api.parse_cluster(cluster_name)
    allowed = allowed_devices(prepared.graph, prepared.costs, prepared.grouping, cluster)
    return PlacementProblem(
        prepared.graph, prepared.costs, prepared.grouping, cluster, allowed, Budget(EVALUATIONS), None
    )


def placed_us(method: str, problem: PlacementProblem, settings: dict[str, api.Json]) -> float:
    """The step time of the method's best placement."""
    make_placer(method, settings).place(problem, np.random.default_rng(0), lambda: False)
    return problem.ledger.best_time_us


def page(rows: list[dict[str, api.Json]]) -> str:
    """The whole page, with the mean over the rows in the last line."""
    names = [name for name in rows[0] if name not in ("graph", "gpus")]
    figures = [[_number(row[name]) for name in names] for row in rows]
    cells = [
        [f"{row['graph']}, {row['gpus']}", *(f"{share:.3f}" for share in of_row)]
        for row, of_row in zip(rows, figures, strict=True)
    ]
    means = [f"{fmean(column):.3f}" for column in zip(*figures, strict=True)]
    table = table_of_figures(["model, GPUs", *names], cells)
    return f"""# List schedulers and Scotch on the zoo

`{COMMAND}`; Placeto Explorer {VERSION}; default settings, 128 groups, K80s, estimated costs, seed 0 of Scotch.

Step times of a method's own placement as shares of one device's. "Ops", "groups" and "phases" are the readings of
`engine/search/tasks.py`, each alone; the method evaluates all three. Before, it evaluated ops and groups. "1" and "3"
are the numbers of Scotch's mappings, the first with a tolerance of 1 %. "Unmerged" has a group for each set of
co-located ops. The last line is the mean.

""" + "\n".join([*table, table_line(["mean", *means]), ""])


def _number(value: api.Json) -> float:
    assert isinstance(value, float)
    return value
