"""Trains a policy: prepared graphs on clusters → training problems → the policy's file."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from engine import VERSION
from engine.clusters.cluster import Cluster
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.naming import name_of_cluster
from engine.costs.costs import Costs
from engine.errors import GraphError, SettingsError, shortened
from engine.events import Json, ShouldStop
from engine.files.archive import fields_of
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.placers.memory import PLACETO, ProblemSize, require_memory
from engine.placeto.settings import make_settings as make_placeto_settings
from engine.policies.card import LEAST_US, MOST_CLUSTERS, MOST_TEXT, is_text
from engine.policies.checkpoint import STATE_VERSION, learned_in
from engine.policies.course import train_policy
from engine.policies.settings import PolicyTrainingSettings, make_training_settings
from engine.policies.trained_policy import POLICY_VERSION, TrainedPolicy
from engine.policies.training_problem import ReportTraining, TrainingProblem
from engine.prepared import PreparedGraph
from engine.problem.making import problem_of
from engine.settings.seeds import require_seed

MOST_PROBLEMS = 2048
"""most graphs × clusters: each is held in memory with its simulator"""
SaveState: TypeAlias = Callable[[bytes], None]
"""stores a state from which the training can continue"""


@dataclass(frozen=True, slots=True)
class TrainRequest:
    """The training of one policy on every graph and every cluster."""

    graphs: tuple[PreparedGraph, ...]
    """training graphs"""
    held_out: tuple[PreparedGraph, ...]
    """graphs to test on once, after the training, on every cluster; none may be a training graph"""
    clusters: tuple[Cluster, ...]
    name: str
    """name of the policy, for people"""
    seed: int = 0
    settings: Mapping[str, Json] = field(default_factory=dict)
    """as in `PolicyTrainingSettings`, over its defaults"""
    families: tuple[str, ...] = ()
    """names of the families among the graphs, shown on the policy's card"""

    def __post_init__(self) -> None:
        check_training(self.name, self.seed, self.settings)
        for rows, what in ((self.graphs, "graphs"), (self.clusters, "clusters")):
            if not rows:
                raise _refused("there is none", what, f"at least one of the {what} to train on")
        check_counts(len(self.graphs), len(self.held_out), len(self.clusters))
        _check_unseen(self.held_out, self.graphs)


def check_training(name: str, seed: int, settings: Mapping[str, Json]) -> PolicyTrainingSettings:
    """Check the parts of a training that do not depend on its graphs; returns its settings. Raises SettingsError."""
    require_seed(seed)
    if not name.strip() or not is_text(name):
        raise _refused(repr(shortened(name)), "name", f"1 to {MOST_TEXT} printable characters")
    return make_training_settings(settings)


def check_counts(graphs: int, held_out: int, clusters: int) -> None:
    """Raise SettingsError for more clusters than a card can name, or more problems than memory can hold."""
    if clusters > MOST_CLUSTERS:
        raise _refused(f"{clusters} clusters", "clusters", f"at most {MOST_CLUSTERS}")
    for count, field_name in ((graphs, "graphs"), (held_out, "held_out")):
        if count * clusters > MOST_PROBLEMS:
            what = f"{count} × {clusters} clusters are {count * clusters}"
            raise _refused(what, field_name, f"at most {MOST_PROBLEMS}")


def _check_unseen(held_out: Sequence[PreparedGraph], learned_on: Sequence[PreparedGraph]) -> None:
    """Raise SettingsError for a graph that is both held out and trained on; its name and groups do not matter."""
    names = {_content(prepared): prepared.graph.name for prepared in learned_on} if held_out else {}
    for prepared in held_out:
        name, known = prepared.graph.name, names.get(_content(prepared))
        if known is not None:
            what = "trained on and held out"
            if known != name:
                what = f"trained on, named {shortened(known)!r}, and held out"
            raise SettingsError(what, where=shortened(name), allowed="one of the two", field="held_out")


def train(
    request: TrainRequest,
    report_training: ReportTraining,
    should_stop: ShouldStop,
    checkpoint: bytes | None = None,
    save_state: SaveState | None = None,
) -> bytes:
    """Train a policy and return its file. With `checkpoint`, a state that `save_state` got, it continues from there.

    If `should_stop` ends the training, the policy has learned until then. Raises GraphError if a graph cannot be placed
    on one of the clusters, LimitError if one of them needs more memory than the training may have.
    """
    _require_memory(request)
    policy = train_policy(
        problems_of(request.graphs, request.clusters),
        problems_of(request.held_out, request.clusters),
        make_training_settings(request.settings),
        request.seed,
        report_training,
        should_stop,
        checkpoint,
        save_state,
    )
    return _file_of(policy, request.name, request.families)


def _require_memory(request: TrainRequest) -> None:
    """Raise LimitError for a graph on a cluster whose batch of episodes needs more memory than there is."""
    settings = make_training_settings(request.settings)
    sizes = {"hidden_width": settings.hidden_width, "batch_episodes": settings.batch_episodes}
    as_in_placeto = make_placeto_settings(sizes)
    for prepared in request.graphs:
        ops, edges = prepared.graph.op_count, prepared.graph.edge_count
        for cluster in request.clusters:
            size = ProblemSize(prepared.grouping.group_count, cluster.device_count, ops, edges)
            require_memory("the training", PLACETO, as_in_placeto, size, "other graphs")


def training_identity(request: TrainRequest) -> str:
    """A digest of everything that the training depends on, engine and network included; a state fits only its own."""
    digest = hashlib.sha256(f"{VERSION} {POLICY_VERSION} {STATE_VERSION}".encode())
    for graphs in (request.graphs, request.held_out):
        for prepared in graphs:
            for part in (prepared.graph, prepared.costs, prepared.grouping):
                _add_part(digest, part)
        digest.update(b"end")
    clusters: list[Json] = [cluster_to_json(cluster) for cluster in request.clusters]
    digest.update(_encoded([clusters, request.seed, dict(request.settings)]))
    return digest.hexdigest()


def _content(prepared: PreparedGraph) -> bytes:
    """A digest of the ops, their edges and their costs."""
    digest = hashlib.sha256()
    for part in (dataclasses.replace(prepared.graph, name=""), prepared.costs):
        _add_part(digest, part)
    return digest.digest()


def _add_part(digest: "hashlib._Hash", part: ComputationGraph | Costs | Grouping) -> None:
    """Add every field of `part` to `digest`."""
    arrays, texts = fields_of(part)
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(_encoded(texts))


def _encoded(value: Json) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def learned_until(state: bytes, name: str, families: Sequence[str]) -> bytes | None:
    """The file of the policy as it was when `save_state` got `state`, for a training that will not continue.

    None if the policy had learned nothing yet. Raises SettingsError for a damaged state.
    """
    policy = learned_in(state)
    return _file_of(policy, name, families) if policy.card.has_learned else None


def _file_of(policy: TrainedPolicy, name: str, families: Sequence[str]) -> bytes:
    card = dataclasses.replace(policy.card, name=name, families=tuple(sorted(set(families))))
    return dataclasses.replace(policy, card=card).to_bytes()


def problems_of(graphs: Sequence[PreparedGraph], clusters: Sequence[Cluster]) -> list[TrainingProblem]:
    """The training problems of every graph on every cluster, in the order of the graphs."""
    return [_problem(prepared, cluster) for prepared in graphs for cluster in clusters]


def _problem(prepared: PreparedGraph, cluster: Cluster) -> TrainingProblem:
    name, cluster_name = (shortened(text, MOST_TEXT) for text in (prepared.graph.name, name_of_cluster(cluster)))
    try:
        problem = problem_of(prepared, cluster)
    except GraphError as error:
        where = f"{shortened(name)} on {shortened(cluster_name)}: {error.where}"
        raise error.at("clusters", where=where) from None
    total_us = float(np.nanmin(problem.op_time_us, axis=0).sum())
    if total_us < LEAST_US:  # a relative gap needs a step time above 0
        where = f"{shortened(name)} on {shortened(cluster_name)}"
        what = f"its ops take {total_us:g} µs" if total_us else "its ops take no time"
        raise GraphError(what, where=where, allowed="a graph with work to place", field="graphs")
    return TrainingProblem(name, cluster_name, problem)


def _refused(what: str, name: str, allowed: str) -> SettingsError:
    return SettingsError(what, where=name, allowed=allowed, field=name)
