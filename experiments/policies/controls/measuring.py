"""Measures the controls: a child for the quick answers in each column, and one for each training of a policy."""

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.policies.course import train_policy
from engine.policies.drawn.problems import drawn_problem
from engine.policies.drawn.shapes import SHAPES
from engine.policies.proposals import proposals
from engine.policies.settings import make_training_settings
from engine.policies.trained_policy import TrainedPolicy
from engine.prepared import PreparedGraph
from engine.problem import Budget, PlacementProblem
from engine.settings.fields import number, refused, require_allowed, text, whole
from experiments.best_found import ledger_of_run
from experiments.family_graphs import first_graphs, further_graphs
from experiments.grid import RESULT
from experiments.policies.controls.answers import (
    LISTS,
    QuickAnswer,
    best_of,
    copied,
    in_further_passes,
    in_orders,
    listed,
    nearest,
    one_device,
    swept,
)
from experiments.policies.problems import training_problems
from experiments.problems import problem_on

if TYPE_CHECKING:
    from engine.policies.learner import Learner

FAMILIES = ("nmt", "ptb", "cifar10")
DRAWN = "drawn"
COLUMNS = (*FAMILIES, DRAWN)
"""where answers are tried: graphs of each family, and problems drawn at random"""
CLUSTERS = ("2xK80", "4xK80", "8xV100", "2xV100+2xK80")
SAMPLES = 16
"""sampled passes beside the greedy one"""
KNOWN = "best known"
WITHOUT_POLICY = ("one device", "HEFT", "m-ETF", "best list schedule", "nearest graph's placement")
OF_POLICIES = ("greedy pass", "best of 17 passes", "best of 17 orders", "best of 4 in a row")
"""answers, in the order of the table"""
KINDS = (
    "trained",
    "imitation alone",
    "untrained",
    "with drawn problems",
    "credit of single moves",
    "expert iteration",
    "second passes",
    "more graphs",
    "wider network",
    "four updates a batch",
    "two learners",
    "fewer draws",
)
"""of policies"""
UNTRAINED: dict[str, Json] = {
    "teacher_evaluations": 1,
    "imitation_steps": 1,
    "reinforcement_batches": 1,
    "imitation_learning_rate": 1e-9,
    "learning_rate": 1e-9,
    "learning_rate_end": 0.0,
}
"""one step at a rate so small that the weights stay those that were drawn"""
MORE_GRAPHS = 44
"""further ones of a family, where it has so many"""
FEWEST_DRAWS = 0.15
POOL = 256
"""drawn problems at a time, where they take part"""
CHANGES: dict[str, dict[str, Json]] = {
    "with drawn problems": {"drawn": POOL},
    "wider network": {"hidden_width": 128},
    "four updates a batch": {"epochs": 4},
    "two learners": {"learners": 2},
    "fewer draws": {"sampled_share_end": FEWEST_DRAWS},
}
"""of the settings of kinds that differ from `trained` in nothing else"""
TRIED_SEED = 99
"""of the drawn problems on which answers are tried; trainings have seeds from 0"""


def require_kinds(name: str, kinds: str) -> None:
    """Raise SettingsError unless `kinds`, of setting `name`, are names of `KINDS`, with commas."""
    for kind in kinds.split(","):
        if kind not in KINDS:
            raise refused(name, kind, ", ".join(KINDS))


@dataclass(frozen=True, slots=True)
class ControlsScope:
    """The defaults are the whole experiment; smaller values make it shorter, and the page shows them."""

    seeds: int = whole(3, 1, 1000, "trainings of each kind")
    kinds: str = text(",".join(KINDS), "of policies, with commas", ", ".join(KINDS), require_kinds)
    train_seconds: float = number(300.0, 1e-3, 1e7, "of the processor, for each training on all families together")
    train_graphs: int = whole(18, 1, 22, "of each family, the first ones of its training split")
    graphs: int = whole(4, 1, 22, "of each family to try them on: the next ones of its training split")
    drawn: int = whole(60, 1, 10_000, "problems drawn at random to try them on")
    evaluations: int = whole(20_000, 1, 100_000_000, "of the search whose step times count as the best known")
    processes: int = whole(2, 1, 1000, "at once")

    def __post_init__(self) -> None:
        require_allowed(self)


class TriedPlace(NamedTuple):
    """A graph of a family's validation split, by its number there, on a cluster; or a drawn problem."""

    column: str
    graph: int
    cluster: str

    @property
    def name(self) -> str:
        return f"{self.column}/{self.graph} on {self.cluster}"


def places(scope: ControlsScope, columns: tuple[str, ...] = COLUMNS) -> list[TriedPlace]:
    """Where everything is tried."""
    found = []
    for column in columns:
        count, clusters = (scope.drawn, (DRAWN,)) if column == DRAWN else (scope.graphs, CLUSTERS)
        found += [TriedPlace(column, graph, cluster) for graph in range(count) for cluster in clusters]
    return found


def problem_at(scope: ControlsScope, place: TriedPlace) -> PlacementProblem:
    """The problem of a place."""
    if place.column == DRAWN:
        return drawn_problem(tuple(SHAPES), np.random.default_rng([TRIED_SEED, place.graph])).problem
    return problem_on(split_of(scope, place.column)[1][place.graph], place.cluster)


@cache
def tried_digest() -> str:
    """A digest of some of the drawn problems to try; a change of what draws them changes it."""
    digest = hashlib.sha256()
    for graph in range(4):
        problem = problem_at(ControlsScope(), TriedPlace(DRAWN, graph, DRAWN))
        for array in (problem.costs.time_us, problem.graph.edge_source, problem.cluster.bandwidth_bytes_per_us):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:12]


def split_of(scope: ControlsScope, family: str) -> tuple[list[PreparedGraph], list[PreparedGraph]]:
    """(training graphs, graphs to try on) of a family; both are of its training split."""
    graphs = first_graphs(family, "train", scope.train_graphs + scope.graphs)
    return list(graphs[: scope.train_graphs]), list(graphs[scope.train_graphs :])


def quick_in_child(arguments: dict[str, Json], _folder: object, _report_progress: ReportProgress) -> Results:
    """Everything but policies, in one column: for each place the answers by name, as rows of `_rows`."""
    order: dict[str, Any] = dict(arguments)
    scope, found = ControlsScope(**order["scope"]), dict[str, Json]()
    for place in places(scope, (str(order["column"]),)):
        problem = problem_at(scope, place)
        searched = ledger_of_run(problem, Budget(scope.evaluations), "auto", np.random.default_rng(0))
        assert searched is not None
        answers = {
            KNOWN: best_of(problem, searched.answer()[None, :]),
            "one device": one_device(problem),
            "HEFT": listed(problem, ("heft",)),
            "m-ETF": listed(problem, ("m_etf",)),
            "best list schedule": listed(problem, LISTS),
        }
        if place.column != DRAWN:
            answers["nearest graph's placement"] = _copied_from_nearest(scope, place, problem)
        found[place.name] = _rows(problem, answers)
    return {}, {RESULT: found}


def _copied_from_nearest(scope: ControlsScope, place: TriedPlace, problem: PlacementProblem) -> QuickAnswer:
    learned_on, tried = split_of(scope, place.column)
    other = learned_on[nearest(tried[place.graph], learned_on)]
    return copied(problem, other.graph, _taught(scope, other, place.cluster))


def _taught(scope: ControlsScope, graph: PreparedGraph, cluster: str) -> Any:
    """[ops] the device of each op in the placement that a search finds for a training graph."""
    problem = problem_on(graph, cluster)
    ledger = ledger_of_run(problem, Budget(scope.evaluations), "auto", np.random.default_rng(0))
    assert ledger is not None
    return ledger.answer()[graph.grouping.group_of_op]


def settings_of(scope: ControlsScope, kind: str) -> dict[str, Json]:
    """Settings of a training of a kind; each has as many seconds."""
    if kind == "untrained":
        return dict(UNTRAINED)
    if kind == "imitation alone":  # the shares are of twice the seconds, of which reinforcement gets none
        shares: dict[str, Json] = {"teacher_share": 0.075, "imitation_share": 0.425, "reinforcement_batches": 1}
        return {"seconds": 2 * scope.train_seconds, **shares}
    return {"seconds": scope.train_seconds, **CHANGES.get(kind, {})}


def _graphs_of(scope: ControlsScope, family: str, kind: str) -> list[PreparedGraph]:
    """The graphs of a family that a training of a kind is on; none of them is tried."""
    graphs = split_of(scope, family)[0]
    return graphs + further_graphs(family, "train", MORE_GRAPHS) if kind == "more graphs" else graphs


def _learner_of(kind: str) -> "type[Learner] | None":
    from experiments.policies.controls.learners import (  # torch takes seconds to load
        CreditedLearner,
        ExpertLearner,
        RepeatedLearner,
    )

    others: dict[str, type[Learner]] = {
        "credit of single moves": CreditedLearner,
        "expert iteration": ExpertLearner,
        "second passes": RepeatedLearner,
    }
    return others.get(kind)


def policy_in_child(arguments: dict[str, Json], _folder: object, _report_progress: ReportProgress) -> Results:
    """Train one policy on all families and try it: for each place the answers by name."""
    order: dict[str, Any] = dict(arguments)
    scope, seed = ControlsScope(**order["scope"]), int(order["seed"])
    graphs = [(each.graph.name, each) for family in FAMILIES for each in _graphs_of(scope, family, order["kind"])]
    settings = make_training_settings({**settings_of(scope, order["kind"]), "torch_device": "cpu"})
    learner_type = _learner_of(order["kind"])
    problems = training_problems(graphs, CLUSTERS)
    policy = train_policy(problems, (), settings, seed, lambda _: None, lambda: False, learner_type=learner_type)
    found: dict[str, Json] = {}
    for place in places(scope):
        problem = problem_at(scope, place)
        found[place.name] = _rows(problem, _passes(policy, problem, seed))
    return {}, {RESULT: found}


def _passes(policy: TrainedPolicy, problem: PlacementProblem, seed: int) -> dict[str, QuickAnswer | None]:
    passes = proposals(policy, problem, np.random.default_rng(seed), SAMPLES)
    ordered = in_orders(policy, problem, np.random.default_rng([seed, 1]))
    again = in_further_passes(policy, problem, passes[0], np.random.default_rng([seed, 2]))
    tried = (passes[:1], passes, np.concatenate([passes[:1], ordered]), np.concatenate([passes[:1], again]))
    return {name: best_of(problem, each) for name, each in zip(OF_POLICIES, tried, strict=True)}


def _rows(problem: PlacementProblem, answers: dict[str, QuickAnswer | None]) -> Json:
    """name → [step time in µs, evaluations, step time after a sweep, evaluations with it]; None where none fits."""
    rows: dict[str, Json] = {}
    for name, answer in answers.items():
        if answer is None:
            continue
        after = answer if name == KNOWN else swept(problem, answer)
        rows[name] = [answer.fitting_us, answer.evaluations, after.fitting_us, after.evaluations]
    return rows
