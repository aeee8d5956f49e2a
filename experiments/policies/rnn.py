"""Measures the RNN zero-shot: one network for each family and cluster, since its softmax has a fixed size."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import BUDGETED_LIMITS, ReportProgress, Results, run_in_child
from engine.events import Json
from engine.files.whole_files import write_whole
from engine.problem import PlacementProblem
from experiments.folders import below_root
from experiments.policies.held_out import sets_of
from experiments.policies.problems import graphs_of, held_out_names, problem_of
from experiments.policies.scope import ExperimentScope, make_scope


def rnn_path(scope: ExperimentScope, graph: str, cluster: str) -> Path:
    """The file of the row."""
    return below_root(scope.work) / f"rnn-{graph}-{cluster}-{scope.key('rnn_seconds', 'train_graphs')}.json"


def measure_rnn(scope: ExperimentScope, settings: dict[str, Json], family: str, cluster: str) -> None:
    """Train on the family's graphs on `cluster` and place the held-out ones, in a child, unless the rows exist."""
    graphs = [graph for name in _sets(scope, family) for graph in held_out_names(scope, name)]
    if all(rnn_path(scope, graph, cluster).exists() for graph in graphs):
        return
    order: dict[str, Json] = {"settings": settings, "family": family, "cluster": cluster}
    run_in_child("experiments.policies.rnn:in_child", order, BUDGETED_LIMITS, task=f"the RNN on {family}, {cluster}")


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Train, place, and write a row for each held-out graph: the step time of the most probable placement."""
    from engine.placers.sequence.settings import RnnSettings
    from experiments.policies.rnn_of_a_family import RnnFamily  # torch takes seconds to load

    order: dict[str, Any] = dict(arguments)
    scope, family, cluster = make_scope(order["settings"]), str(order["family"]), str(order["cluster"])
    problems = [problem_of(graph, cluster).problem for graph in graphs_of(scope, family, "train")]
    rnn = RnnFamily(problems, RnnSettings(torch_device="cpu"), np.random.default_rng(0))
    began = time.process_time()
    rnn.train(lambda: time.process_time() - began >= scope.rnn_seconds)
    for graph in [graph for name in _sets(scope, family) for graph in graphs_of(scope, name, "test")]:
        problem = problem_of(graph, cluster).problem
        placement = rnn.propose(problem, 0, np.random.default_rng(0))
        write_whole(rnn_path(scope, graph[0], cluster), json.dumps(_step_time_us(problem, placement)).encode())
    return {}, {}


def _sets(scope: ExperimentScope, family: str) -> list[str]:
    """The family's sets of test graphs."""
    return [name for _, name in sets_of([family], scope.test_seed_numbers)]


def _step_time_us(problem: PlacementProblem, placement: NDArray[np.int32]) -> float | None:
    """The step time in µs; None if the placement does not fit."""
    evaluations = problem.simulator.evaluate(placement)
    return float(evaluations.step_time_us[0]) if problem.feasible(evaluations)[0] else None


def read_rnn(scope: ExperimentScope, graph: str, cluster: str) -> float | None:
    """A row from its file."""
    found: float | None = json.loads(rnn_path(scope, graph, cluster).read_bytes())
    return found
