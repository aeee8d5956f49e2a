"""What a report says is proven: the step by enumeration, the period or the whole batch by a bound; and what is not."""

from typing import Any

import numpy as np
import pytest

from engine.events import Emitted
from engine.explaining.proof import CLOSE, ProvenOf, proof_of
from engine.placers.registry import PLACERS
from engine.prepared import PreparedGraph
from engine.problem import Budget
from engine.run.request import RunRequest
from engine.run.run import Run
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.placers.small_problems import one_group_an_op, small_cluster, small_graph, small_problem
from tests.engine.simulator.cases import Op, graph_of


def report_of(method: str, *, ops: int = 6, devices: int = 2, evaluations: int = 400) -> dict[str, Any]:
    graph, costs = small_graph(np.random.default_rng(3), ops)
    prepared = PreparedGraph(graph, costs, one_group_an_op(graph, costs))
    request = RunRequest(small_cluster(devices), method, Budget(evaluations), 0, robustness=False)
    return dict(Run(prepared, request, _ignored, lambda: False).execute(None))


def stream_report(devices: int, micro_batches: int = 4) -> dict[str, Any]:
    """Four equal ops in a row, of which each device takes as many as the others."""
    graph, costs = graph_of([Op(f"f{i}", [f"f{i - 1}"] * (i > 0), 100.0, (8,)) for i in range(4)])
    prepared = PreparedGraph(graph, costs, one_group_an_op(graph, costs))
    stream = Stream(micro_batches, Pipeline.INFERENCE)
    request = RunRequest(small_cluster(devices), "pipeline_dp", Budget(400), 0, stream=stream)
    return dict(Run(prepared, request, _ignored, lambda: False).execute(None))


def _ignored(_item: Emitted) -> None:
    pass


def test_what_was_enumerated_is_proven() -> None:
    report = report_of("exhaustive")
    assert report["proven"]
    assert report["proof"]["of"] == "step"
    assert report["proof"]["bound_us"] == pytest.approx(report["step_time_us"], rel=CLOSE)
    assert report["proof"]["sentence"].startswith("Proven optimal: no placement")


def test_what_no_bound_reaches_is_not_proven() -> None:
    assert PLACERS["random"].deterministic is False
    report = report_of("random", ops=12, devices=3, evaluations=20)
    assert not report.keys() & {"proven", "proof"}
    assert report["step_time_us"] > report["lower_bound_us"] * (1 + CLOSE)


def test_a_period_may_be_proven_where_the_batch_is_not() -> None:
    """Two devices share the work evenly, so no period is shorter; fill and drain are not bounded."""
    report = stream_report(2)
    proof = report["proof"]
    assert report["proven"] and proof["of"] == "period"
    assert report["period_us"] <= proof["bound_us"] * (1 + CLOSE)
    assert report["batch_time_us"] > 4 * proof["bound_us"] * (1 + CLOSE)
    assert "The batch is not: fill, drain and the optimizer make it " in proof["sentence"]


def test_a_batch_of_as_many_least_periods_as_micro_batches_is_proven() -> None:
    report = stream_report(1)
    assert report["proof"]["of"] == "batch"
    assert report["proof"]["bound_us"] == pytest.approx(report["batch_time_us"], rel=CLOSE)


def test_a_proof_says_whose_bound_it_is_and_how_near() -> None:
    problem = small_problem(0)
    assert proof_of(problem, 0.0, 100.0) is None
    problem.ledger.prove(99.95)
    of_run = proof_of(problem, 50.0, 100.0)
    assert of_run is not None and of_run.of is ProvenOf.STEP
    assert of_run.sentence == (
        "Proven optimal within 0.05 %: no placement that this run may make has a shorter step than 99.95 µs."
    )
    of_any = proof_of(problem, 100.0, 100.0)
    assert of_any is not None
    assert of_any.sentence == "Proven optimal: no placement has a shorter step than 100.0 µs."
