"""Placeto and the RNN on single graphs after their training on a family, and the RNN's training on it.

The RNN has as many seconds of the processor as Placeto took. Its trainings save no state on the way.
Source: Addanki et al., NeurIPS 2019, section 4, Figure 5.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.files.tensor_file import pack_tensors, unpack_tensors
from engine.files.whole_files import write_whole
from engine.placers.sequence.settings import RnnSettings
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem
from experiments.grid import RESULT, Measurement
from experiments.published.trainings import (
    WORK,
    TrainingOrder,
    counts_of,
    read_weights,
    resumed,
    rounded,
    shares_of,
    work_path,
)

LEAST_SECONDS = 0.1
"""of a training of the RNN: a kept count of seconds may have been rounded to 0"""

if TYPE_CHECKING:
    from experiments.policies.rnn_of_a_family import RnnFamily


def optimised_key(order: TrainingOrder, graph: int, episodes: int) -> Measurement:
    """The key of a training continued on one test graph, which is the child's arguments."""
    return {"of": "optimised", "training": dict(order.key()), "graph": graph, "episodes": episodes}


def optimise_in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Continue a training on one test graph: the greedy pass after it, and the best end of its episodes."""
    from experiments.published.family_training import FamilyTraining  # torch takes seconds to load

    values: dict[str, Any] = dict(arguments)
    order = TrainingOrder(**values["training"])
    problem, rng = order.problems("test")[values["graph"]][1], np.random.default_rng(order.seed)
    training = FamilyTraining([problem], order.placeto(), values["episodes"], rng, read_weights(order))
    kept: dict[str, Any] = {"best": None, "seconds": 0.0}
    for batch in resumed(training, arguments, kept):
        share = shares_of(problem, batch.best_end[None, :])[0]
        if share is not None and (kept["best"] is None or share < kept["best"]):
            kept["best"] = share
    greedy = shares_of(problem, training.placements(problem, np.random.default_rng(order.seed)))
    shares: dict[str, Json] = dict(zip(("greedy", "best"), rounded([*greedy, kept["best"]]), strict=True))
    return {}, {RESULT: {**shares, **counts_of(training, kept)}}


def rnn_key(order: TrainingOrder, seconds: float) -> Measurement:
    """The key of the RNN's training on the graphs of `order`."""
    return {"of": "rnn", "training": dict(order.key()), "seconds": seconds}


def rnn_in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Train the RNN on a family and place its test graphs by their most probable placements."""
    from engine.placeto.networks.weights import weights_of

    values: dict[str, Any] = dict(arguments)
    order = TrainingOrder(**values["training"])
    family = _rnn_family(order, values["seconds"])
    family.train(lambda: False)
    tested = [problem for _, problem in order.problems("test")]
    placed = [family.propose(problem, 0, np.random.default_rng(order.seed)) for problem in tested]
    WORK.mkdir(parents=True, exist_ok=True)
    write_whole(work_path(arguments, "weights"), pack_tensors(weights_of(family.network), {}))
    shares = [shares_of(problem, of)[0] for problem, of in zip(tested, placed, strict=True)]
    return {}, {RESULT: {"greedy": rounded(shares)}}


def rnn_optimised_key(order: TrainingOrder, seconds: float, graph: int, seconds_on_it: float) -> Measurement:
    """The key of the RNN's training continued on one test graph."""
    rnn = dict(rnn_key(order, seconds))
    return {"of": "rnn_optimised", "rnn": rnn, "graph": graph, "seconds": seconds_on_it}


def optimise_rnn_in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Continue the RNN's training on one test graph: its most probable placement after it, and the best it drew."""
    from engine.placeto.networks.weights import set_weights

    values: dict[str, Any] = dict(arguments)
    order = TrainingOrder(**values["rnn"]["training"])
    family = _rnn_family(order, values["seconds"])
    weights, _ = unpack_tensors(work_path(values["rnn"], "weights").read_bytes(), "the RNN's weights")
    set_weights(family.network, weights, "the RNN's weights")
    problem = _timed(order.problems("test")[values["graph"]][1], values["seconds"])
    family.train_on(problem, lambda: False)
    greedy = family.propose(problem, 0, np.random.default_rng(order.seed))
    shares = rounded([*shares_of(problem, greedy), *shares_of(problem, problem.ledger.answer()[None, :])])
    return {}, {RESULT: dict(zip(("greedy", "best"), shares, strict=True))}


def _rnn_family(order: TrainingOrder, seconds: float) -> "RnnFamily":
    from experiments.policies.rnn_of_a_family import RnnFamily

    problems = [_timed(problem, seconds) for _, problem in order.problems("train")]
    return RnnFamily(problems, RnnSettings(torch_device="cpu"), np.random.default_rng(order.seed))


def _timed(problem: PlacementProblem, seconds: float) -> PlacementProblem:
    """`problem` with so many seconds of the processor, from now on."""
    return problem.with_budget(Budget(MOST_EVALUATIONS, max(LEAST_SECONDS, seconds)), clock=time.process_time)
