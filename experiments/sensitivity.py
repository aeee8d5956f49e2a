"""How much the costs and links decide: ranks of methods and of placements when one of them is changed.

`python -m experiments sensitivity` writes docs/results/sensitivity.md. A row is a graph on a cluster with
one change: another rule by which transfers share links, op times × 2 or × 5, bandwidths × 0.5, 2 or 20; on kinds of
today, the figures of data sheets in place of what ops and transfers reach of them. Beside the unchanged problem it has
Kendall's tau-b between the methods' ranks, each run anew on the changed problem, and between the step times of the same
placements, taken along one search on the unchanged problem. Each row is kept in kept/sensitivity.jsonl there, so a
second call continues where the first stopped; another version of the engine, other methods and other budgets start
again.
"""

import dataclasses
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from engine import VERSION, api
from engine.clusters import hosts
from engine.clusters.cluster import Cluster, Contention
from engine.clusters.device_kinds import OP_REST_US
from engine.run.run import Run
from engine.simulator import Simulator
from experiments.grid import KeptResults, Measurement, measure_cells_here, of_any_code
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.zoo_graphs import prepared_zoo_graph

COMMAND = "python -m experiments sensitivity"
NAME = "sensitivity"
METHODS = (
    "single_device",
    "human_expert",
    "scotch",
    "heft",
    "m_etf",
    "post",
    "brkga",
    "placeto",
    "local_search",
    "auto",
)
EVALUATIONS = 2000
SEEDS = 3
PLACEMENTS = 200
SEARCH = "local_search"
UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class ZooProblem:
    """A graph of the zoo on a cluster."""

    graph: str
    cluster: str
    reached: float | None = None
    """share of the links' specified bandwidth that the catalogue counts with; None for K80s, of which it counts all"""

    @property
    def changes(self) -> "tuple[OneChange, ...]":
        """The unchanged problem, and what is changed of it."""
        if self.reached is None:
            return CHANGES
        return (CHANGES[0], OneChange("figures of data sheets", bandwidths=1 / self.reached, data_sheets=True))


PROBLEMS = (
    ZooProblem("inception_v3", "2xK80"),
    ZooProblem("nmt_4_layers", "4xK80"),
    ZooProblem("nasnet", "4xK80"),
    ZooProblem("inception_v3", "2xA100", hosts.NVLINK_SHARE),
    ZooProblem("nmt_4_layers", "4xA100", hosts.NVLINK_SHARE),
    ZooProblem("nasnet", "4xRTX4090", hosts.PCIE_SHARE * hosts.THROUGH_HOST_SHARE),
)


@dataclass(frozen=True, slots=True)
class OneChange:
    """One change of a problem; all else stays."""

    name: str
    contention: Contention | None = None
    op_times: float = 1.0
    """factor of all op times"""
    bandwidths: float = 1.0
    """factor of all links' bandwidths"""
    data_sheets: bool = False
    """whether ops reach all of the peaks, and devices and links rest as those of the published simulator"""

    def __str__(self) -> str:
        return self.name

    def cluster(self, cluster: Cluster) -> Cluster:
        """The changed cluster."""
        changed = dataclasses.replace(cluster, bandwidth_bytes_per_us=cluster.bandwidth_bytes_per_us * self.bandwidths)
        if self.data_sheets:
            changed = dataclasses.replace(
                changed, link_rest_us=hosts.PUBLISHED_REST_US, op_rest_us=OP_REST_US, op_rest_of_kind={}
            )
        return changed if self.contention is None else dataclasses.replace(changed, contention=self.contention)

    def prepared(self, prepared: api.PreparedGraph, cluster: Cluster) -> api.PreparedGraph:
        """The graph with changed costs on the kinds of `cluster`; its groups stay."""
        if self.data_sheets:
            return dataclasses.replace(prepared, costs=dataclasses.replace(prepared.costs, at_peaks=True))
        if self.op_times == 1.0:
            return prepared
        costs = prepared.costs.for_devices(cluster.devices)
        slower = dataclasses.replace(costs, time_us=costs.time_us * self.op_times)
        return dataclasses.replace(prepared, costs=slower)


CHANGES = (
    OneChange(UNCHANGED),
    OneChange("contention pair", contention=Contention.PAIR),
    OneChange("contention none", contention=Contention.NONE),
    OneChange("op times × 2", op_times=2.0),
    OneChange("op times × 5", op_times=5.0),
    OneChange("bandwidth × 0.5", bandwidths=0.5),
    OneChange("bandwidth × 2", bandwidths=2.0),
    OneChange("bandwidth × 20", bandwidths=20.0),
)


def run(folder: Path, report: ReportLine) -> str:
    """Compute the rows that `folder`/kept/sensitivity.jsonl lacks, write the page, and return it."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl", also=of_any_code)
    rows: dict[str, dict[str, Any]] = {}
    for problem in PROBLEMS:
        made = cache(partial(_made, problem, report))
        cells = {change: key_of(problem, change) for change in problem.changes}

        def row(change: OneChange, made: Callable[[], _Made] = made) -> dict[str, api.Json]:
            return _row(change, *made())

        found = measure_cells_here(kept, cells, row, report)
        rows |= {_named(problem, change): result for change, result in found.items()}
    return write_page(folder, NAME, page(rows))


def key_of(problem: ZooProblem, change: OneChange) -> Measurement:
    """What a row depends on: the engine's version in the place of the state of its code."""
    budget: dict[str, api.Json] = {"evaluations": EVALUATIONS, "seeds": SEEDS, "placements": PLACEMENTS}
    on = {"graph": problem.graph, "cluster": problem.cluster, "change": change.name}
    return {**on, "version": VERSION, **budget, "methods": list(METHODS)}


def _named(problem: ZooProblem, change: OneChange) -> str:
    return f"{problem.graph} on {problem.cluster}, {change.name}"


_Made: TypeAlias = tuple[api.PreparedGraph, Cluster, NDArray[np.int32]]


def _made(problem: ZooProblem, report: ReportLine) -> _Made:
    """The graph, its cluster, and the placements of a search on the unchanged problem."""
    prepared, cluster = prepared_zoo_graph(problem.graph, report), api.parse_cluster(problem.cluster)
    return prepared, cluster, placements_of_a_search(prepared, cluster)


def placements_of_a_search(prepared: api.PreparedGraph, cluster: Cluster) -> NDArray[np.int32]:
    """[placements, groups] distinct placements along one search, evenly spaced in the order in which it met them."""
    met: dict[tuple[int, ...], None] = {}

    def emit(event: api.Emitted) -> None:
        if isinstance(event, api.NumberedEvent) and isinstance(event.event, api.Episode):
            met[tuple(event.event.placement)] = None

    Run(prepared, api.RunRequest(cluster, SEARCH, api.Budget(EVALUATIONS), 0), emit, lambda: False).execute(None)
    every = np.array(list(met), dtype=np.int32)
    chosen = np.unique(np.linspace(0, len(every) - 1, min(PLACEMENTS, len(every))).round().astype(np.int64))
    return every[chosen]


def _row(
    change: OneChange, prepared: api.PreparedGraph, cluster: Cluster, placements: NDArray[np.int32]
) -> dict[str, api.Json]:
    changed, on = change.prepared(prepared, cluster), change.cluster(cluster)
    simulator = Simulator(changed.graph, changed.costs, on, changed.grouping.group_of_op)
    request = api.ComparisonRequest(on, METHODS, api.Budget(EVALUATIONS), SEEDS)
    with tempfile.TemporaryDirectory() as work:
        outcomes = api.compare(changed, request, Path(work), lambda _: None)
    return {
        "placements_us": simulator.evaluate(placements).step_time_us.tolist(),
        "methods_us": {method: _mean_us(outcomes, method) for method in METHODS},
    }


def _mean_us(outcomes: list[api.Outcome], method: str) -> float | None:
    """Mean over the seeds of a method's own best; None unless all seeds have one."""
    found = [each.own_best_us for each in outcomes if each.method == method]
    known = [each for each in found if each is not None]
    return sum(known) / len(known) if known and len(known) == len(found) else None


def methods_tau(one: Mapping[str, float | None], other: Mapping[str, float | None]) -> float:
    """Kendall's tau-b between the methods that have a mean in both."""
    pairs = [(one[name], other[name]) for name in one if one[name] is not None and other.get(name) is not None]
    return tau(*zip(*pairs, strict=True)) if len(pairs) > 1 else float("nan")


def tau(one: Any, other: Any) -> float:
    """Kendall's tau-b of two rows of figures."""
    return float(kendalltau(one, other, variant="b").statistic)


def regret(known_us: list[float], changed_us: list[float]) -> float:
    """By what share the placement that was best before is behind the one that is best now."""
    return changed_us[int(np.argmin(known_us))] / min(changed_us) - 1


def page(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """The page of all rows that are known."""
    lines = []
    for problem in PROBLEMS:
        known = rows.get(_named(problem, CHANGES[0]))
        for change in problem.changes[1:]:
            row = rows.get(_named(problem, change))
            if known is not None and row is not None:
                lines.append(
                    (
                        f"{problem.graph}, {problem.cluster}",
                        change.name,
                        f"{methods_tau(known['methods_us'], row['methods_us']):.2f}",
                        f"{tau(known['placements_us'], row['placements_us']):.2f}",
                        f"{regret(known['placements_us'], row['placements_us']):.1%}",
                    )
                )
    table = table_of_figures(("problem", "change", "tau of methods", "tau of placements", "regret"), lines)
    return PAGE.format(
        command=COMMAND,
        version=VERSION,
        evaluations=f"{EVALUATIONS:,}",
        seeds=SEEDS,
        placements=PLACEMENTS,
        search=SEARCH,
        methods=", ".join(METHODS),
        table="\n".join(table),
    )


PAGE = """# Sensitivity to costs and links

`{command}`; Placeto Explorer {version}; {evaluations} evaluations, {seeds} seeds. One factor is changed at a time.
"Tau of methods" is Kendall's tau-b between the means of the methods' own best step times on the unchanged and on the
changed problem ({methods}); "tau of placements" the same for up to {placements} placements along one run of {search} on
the unchanged problem. Regret: how far the best of these placements is behind the one that is best after the change.
"Figures of data sheets": ops reach all of the peaks, links all of their specification, and both rest as K80s do, in
place of what is measured or published ([device kinds](../devices.md)).

{table}
"""
