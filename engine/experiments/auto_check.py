"""Whether auto is behind any other method with the same evaluations, or in the same seconds, on graphs of many kinds.

`python -m engine experiments auto_check` writes docs/results/auto_check.{md,json}; every figure in it comes from here.
A method's figure on a graph is its mean over the seeds; in seconds there is one seed, and a subset of the graphs, for
the figures hold for the machine and what else runs on it.
Methods that learn are too slow to be here and are compared on
the zoo by other experiments.
"""

import json
import platform
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from engine import VERSION, api
from engine.errors import PlacetoError
from engine.experiments.random_graphs import SHAPES, random_graph
from engine.pins import allowed_devices
from engine.placers.registry import PLACERS, make_placer
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem

EVALUATIONS = 2000
SEEDS = (0, 1, 2)
SECONDS = 2.0
SEEDS_IN_SECONDS = (0,)
RANDOM_GRAPHS_IN_SECONDS = 10
RANDOM_GRAPHS = 50
SIZES = (30, 60, 120, 240)
CLUSTERS = ("2xK80", "4xK80", "8xV100")
"""taken in turn by the random graphs"""
ZOO = (("inception_v3", "2xK80"), ("inception_v3", "4xK80"))
METHODS = (
    "single_device",
    "random",
    "human_expert",
    "scotch",
    "m_topo",
    "m_etf",
    "m_sct",
    "heft",
    "brkga",
    "local_search",
)
"""those of them that the registry has are compared with auto"""
TOLERANCE = 0.01
SHARED = Path(__file__).parents[3] / "shared" / "graphs"
"""costed graphs of public benchmarks, where somebody has put them beside the checkout"""


@dataclass(frozen=True, slots=True)
class Case:
    """One graph on one cluster."""

    kind: str
    name: str
    problem: PlacementProblem


@dataclass(frozen=True, slots=True)
class Row:
    """What one method reached on one case, the mean over the seeds; None where a seed found nothing feasible."""

    kind: str
    name: str
    method: str
    step_time_us: float | None
    one_device_us: float


def run(folder: Path, tell: Callable[[str], None]) -> str:
    """Compare on all cases, write `folder`/auto_check.{md,json}, and return the tables."""
    rows: list[Row] = []
    in_seconds: list[Row] = []
    for index, case in enumerate(cases(tell)):
        rows += compared(case, Budget(EVALUATIONS), SEEDS)
        tell(f"{case.name}: {_told(rows, case)}")
        if index < RANDOM_GRAPHS_IN_SECONDS or index >= RANDOM_GRAPHS:
            in_seconds += compared(case, Budget(MOST_EVALUATIONS, SECONDS), SEEDS_IN_SECONDS)
            tell(f"{case.name}, {SECONDS:g} s: {_told(in_seconds, case)}")
    return written(folder, rows, in_seconds)


def written(folder: Path, rows: list[Row], in_seconds: list[Row]) -> str:
    """The tables, written with the rows that they come from."""
    parts = [_head(rows), _by_method(rows), _behind(rows), _head_in_seconds(in_seconds)]
    text = "\n\n".join([*parts, _by_method(in_seconds), _behind(in_seconds)]) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "auto_check.md").write_text(text)
    kept = {"evaluations": [asdict(row) for row in rows], "seconds": [asdict(row) for row in in_seconds]}
    (folder / "auto_check.json").write_text(json.dumps(kept, indent=0) + "\n")
    return text


def cases(tell: Callable[[str], None]) -> Iterator[Case]:
    """All graphs, the random ones first."""
    shapes = list(SHAPES)
    for index in range(RANDOM_GRAPHS):
        shape, size = shapes[index % len(shapes)], SIZES[index // len(shapes) % len(SIZES)]
        cluster = CLUSTERS[index % len(CLUSTERS)]
        prepared = random_graph(shape, size, np.random.default_rng(index))
        name = f"{shape} {index}: {prepared.graph.op_count} ops, {cluster}"
        yield Case(shape, name, _problem(prepared, api.parse_cluster(cluster)))
    if SHARED.is_dir():
        for path in sorted(SHARED.glob("*.cluster.json")):
            graph = path.with_name(path.name.replace(".cluster", ""))
            prepared = api.prepare(graph, graph.suffix, lambda *_: None, api.Limits(), None)
            yield Case("shared", graph.stem, _problem(prepared, api.parse_cluster(path.read_text())))
    else:
        tell("the shared graphs are not here")
    for name, cluster in ZOO:
        yield Case("zoo", f"{name}, {cluster}", _problem(_built(name), api.parse_cluster(cluster)))


def compared(case: Case, budget: Budget, seeds: Sequence[int]) -> list[Row]:
    """Auto and every method on one case."""
    one_device_us = _reached(case.problem, "single_device", 0, Budget(EVALUATIONS)) or float("nan")
    rows = []
    for method in ("auto", *(name for name in METHODS if name in PLACERS)):
        reached = [_reached(case.problem, method, seed, budget) for seed in seeds]
        known = [step_time_us for step_time_us in reached if step_time_us is not None]
        mean_us = fmean(known) if len(known) == len(seeds) else None
        rows.append(Row(case.kind, case.name, method, mean_us, one_device_us))
    return rows


def _reached(problem: PlacementProblem, method: str, seed: int, budget: Budget) -> float | None:
    """The best feasible step time with `budget`; None where the method finds none or says that it has no rule."""
    own = problem.with_budget(budget)
    rng = np.random.default_rng([seed, zlib.crc32(method.encode())])
    try:
        make_placer(method, {}).place(own, own.ledger.budget, rng, lambda _: None, lambda: False)
    except PlacetoError:
        return None
    return own.ledger.best_step_time_us


def _problem(prepared: api.PreparedGraph, cluster: api.Cluster) -> PlacementProblem:
    allowed = allowed_devices(prepared.graph, prepared.costs, prepared.grouping, cluster)
    return PlacementProblem(prepared.graph, prepared.costs, prepared.grouping, cluster, allowed, Budget(EVALUATIONS))


def _built(name: str) -> api.PreparedGraph:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.pb"
        api.build(name, path, lambda *_: None)
        return api.prepare(path, path.suffix, lambda *_: None, api.Limits())


def ratio_to_auto(row: Row, rows: list[Row]) -> float | None:
    """Auto's step time over the method's on the same case: above 1 auto is behind. None where the method has none."""
    auto = next(other for other in rows if other.name == row.name and other.method == "auto")
    if row.step_time_us is None:
        return None
    return float("inf") if auto.step_time_us is None else auto.step_time_us / row.step_time_us


def _told(rows: list[Row], case: Case) -> str:
    own = [row for row in rows if row.name == case.name]
    return ", ".join(
        f"{row.method} {'none' if row.step_time_us is None else f'{row.step_time_us / row.one_device_us:.3f}'}"
        for row in own
    )


def _head(rows: list[Row]) -> str:
    graphs = len({row.name for row in rows})
    return (
        f"{graphs} graphs, {EVALUATIONS} evaluations, {len(SEEDS)} seeds; Placeto Explorer {VERSION}, "
        f"{platform.machine()}. Auto's step time over the method's, each the mean over the seeds: below 1 auto is "
        "ahead. Left out are the graphs on which a method has no feasible placement or no rule."
    )


def _head_in_seconds(rows: list[Row]) -> str:
    graphs = len({row.name for row in rows})
    return (
        f"In the same seconds: {graphs} graphs, {SECONDS:g} s on one thread, {len(SEEDS_IN_SECONDS)} seed. Methods "
        "that make one placement take what they need, also where that is more. Auto starts no process for Scotch in "
        "so short a time."
    )


def _by_method(rows: list[Row]) -> str:
    lines = [
        f"| method | graphs | mean ratio | worst ratio | auto behind by more than {TOLERANCE:.0%} |",
        "|---|---|---|---|---|",
    ]
    for method in dict.fromkeys(row.method for row in rows if row.method != "auto"):
        ratios = [ratio_to_auto(row, rows) for row in rows if row.method == method]
        known = [ratio for ratio in ratios if ratio is not None]
        if known:
            behind = sum(ratio > 1 + TOLERANCE for ratio in known)
            lines.append(f"| {method} | {len(known)} | {fmean(known):.3f} | {max(known):.3f} | {behind} |")
    return "\n".join(lines)


def _behind(rows: list[Row]) -> str:
    """Where auto is behind."""
    lines = []
    for row in rows:
        ratio = ratio_to_auto(row, rows)
        if ratio is not None and ratio > 1 + TOLERANCE:
            lines.append(f"- {row.name}: {ratio:.3f} of {row.method}")
    return "\n".join([f"Graphs on which auto is behind by more than {TOLERANCE:.0%}:", "", *(lines or ["none"])])
