"""Trainings of the published networks: each in a child, resumable, its checkpoints' greedy passes kept.

A training's state and last weights lie in the work folder WORK, under the digest of all that they depend on.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.files.whole_files import write_whole
from engine.placeto.kept_policy import KeptPolicy, Weights
from engine.placeto.settings import PlacetoSettings, make_settings
from engine.problem import MOST_EVALUATIONS, Clock, PlacementProblem
from engine.zoo.families.split import Split
from experiments.best_found import best_one_device_us
from experiments.folders import CACHE
from experiments.grid import RESULT, KeptResults, MadeFiles, Measurement, measure_cells
from experiments.keeping.code_state import code_state
from experiments.pages import ReportLine
from experiments.policies import problems as policy_problems
from experiments.policies.scope import digest, make_scope
from experiments.problems import problem_on, regrouped
from experiments.published.scope import PublishedScope

if TYPE_CHECKING:
    from experiments.published.family_training import FamilyBatch, FamilyTraining

TRAIN = "experiments.published.trainings:train_in_child"
WORK = CACHE / "published"
STATE_SECONDS = 60.0
"""of the processor, between two saved states"""
PUBLISHED: dict[str, Json] = {
    "preset": "paper",
    "start": "fixed_random",
    "reward_unit": "reference",
    "entropy_weight": 0.02,
    "torch_device": "cpu",
}
"""the authors' default start; rewards as shares of one device's step, so that graphs of different speed count alike.
The published entropy weight is 1; with rewards of hundredths it keeps the policy random until its last tenth"""
NETWORK, PARTITIONER, AGGREGATOR = "published", "simple_partitioner", "simple_aggregator"


@dataclass(frozen=True, slots=True)
class TrainingOrder:
    """A training on a family: all that its result depends on, besides the code."""

    family: str
    settings: Mapping[str, Json]
    """of Placeto, beside PUBLISHED"""
    seed: int
    episodes: int
    checkpoints: int
    train_graphs: int
    graphs: int
    groups: int
    cluster: str

    def key(self) -> Measurement:
        """The key of its kept result, which is the child's arguments."""
        return {name: getattr(self, name) for name in self.__slots__}

    def placeto(self) -> PlacetoSettings:
        """Placeto's settings."""
        return make_settings({**PUBLISHED, **self.settings})

    @property
    def weights_path(self) -> Path:
        """The file of the last weights."""
        return work_path(self.key(), "weights")

    def problems(self, split: Split, clock: Clock | None = None) -> list[tuple[str, PlacementProblem]]:
        """(name, problem) of the graphs of a split."""
        scope = make_scope({"train_graphs": self.train_graphs, "graphs": self.graphs})
        found = []
        for name, prepared in policy_problems.graphs_of(scope, self.family, split):
            grouped = regrouped(prepared, self.groups) if self.groups else prepared
            found.append((name, problem_on(grouped, self.cluster, MOST_EVALUATIONS, clock)))
        return found


def order_of(scope: PublishedScope, family: str, seed: int, settings: Mapping[str, Json]) -> TrainingOrder:
    """The training on `family` that `scope` asks for."""
    return TrainingOrder(
        family=family,
        settings=dict(settings),
        seed=seed,
        episodes=scope.episodes,
        checkpoints=scope.checkpoints,
        train_graphs=scope.train_graphs,
        graphs=scope.graphs,
        groups=scope.groups,
        cluster=scope.cluster,
    )


def work_path(key: Measurement, suffix: str) -> Path:
    """The file of a measurement in the work folder, for the present state of the code."""
    return WORK / f"{digest([code_state(), dict(key)])}.{suffix}"


def shares_of(problem: PlacementProblem, placements: NDArray[np.int32]) -> list[float | None]:
    """The step times of `placements` [batch, groups] as shares of the best single device's; None for one too large."""
    one_device_us = best_one_device_us(problem)
    evaluations = problem.simulator.evaluate(placements)
    pairs = zip(evaluations.step_time_us, problem.feasible(evaluations), strict=True)
    return [float(time_us / one_device_us) if feasible else None for time_us, feasible in pairs]


def train_missing(kept: KeptResults, orders: Mapping[str, TrainingOrder], processes: int, report: ReportLine) -> None:
    """Train what `kept` lacks; `orders` by the words for a terminal."""
    keys = {shown: order.key() for shown, order in orders.items()}
    measure_cells(kept, TRAIN, keys, processes, report)


def require_weights(function: str, keys: Mapping[str, Measurement], processes: int, report: ReportLine) -> None:
    """Let `function` train again where the weights that it wrote are not there; `keys` by the words for a terminal."""
    files = MadeFiles(lambda key: work_path(key, "weights"))
    if lost := sum(key not in files for key in keys.values()):
        report(f"weights of {lost} kept results are lost: training again")
    measure_cells(files, function, keys, processes, report)


def read_weights(order: TrainingOrder) -> Weights:
    """The last weights of a training that was made."""
    return KeptPolicy.from_bytes(order.weights_path.read_bytes()).weights


def resumed(training: "FamilyTraining", key: Measurement, kept: dict[str, Any]) -> "Iterator[FamilyBatch]":
    """The batches of `training` until it is done, from its saved state if there is one.

    `kept`, with the processor `seconds` and whatever else the caller changes after each batch, is saved and restored
    with the state.
    """
    WORK.mkdir(parents=True, exist_ok=True)
    path = work_path(key, "state")
    if path.exists():
        texts = training.restore(path.read_bytes())
        kept.update({name: texts[name] for name in kept})
    earlier, began = kept["seconds"], time.process_time()
    saved = began
    while not training.is_done:
        batch = training.run_batch()
        kept["seconds"] = earlier + time.process_time() - began
        yield batch
        if time.process_time() - saved >= STATE_SECONDS or training.is_done:
            saved = time.process_time()
            write_whole(path, training.state(kept))


def counts_of(training: "FamilyTraining", kept: Mapping[str, Any]) -> dict[str, Json]:
    """What a training has taken so far."""
    counts = {"episodes": training.episodes, "updates": training.updates, "evaluations": training.evaluations}
    return {**counts, "seconds": round(kept["seconds"], 1)}


def train_in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """One training on a family; its result has a row for each checkpoint."""
    from experiments.published.family_training import FamilyTraining  # torch takes seconds to load

    values: dict[str, Any] = dict(arguments)
    order = TrainingOrder(**values)
    tested, trained = order.problems("test"), [problem for _, problem in order.problems("train")]
    training = FamilyTraining(trained, order.placeto(), order.episodes, np.random.default_rng(order.seed))
    kept: dict[str, Any] = {"rows": [], "seconds": 0.0}
    for _ in resumed(training, order.key(), kept):
        due = (len(kept["rows"]) + 1) * order.episodes / order.checkpoints
        if training.is_done or training.episodes >= due:
            passes = [training.placements(problem, np.random.default_rng(order.seed)) for _, problem in tested]
            greedy = [shares_of(problem, of)[0] for (_, problem), of in zip(tested, passes, strict=True)]
            kept["rows"].append({**counts_of(training, kept), "greedy": rounded(greedy)})
    write_whole(order.weights_path, KeptPolicy(order.placeto(), training.weights(), None).to_bytes())
    return {}, {RESULT: kept["rows"]}


def rounded(shares: list[float | None]) -> list[Json]:
    """`shares` with four digits, as they are kept."""
    return [None if share is None else round(share, 4) for share in shares]
