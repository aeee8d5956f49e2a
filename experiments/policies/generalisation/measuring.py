"""Trains the policies and measures them: a child for each training, and for each policy, or none, in each column."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.placers.policy_passes import load_network
from engine.policies.proposals import proposals
from engine.policies.settings import make_training_settings
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import PlacementProblem
from engine.settings.fields import number, require_allowed, whole
from experiments.family_graphs import first_graphs
from experiments.grid import RESULT
from experiments.leveled import graph_named
from experiments.policies.controls.answers import LISTS, best_of, fitting_us, listed, one_device, swept
from experiments.policies.generalisation.other_kinds import OTHER_KINDS, graph_of_kind
from experiments.policies.making import train_to_file
from experiments.policies.problems import training_problems
from experiments.policies.shipped import FAMILIES, FAMILY_CLUSTERS, FILE, SAMPLES, ZOO_CLUSTERS, ZOO_GRAPHS, auto_us
from experiments.problems import problem_on

TRAINING_CLUSTERS = ("2xK80", "4xK80", "8xK80", "2xK80+2xV100")
"""as in `make policy`"""
ZOO, OTHER = "zoo", "other kinds"
COLUMNS = (*FAMILIES, ZOO, OTHER)
OTHER_SEED, A_KIND = 7171, 8
"""of the graphs of other kinds, and how many of each"""
OTHER_CLUSTERS = ("2xK80", "4xK80", "8xV100")
"""taken in turn; their ops take as long on every kind of device"""
RECIPE: dict[str, Json] = {
    "drawn": 256,
    "drawn_share": 0.4,
    "message_rounds": 4,
    "embedding_width": 48,
    "sampled_share_end": 0.15,
}
"""settings of every training, as in `make policy`"""
ONE_DEVICE, LISTED, GREEDY, BEST = "one device", "best list schedule", "greedy pass", f"best of {1 + SAMPLES} passes"
SEARCH, WITH_POLICY = "search alone", "auto with the policy"
PLACES, PASS_SECONDS, COLD_SECONDS = "places", "seconds of the pass", "cold seconds"
SHIPPED = "shipped"
"""in place of a family left out: the policy that ships"""


@dataclass(frozen=True, slots=True)
class GeneralisationScope:
    """The defaults are the whole experiment; smaller values make it shorter, and the page shows them."""

    train_seconds: float = number(2400.0, 1e-3, 1e7, "of the processor, for each training")
    train_graphs: int = whole(22, 1, 22, "of each family, the first ones of its training split")
    seeds: int = whole(3, 0, 1000, "trainings on all families")
    left_out_seeds: int = whole(1, 0, 1000, "trainings without each family")
    graphs: int = whole(10, 1, 10, "held-out graphs of each family")
    search_seconds: float = number(10.0, 1e-3, 1e5, "of the processor, for auto without a policy")
    policy_seconds: float = number(1.0, 1e-3, 1e5, "the same with one, its features and passes included")
    processes: int = whole(2, 1, 1000, "at once")

    def __post_init__(self) -> None:
        require_allowed(self)


class PolicyTraining(NamedTuple):
    """A policy: the family left out of its training, empty for none, or `SHIPPED`; and its seed."""

    without: str
    seed: int

    @property
    def name(self) -> str:
        if self.without == SHIPPED:
            return "the policy that ships"
        return f"trained on {f'all but {self.without}' if self.without else 'all families'}, seed {self.seed}"


def trainings(scope: GeneralisationScope) -> list[PolicyTraining]:
    """All policies, the one that ships first."""
    everywhere = [PolicyTraining("", seed) for seed in range(scope.seeds)]
    left_out = [PolicyTraining(family, seed) for seed in range(scope.left_out_seeds) for family in FAMILIES]
    return [PolicyTraining(SHIPPED, 0), *everywhere, *left_out]


def train_in_child(arguments: dict[str, Json], _folder: object, _report_progress: ReportProgress) -> Results:
    """Train one policy and write the file `path`; a second call continues."""
    order: dict[str, Any] = dict(arguments)
    scope, without, seed = GeneralisationScope(**order["scope"]), str(order["without"]), int(order["seed"])
    families = [family for family in FAMILIES if family != without]
    graphs = [
        (each.graph.name, each) for family in families for each in first_graphs(family, "train", scope.train_graphs)
    ]
    own: dict[str, Json] = {"seconds": scope.train_seconds, "drawn_without": without, "torch_device": "cpu"}
    settings = make_training_settings({**RECIPE, **own})
    train_to_file(training_problems(graphs, TRAINING_CLUSTERS), settings, seed, Path(order["path"]))
    return {}, {}


def places(column: str, graphs: int) -> Iterator[tuple[str, PlacementProblem]]:
    """(name, problem in the groups of methods without levels) of a column, `graphs` of a family."""
    if column == OTHER:
        for index in range(A_KIND * len(OTHER_KINDS)):
            kind, number_of_kind = list(OTHER_KINDS)[index // A_KIND], index % A_KIND
            cluster = OTHER_CLUSTERS[index % len(OTHER_CLUSTERS)]
            graph = graph_of_kind(kind, number_of_kind, OTHER_SEED)
            yield f"{kind}/{number_of_kind} on {cluster}", problem_on(graph, cluster, clock=time.process_time)
        return
    names = ZOO_GRAPHS if column == ZOO else [str(index) for index in range(graphs)]
    for name in names:
        graph = graph_named(f"{column}/{name}", lambda _: None)
        for cluster in ZOO_CLUSTERS if column == ZOO else FAMILY_CLUSTERS:
            yield f"{name} on {cluster}", problem_on(graph, cluster, clock=time.process_time)


def alone_in_child(arguments: dict[str, Json], _folder: object, _report_progress: ReportProgress) -> Results:
    """Place → answer without a policy → step time in µs, null for what does not fit; `arguments` is the key."""
    order: dict[str, Any] = dict(arguments)
    found: dict[str, Json] = {}
    for name, problem in places(order["column"], order["graphs"]):
        found[name] = {
            ONE_DEVICE: fitting_us(one_device(problem)),
            LISTED: fitting_us(listed(problem, LISTS)),
            SEARCH: auto_us(problem, None, order["seconds"], 0),
        }
    return {}, {RESULT: found}


def policy_in_child(arguments: dict[str, Json], _folder: object, _report_progress: ReportProgress) -> Results:
    """Place → a row of `policy_row` of the policy in the file `path`; and the seconds of a pass in a new process."""
    order: dict[str, Any] = dict(arguments)
    path = Path(order.get("path") or FILE)
    policy = TrainedPolicy.from_bytes(path.read_bytes(), path.name)
    found: dict[str, Json] = {}
    began = time.process_time()
    load_network()
    loading, cold = time.process_time() - began, None
    for name, problem in places(order["column"], order["graphs"]):
        cold = cold or loading + pass_seconds(policy, problem)
        found[name] = policy_row(policy, problem, order["seconds"])
    return {}, {RESULT: {PLACES: found, COLD_SECONDS: cold}}


def pass_seconds(policy: TrainedPolicy, problem: PlacementProblem) -> float:
    """The seconds of the processor for a greedy pass, features included."""
    began = time.process_time()
    proposals(policy, problem, np.random.default_rng(0), 0)
    return time.process_time() - began


def policy_row(policy: TrainedPolicy, problem: PlacementProblem, seconds: float) -> dict[str, Any]:
    """Answer → step times in µs, null for what does not fit: as it is, and after a sweep; and the pass's seconds."""
    of_pass = pass_seconds(policy, problem)
    placements = proposals(policy, problem, np.random.default_rng(0), SAMPLES)
    tried = {GREEDY: best_of(problem, placements[:1]), BEST: best_of(problem, placements)}
    return {
        **{name: [fitting_us(answer), fitting_us(swept(problem, answer))] for name, answer in tried.items()},
        WITH_POLICY: auto_us(problem, policy, seconds, 0),
        PASS_SECONDS: of_pass,
    }
