"""Measures the RNN zero-shot: one network for each family and cluster, since its softmax has a fixed size."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.problem import PlacementProblem
from experiments.grid import KEYS, RESULT, KeptResults, Measurement, measure_cells
from experiments.pages import ReportLine
from experiments.policies.held_out import sets_of
from experiments.policies.problems import graphs_of, held_out_names, problem_of
from experiments.policies.scope import ExperimentScope, make_scope


class RnnCell(NamedTuple):
    """A held-out graph on a cluster, with the RNN of its family and cluster."""

    family: str
    graph: str
    cluster: str

    @property
    def child(self) -> str:
        """What one child trains and measures."""
        return f"the RNN on {self.family}, {self.cluster}"

    def key(self, scope: ExperimentScope) -> Measurement:
        """All that the step time depends on."""
        trained = {"rnn_seconds": float(scope.rnn_seconds), "train_graphs": scope.train_graphs}
        return {"of": "rnn", "graph": self.graph, "cluster": self.cluster, **trained}


def measure_rnns(
    kept: KeptResults,
    scope: ExperimentScope,
    settings: dict[str, Json],
    families: Iterable[str],
    report: ReportLine,
) -> None:
    """Train an RNN a family and cluster where `kept` lacks its step times on the held-out graphs."""
    cells = [
        RnnCell(family, graph, cluster)
        for family in families
        for cluster in scope.cluster_names
        for name in _sets(scope, family)
        for graph in held_out_names(scope, name)
    ]

    def beside(cell: RnnCell) -> dict[str, Json]:
        return {"settings": settings, "family": cell.family, "cluster": cell.cluster}

    keys = {cell: cell.key(scope) for cell in cells}
    function = "experiments.policies.rnn:in_child"
    measure_cells(kept, function, keys, scope.processes, report, beside=beside, together=lambda cell: cell.child)


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Train, and for the graph of each of the `keys` the step time in µs of the most probable placement."""
    from engine.placers.sequence.settings import RnnSettings
    from experiments.policies.rnn_of_a_family import RnnFamily  # torch takes seconds to load

    order: dict[str, Any] = dict(arguments)
    scope, family, cluster = make_scope(order["settings"]), str(order["family"]), str(order["cluster"])
    problems = [problem_of(graph, cluster).problem for graph in graphs_of(scope, family, "train")]
    rnn = RnnFamily(problems, RnnSettings(torch_device="cpu"), np.random.default_rng(0))
    began = time.process_time()
    rnn.train(lambda: time.process_time() - began >= scope.rnn_seconds)
    graphs = dict(graph for name in _sets(scope, family) for graph in graphs_of(scope, name, "test"))
    times_us: list[Json] = []
    for key in order[KEYS]:
        problem = problem_of((key["graph"], graphs[key["graph"]]), cluster).problem
        times_us.append(_step_time_us(problem, rnn.propose(problem, 0, np.random.default_rng(0))))
    return {}, {RESULT: times_us}


def _sets(scope: ExperimentScope, family: str) -> list[str]:
    """The family's sets of test graphs."""
    return [name for _, name in sets_of([family], scope.test_seed_numbers)]


def _step_time_us(problem: PlacementProblem, placement: NDArray[np.int32]) -> float | None:
    """The step time in µs; None if the placement does not fit."""
    evaluations = problem.simulator.evaluate(placement)
    return float(evaluations.step_time_us[0]) if problem.feasible(evaluations)[0] else None
