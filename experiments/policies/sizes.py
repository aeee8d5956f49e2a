"""From which size on a trained policy decides: auto with the policy that ships and without it, by groups and devices.

`python -m experiments policy_sizes` writes docs/results/policy_sizes.md; a second call continues where the first
stopped. `--set` makes it smaller.
"""

import hashlib
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from engine import VERSION
from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.placers.policy_passes import beyond_training, load_network
from engine.policies.drawn.graphs import drawn_graph
from engine.policies.proposals import proposals
from engine.policies.settings import make_training_settings
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.traits import is_far
from engine.prepared import PreparedGraph
from engine.problem import PlacementProblem
from engine.settings.fields import number, require_allowed, text, whole
from engine.settings.making import make_settings
from experiments.grid import RESULT, KeptResults, Measurement, measure_cells
from experiments.leveled import graph_named
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.policies.shipped import FILE, auto_us
from experiments.problems import problem_on, regrouped

COMMAND = "python -m experiments policy_sizes"
NAME = "policy_sizes"
UNROLLED, TRANSFORMER = "zoo/nmt_4_layers", "drawn/attention"
GRAPHS = (UNROLLED, TRANSFORMER)
"""an unrolled network of the zoo in so many groups; and, since the zoo has no transformer, a drawn one"""
DRAWN_SEED = 6161
"""of the first draw"""
MOST_DRAWN_BYTES = 16e9
"""of a drawn graph's data all together: about what one device holds, so that memory decides nothing"""
SLOWER = {"K80": 4.0, "V100": 1.0}
"""of the drawn kinds"""
ALONE, WITH_POLICY, LEFT_OUT, PASS_SECONDS = "auto", "auto with the policy", "left out", "seconds of the passes"


@dataclass(frozen=True, slots=True)
class SizesScope:
    """The defaults are the whole experiment; smaller values make it shorter, and the page shows them."""

    groups: str = text("128,256,512,1024", "numbers of groups, with commas")
    clusters: str = text("4xV100,8xV100,16xV100,64xV100,2xV100+2xK80,8xV100+8xK80", "shorthands, with commas")
    corners: str = text(
        "4xV100,64xV100", "clusters where the least and the greatest number of groups have more budgets"
    )
    seconds: float = number(10.0, 1e-3, 1e5, "of the processor, for auto, from a process that has loaded the network")
    short_seconds: float = number(1.0, 1e-3, 1e5, "the same in the corners")
    long_seconds: float = number(60.0, 1e-3, 1e5, "the same in the corners")
    seeds: int = whole(3, 1, 1000, "runs of auto with the policy, and as many without")
    processes: int = whole(2, 1, 1000, "at once")

    def __post_init__(self) -> None:
        require_allowed(self)

    @property
    def sizes(self) -> list[int]:
        """The numbers of groups."""
        return [int(size) for size in self.groups.split(",")]


class SizedCase(NamedTuple):
    """A graph in so many groups on a cluster, with a budget."""

    graph: str
    groups: int
    cluster: str
    seconds: float


def make_sizes_scope(settings: Mapping[str, Json]) -> SizesScope:
    """The scope with these `settings`; the others are the whole experiment's. Raises SettingsError."""
    return make_settings("the experiment", SizesScope, settings)


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Measure what `folder`/kept/policy_sizes.jsonl lacks, write the page, and return it."""
    scope = make_sizes_scope(settings or {})
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    digest = hashlib.sha256(FILE.read_bytes()).hexdigest()
    keys = {case: key_of(case, scope.seeds, digest) for case in cases(scope)}
    if any(case.graph == UNROLLED and key not in kept for case, key in keys.items()):
        graph_named(UNROLLED, report)  # the children find it
    longest_first = sorted(keys, key=lambda case: -case.seconds)
    orders = {_named(case): keys[case] for case in longest_first}
    measure_cells(kept, f"{__name__}:in_child", orders, scope.processes, report)
    found = {case: kept[key] for case, key in keys.items()}
    return write_page(folder, NAME, page(found, scope, kept.made(keys.values()), digest))


def _named(case: SizedCase) -> str:
    return f"{case.graph}, {case.groups} groups, {case.cluster}, {case.seconds:g} s"


def cases(scope: SizesScope) -> Iterator[SizedCase]:
    """All sizes with the middle budget, then the corners with the others."""
    for graph in GRAPHS:
        for groups in scope.sizes:
            for cluster in scope.clusters.split(","):
                yield SizedCase(graph, groups, cluster, scope.seconds)
    for graph in GRAPHS:
        for groups in (scope.sizes[0], scope.sizes[-1]):
            for cluster in scope.corners.split(","):
                for seconds in (scope.short_seconds, scope.long_seconds):
                    yield SizedCase(graph, groups, cluster, seconds)


def key_of(case: SizedCase, seeds: int, digest: str) -> Measurement:
    """What a child measures, with the policy of this `digest`."""
    return {**case._asdict(), "seeds": seeds, "policy": digest}


def in_child(arguments: dict[str, Json], _folder: object, _report_progress: ReportProgress) -> Results:
    """Step times in µs by seed of auto alone and with the policy; `arguments` is the key."""
    order: dict[str, Any] = dict(arguments)
    policy = TrainedPolicy.from_bytes(FILE.read_bytes(), FILE.name)
    problem = problem_of(order["graph"], order["groups"], order["cluster"])
    load_network()
    proposals(policy, problem, np.random.default_rng(0), 0)  # loads what a warm process has
    began = time.process_time()
    proposals(policy, problem, np.random.default_rng(0), 0)
    found: dict[str, Json] = {PASS_SECONDS: round(time.process_time() - began, 3)}
    for name, given in ((ALONE, None), (WITH_POLICY, policy)):
        found[name] = [auto_us(problem, given, order["seconds"], seed) for seed in range(order["seeds"])]
    found[LEFT_OUT] = is_far(beyond_training(policy, problem))
    return {}, {RESULT: found}


def problem_of(graph: str, groups: int, cluster: str) -> PlacementProblem:
    """The graph in so many groups on the cluster."""
    if graph == TRANSFORMER:
        return problem_on(drawn_transformer(groups), cluster, clock=time.process_time)
    return problem_on(regrouped(graph_named(graph, lambda _: None), groups), cluster, clock=time.process_time)


def drawn_transformer(groups: int) -> PreparedGraph:
    """The first drawn training step with attention, of about so many groups, whose data is not too much."""
    draws = (_drawn_with(seed, groups) for seed in itertools.count(DRAWN_SEED))
    return next(drawn for drawn in draws if _data_bytes(drawn) <= MOST_DRAWN_BYTES)


def _data_bytes(drawn: PreparedGraph) -> float:
    return float(drawn.costs.persistent_bytes.sum() + drawn.costs.bytes_of_op().sum())


def _drawn_with(seed: int, groups: int) -> PreparedGraph:
    """A draw of about so many groups: a layer more or less is the nearest there is."""

    def drawn(layers: int) -> PreparedGraph:
        return drawn_graph("attention", layers, SLOWER, np.random.default_rng(seed), trains=True)

    layers = groups
    for _ in range(4):
        layers = max(1, round(layers * groups / drawn(layers).grouping.group_count))
    return drawn(layers)


def page(found: Mapping[SizedCase, Mapping[str, Any]], scope: SizesScope, made: str, digest: str) -> str:
    """The page."""
    clusters = scope.clusters.split(",")
    middle = []
    for graph in GRAPHS:
        for groups in scope.sizes:
            rows = [found[SizedCase(graph, groups, cluster, scope.seconds)] for cluster in clusters]
            middle.append([f"{graph}, {groups}", *map(_difference, rows)])
    budgets = (scope.short_seconds, scope.seconds, scope.long_seconds)
    corners = [
        [
            f"{graph}, {groups}, {cluster}",
            *_corner([found[SizedCase(graph, groups, cluster, each)] for each in budgets]),
        ]
        for graph in GRAPHS
        for groups in (scope.sizes[0], scope.sizes[-1])
        for cluster in scope.corners.split(",")
    ]
    corner_head = ("graph, groups, cluster", *(f"{each:g} s" for each in budgets), "the policy's shortest beside")
    return "\n".join(
        [
            _head(scope, made, digest),
            "",
            f"## {scope.seconds:g} s",
            "",
            *table_of_figures(("graph, groups", *clusters), middle),
            "",
            "## Corners",
            "",
            *table_of_figures(corner_head, corners),
            "",
        ]
    )


def _head(scope: SizesScope, made: str, digest: str) -> str:
    saved = scope.long_seconds - scope.short_seconds
    policy = TrainedPolicy.from_bytes(FILE.read_bytes(), FILE.name)
    learners = make_training_settings(policy.card.training).learners
    trained_seconds = policy.card.seconds * learners
    return f"""# From which size on the policy decides

`{COMMAND}`; Placeto Explorer {VERSION}; {made}; policy with SHA-256 {digest[:12]}….

Auto with the policy that ships beside auto without it, in equal seconds of one processor, from a process that had
loaded the network: the relative difference of the mean step times over seeds 0 to {scope.seeds - 1}, negative where the
policy brings something, in bold where the slowest run with it is faster than the fastest without; in brackets the
seconds of its greedy pass. A star: auto would leave the policy out, since the problem is far from its training; here it
had it all the same. {UNROLLED} is grouped into so many groups; {TRANSFORMER} is drawn, since the zoo has no
transformer.

Last column: the mean step time with the policy in the least seconds beside that without it in the most. Where it is
negative, each graph saves {saved:g} s, and the training of {trained_seconds / 60:.0f} minutes of a core has paid
after {trained_seconds / saved:,.0f} graphs."""


def _difference(row: Mapping[str, Any]) -> str:
    alone, given = _times(row[ALONE]), _times(row[WITH_POLICY])
    if not alone or not given:
        return "nothing that fits"
    shown = f"{fmean(given) / fmean(alone) - 1:+.1%}"
    star = "*" if row[LEFT_OUT] else ""
    return f"{f'**{shown}**' if max(given) < min(alone) else shown}{star} ({row[PASS_SECONDS]:.2f})"


def _corner(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The differences by budget, and the policy's shortest run beside the longest without it."""
    short, long = _times(rows[0][WITH_POLICY]), _times(rows[-1][ALONE])
    beside = f"{fmean(short) / fmean(long) - 1:+.1%}" if short and long else "nothing that fits"
    return [*map(_difference, rows), beside]


def _times(times: Sequence[float | None]) -> list[float]:
    return [us for us in times if us is not None]
