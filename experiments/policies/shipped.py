"""What the policy that ships is worth: its passes on problems that it has not seen, and auto with it and without it.

`python -m experiments shipped_policy` writes docs/results/shipped_policy.md; a second call continues where the first
stopped. `--set` makes it smaller.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import inf, log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine import VERSION
from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.placers.auto import Auto
from engine.placers.policy_passes import beyond_training, load_network
from engine.policies.drawn.problems import drawn_problem
from engine.policies.drawn.shapes import SHAPES
from engine.policies.proposals import proposals
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.traits import is_far
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem
from engine.settings.fields import number, require_allowed, whole
from engine.settings.making import make_settings
from experiments.grid import RESULT, KeptResults, Measurement, measure_cells
from experiments.keeping.statistics import mean_over
from experiments.leveled import graph_named
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.policies.controls.answers import LISTS, best_of, fitting_us, listed, one_device, swept
from experiments.problems import problem_on

COMMAND = "python -m experiments shipped_policy"
NAME = "shipped_policy"
FILE = Path(__file__).parents[2] / "policies" / "default.safetensors"
FAMILIES = ("nmt", "ptb", "cifar10")
FAMILY_CLUSTERS = ("2xK80", "4xK80", "8xV100", "2xV100+2xK80")
ZOO_GRAPHS = ("inception_v3", "nasnet", "nmt", "nmt_4_layers")
ZOO_CLUSTERS = ("2xK80", "4xK80", "8xV100")
DRAWN_SEED = 4242
"""of drawn problems that take part in no training"""
DRAWN_AT_A_TIME = 6
SAMPLES = 16
PASSES = ("one device", "best list schedule", "greedy pass", "best of 17 passes")
ALONE, WITH_POLICY = "auto", "auto with the policy"
LEFT_OUT = "left out"
MISFIT = 2.0
"""what does not fit counts as so many times the best"""


@dataclass(frozen=True, slots=True)
class ShippedScope:
    """The defaults are the whole experiment; smaller values make it shorter, and the page shows them."""

    seconds: float = number(5.0, 1e-3, 1e5, "of the processor, for auto, from a process that has loaded the network")
    seeds: int = whole(3, 1, 1000, "runs of auto with the policy, and as many without")
    graphs: int = whole(4, 1, 10, "held-out graphs of each family")
    drawn: int = whole(24, 1, 10_000, "problems drawn at random")
    processes: int = whole(2, 1, 1000, "at once")

    def __post_init__(self) -> None:
        require_allowed(self)


class MeasuredPart(NamedTuple):
    """What one child measures: a graph on all its clusters, or some drawn problems, the first of which is `graph`."""

    column: str
    graph: str


def make_shipped_scope(settings: Mapping[str, Json]) -> ShippedScope:
    """The scope with these `settings`; the others are the whole experiment's. Raises SettingsError."""
    return make_settings("the experiment", ShippedScope, settings)


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Measure what `folder`/kept/shipped_policy.jsonl lacks, write the page, and return it."""
    scope = make_shipped_scope(settings or {})
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    digest = hashlib.sha256(FILE.read_bytes()).hexdigest()
    orders = {f"{part.column}, {part.graph}": key_of(scope, part, digest) for part in parts(scope)}
    keep_zoo_graphs({part: key_of(scope, part, digest) for part in parts(scope)}, kept, report)
    measure_cells(kept, "experiments.policies.shipped:in_child", orders, scope.processes, report)
    return write_page(folder, NAME, page(kept, scope, digest))


def keep_zoo_graphs(keys: Mapping["MeasuredPart", Measurement], kept: KeptResults, report: ReportLine) -> None:
    """Make the graphs of the zoo that children are going to look for."""
    for part, key in keys.items():
        if part.column == "zoo" and key not in kept:
            graph_named(f"zoo/{part.graph}", report)


def parts(scope: ShippedScope) -> list[MeasuredPart]:
    """What the children measure."""
    found = [MeasuredPart(family, str(graph)) for family in FAMILIES for graph in range(scope.graphs)]
    found += [MeasuredPart("zoo", graph) for graph in ZOO_GRAPHS]
    return found + [MeasuredPart("drawn", str(first)) for first in range(0, scope.drawn, DRAWN_AT_A_TIME)]


def key_of(scope: ShippedScope, part: MeasuredPart, digest: str) -> Measurement:
    """What a child measures, with the policy of this `digest`."""
    decides = {**asdict(scope), "processes": 1, "graphs": 1}
    return {**part._asdict(), "policy": digest, "scope": decides}


def in_child(arguments: dict[str, Json], _folder: object, _report_progress: ReportProgress) -> Results:
    """Problem → answer → step times in µs, null for what does not fit; `arguments` is the key."""
    order: dict[str, Any] = dict(arguments)
    scope, policy = ShippedScope(**order["scope"]), TrainedPolicy.from_bytes(FILE.read_bytes(), FILE.name)
    load_network()
    found: dict[str, Json] = {}
    for name, problem in problems_of_part(scope, MeasuredPart(order["column"], order["graph"])):
        proposals(policy, problem, np.random.default_rng(0), 0)  # compiles and loads what a warm process has
        rows = _passes(policy, problem)
        for answer, given in ((ALONE, None), (WITH_POLICY, policy)):
            rows[answer] = [auto_us(problem, given, scope.seconds, seed) for seed in range(scope.seeds)]
        found[name] = {**rows, LEFT_OUT: is_far(beyond_training(policy, problem))}
    return {}, {RESULT: found}


def problems_of_part(scope: ShippedScope, part: MeasuredPart) -> Iterator[tuple[str, PlacementProblem]]:
    """(name, problem in the groups of methods without levels) of what one child measures."""
    if part.column == "drawn":
        for index in range(int(part.graph), min(int(part.graph) + DRAWN_AT_A_TIME, scope.drawn)):
            problem = drawn_problem(tuple(SHAPES), np.random.default_rng([DRAWN_SEED, index])).problem
            yield f"drawn/{index}", problem.with_budget(Budget(1), clock=time.process_time)
        return
    graph = graph_named(f"{part.column}/{part.graph}", lambda _: None)
    for cluster in ZOO_CLUSTERS if part.column == "zoo" else FAMILY_CLUSTERS:
        yield f"{part.column}/{part.graph} on {cluster}", problem_on(graph, cluster, clock=time.process_time)


def _passes(policy: TrainedPolicy, problem: PlacementProblem) -> dict[str, Json]:
    """Answer → [its step time, that after a sweep of single moves]."""
    placements = proposals(policy, problem, np.random.default_rng(0), SAMPLES)
    tried = (
        one_device(problem),
        listed(problem, LISTS),
        best_of(problem, placements[:1]),
        best_of(problem, placements),
    )
    return {
        name: [fitting_us(each) for each in (answer, answer and swept(problem, answer))]
        for name, answer in zip(PASSES, tried, strict=True)
    }


def auto_us(problem: PlacementProblem, policy: TrainedPolicy | None, seconds: float, seed: int) -> float | None:
    """The best step time of auto in so many seconds; None if nothing fits."""
    auto, own = Auto(), problem.with_budget(Budget(MOST_EVALUATIONS, seconds))
    if policy is not None:
        auto.use_policy(policy)
    own.context.begin()
    auto.place(own, np.random.default_rng(seed), lambda: False)
    return own.ledger.best_step_time_us


def page(kept: KeptResults, scope: ShippedScope, digest: str) -> str:
    """The page with all that has been measured."""
    keys = {part: key_of(scope, part, digest) for part in parts(scope)}
    measured: dict[str, list[dict[str, Any]]] = {}
    for part, key in keys.items():
        measured.setdefault(part.column, []).append(kept[key])
    columns = {column: [_solved(graph) for graph in found] for column, found in measured.items()}
    lines = [[name, *(_gaps(found, name, 0) for found in columns.values())] for name in PASSES]
    lines += [[f"{name}, swept", *(_gaps(found, name, 1) for found in columns.values())] for name in PASSES[1:]]
    lines += [[name, *(_gaps(found, name, None) for found in columns.values())] for name in (ALONE, WITH_POLICY)]
    beside = [
        ["mean", *(_difference(found) for found in columns.values())],
        ["policy left out", *(_left_out(found) for found in columns.values())],
        ["problems on which nothing fits", *(_unsolved(found) for found in measured.values())],
    ]
    head = _head(scope, kept.made(keys.values()), digest)
    return "\n".join(
        [
            head,
            "",
            *table_of_figures(("answer", *columns), lines),
            "",
            "## Auto with the policy beside auto without it",
            "",
            *table_of_figures(("step time with over without", *columns), beside),
            "",
        ]
    )


def _head(scope: ShippedScope, made: str, digest: str) -> str:
    return f"""# The policy that ships

`{COMMAND}`; Placeto Explorer {VERSION}; {made}; policy with SHA-256 {digest[:12]}….

Relative gaps to the best of all answers here, the mean over problems with its 95 % interval over graphs; what does not
fit counts as {MISFIT - 1:.0%}, and so does what is further behind. Problems on which no answer here fits count in no
mean. {scope.graphs} held-out graphs of each family on
{", ".join(FAMILY_CLUSTERS)}; the zoo's {", ".join(ZOO_GRAPHS)} on {", ".join(ZOO_CLUSTERS)}; {scope.drawn} drawn
problems. No graph took part in the policy's training; graphs of the families and other drawn problems did. Swept: each
group in turn went to the device that was best for it then. Auto had {scope.seconds:g} s of one processor, in a process
that had loaded the network, seeds 0 to {scope.seeds - 1}, and the same groups as the passes."""


def _solved(graph: Mapping[str, Any]) -> dict[str, Any]:
    """The problems on which an answer fits."""
    return {name: row for name, row in graph.items() if _best_us(row) < inf}


def _unsolved(found: list[dict[str, Any]]) -> str:
    rows = [row for graph in found for row in graph.values()]
    return f"{sum(_best_us(row) == inf for row in rows)} of {len(rows)}"


def _best_us(row: Mapping[str, Any]) -> float:
    answers = [*(us for name in PASSES for us in row[name]), *row[ALONE], *row[WITH_POLICY]]
    return min((us for us in answers if us is not None), default=inf)


def _gaps(found: list[dict[str, Any]], name: str, which: int | None) -> str:
    """The mean gap of an answer; `which` of its step times, all of them if None."""
    units = []
    for graph in found:
        gaps = []
        for row in graph.values():
            times = row[name] if which is None else [row[name][which]]
            gaps += [min(us / _best_us(row), MISFIT) - 1 if us is not None else MISFIT - 1 for us in times]
        units.append(gaps)
    return mean_over([unit for unit in units if unit]).as_percent()


def _difference(found: list[dict[str, Any]]) -> str:
    """The mean relative difference, seed by seed, where both found something that fits."""
    units = []
    for graph in found:
        pairs = [pair for row in graph.values() for pair in zip(row[WITH_POLICY], row[ALONE], strict=True)]
        units.append([np.expm1(log(one / other)) for one, other in pairs if one is not None and other is not None])
    return mean_over([unit for unit in units if unit]).as_percent()


def _left_out(found: list[dict[str, Any]]) -> str:
    rows = [row for graph in found for row in graph.values()]
    return f"{sum(row[LEFT_OUT] for row in rows)} of {len(rows)}"
