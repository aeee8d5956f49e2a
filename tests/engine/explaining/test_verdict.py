"""The verdict on a placement: what pays, by how much, and what holds the step back."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from engine.clusters.cluster import Cluster, Contention
from engine.costs.costs import Costs, CostSource
from engine.explaining.model_error import ESTIMATED, GIVEN, MEASURED, error_of
from engine.explaining.trade import Trade, trade_sentence
from engine.explaining.verdict import Verdict, VerdictKind, verdict_of
from engine.graphs.graph import ComputationGraph
from engine.problem import Budget, PlacementProblem, RunContext
from tests.engine.placers.small_problems import one_group_an_op, small_cluster

REST_US = 5.7


def problem_of(
    times_us: list[float],
    edges: list[tuple[int, int]],
    source: CostSource = CostSource.ESTIMATED,
    *,
    cluster: Cluster | None = None,
    output_bytes: int = 7600,
    persistent_bytes: int = 0,
) -> PlacementProblem:
    """Ops with one output each, `output_bytes` large: at 7600 bytes a µs."""
    ops, ends = len(times_us), np.array(edges, dtype=np.int32).reshape(-1, 2)
    graph = ComputationGraph(
        name="made",
        op_names=tuple(f"op_{index}" for index in range(ops)),
        op_types=("MatMul",) * ops,
        edge_source=ends[:, 0],
        edge_target=ends[:, 1],
        edge_output=np.zeros(len(ends), np.int32),
        devices=("",) * ops,
        colocation=((),) * ops,
        back_edges=np.zeros((0, 2), np.int32),
    )
    costs = Costs(
        kinds=("*",),
        time_us=np.array([times_us], dtype=np.float64),
        output_offset=np.arange(ops + 1, dtype=np.int64),
        output_bytes=np.full(ops, output_bytes, dtype=np.int64),
        persistent_bytes=np.full(ops, persistent_bytes, dtype=np.int64),
        temporary_bytes=np.zeros(ops, np.int64),
        source=np.full(ops, source, np.uint8),
    )
    cluster = cluster or small_cluster(2)
    allowed = np.ones((ops, cluster.device_count), dtype=bool)
    return PlacementProblem(graph, costs, one_group_an_op(graph, costs), cluster, allowed, RunContext.of(Budget(10)))


def judged(problem: PlacementProblem, placement: list[int], **baselines: float | None) -> Verdict:
    return verdict_of(problem, np.array(placement, dtype=np.int32), baselines)


def test_two_equal_branches_pay_and_the_gain_has_its_interval() -> None:
    problem = problem_of([1000.0, 1000.0], [])
    verdict = judged(problem, [0, 1], single_device=2 * (1000 + REST_US), random=None, scotch=1500.0)
    assert verdict.kind is VerdictKind.SPLIT
    assert verdict.gain == pytest.approx(0.5)
    assert verdict.gain_low == pytest.approx(1 - 0.5 * ESTIMATED.greatest)
    assert verdict.gain_high == pytest.approx(1 - 0.5 * ESTIMATED.least)
    assert verdict.one_device_us == pytest.approx(2 * (1000 + REST_US))
    assert verdict.best_baseline == {"method": "scotch", "step_time_us": 1500.0}
    assert verdict.sentence == (
        "Split over 2 devices: 50 % faster than one device (43 to 58 %); "
        "GPU 0 is the bottleneck, busy 100 % of the step."
    )
    assert verdict.to_json()["estimate"] == "estimated"


def test_a_gain_within_the_error_does_not_pay_and_is_named() -> None:
    verdict = judged(problem_of([1000.0, 20.0], []), [0, 1])
    gain = 1 - (1000 + REST_US) / (1020 + 2 * REST_US)
    assert verdict.kind is VerdictKind.ONE_DEVICE
    assert verdict.gain == pytest.approx(gain)
    assert verdict.sentence == "Splitting does not pay here: 2.5 % is within the error of the estimate."


@pytest.mark.parametrize(
    ("source", "kind", "sentence"),
    [
        (CostSource.MEASURED, VerdictKind.ONE_DEVICE, "Splitting does not pay here: 2.5 % is within the error"),
        (CostSource.GIVEN, VerdictKind.SPLIT, "Split over 2 devices: 2.5 % faster than one device by the times that"),
    ],
)
def test_the_same_gain_by_where_the_times_come_from(source: CostSource, kind: VerdictKind, sentence: str) -> None:
    verdict = judged(problem_of([1000.0, 20.0], [], source), [0, 1])
    assert verdict.kind is kind
    assert verdict.sentence.startswith(sentence)
    if source is CostSource.GIVEN:
        assert verdict.gain_low == verdict.gain == verdict.gain_high


def test_one_device_and_a_slower_placement() -> None:
    problem = problem_of([1000.0, 1000.0], [(0, 1)], output_bytes=7_600_000)
    alone = judged(problem, [0, 0])
    assert alone.kind is VerdictKind.ONE_DEVICE and alone.gain == 0
    assert alone.sentence == "Splitting does not pay here: no placement was found that is faster than one device."
    apart = judged(problem, [0, 1])
    assert apart.kind is VerdictKind.ONE_DEVICE and apart.gain == pytest.approx(-0.4943, abs=1e-3)
    assert apart.sentence == "Splitting does not pay here: this placement is 49 % slower than one device."


def test_the_trade_adds_up_to_the_step() -> None:
    problem = problem_of([1000.0, 1000.0], [(0, 1)], output_bytes=76_000)
    verdict = judged(problem, [0, 1])
    trade = verdict.trade
    assert trade.computing_us == pytest.approx(2000)
    assert trade.transfers_us == pytest.approx(10)
    assert trade.resting_us == pytest.approx(REST_US)
    assert trade.waiting_us == 0
    alone = verdict.one_device_trade
    assert alone is not None
    assert (alone.computing_us, alone.transfers_us, alone.waiting_us) == (2000, 0, 0)
    assert alone.resting_us == pytest.approx(2 * REST_US)
    path = "Its ops wait for each other: the longest path takes > 99 % of the step on one device"
    assert verdict.trade_sentence == f"{path}, so faster links or more devices would not help."


def test_a_split_says_what_it_saves_and_what_it_pays_for_that() -> None:
    verdict = judged(problem_of([1000.0, 1000.0, 10.0], [(0, 2), (1, 2)], output_bytes=760_000), [0, 1, 0])
    alone, trade = verdict.one_device_trade, verdict.trade
    assert alone is not None and verdict.gain is not None
    assert alone.step_time_us == verdict.one_device_us == pytest.approx(2010 + 3 * REST_US)
    assert alone.step_time_us - trade.step_time_us == pytest.approx(verdict.gain * alone.step_time_us)
    assert (alone.waiting_us - trade.waiting_us, trade.transfers_us - alone.transfers_us) == pytest.approx((1000, 125))
    assert verdict.trade_sentence == (
        "It saves 902 µs of the 2.03 ms on one device: 1.00 ms less waiting for the device and 17.1 µs less launching "
        "ops, for 125 µs more transfers."
    )
    assert verdict.to_json()["trade_sentence"] == verdict.trade_sentence


def test_where_splitting_does_not_pay_the_page_says_what_would_change_that() -> None:
    launches = judged(problem_of([20.0, 20.0, 1.0], [(0, 2), (1, 2)], output_bytes=7_600_000), [0, 0, 0])
    assert launches.kind is VerdictKind.ONE_DEVICE
    whole_us = 41 + 3 * REST_US
    assert launches.one_device_us == pytest.approx(whole_us)
    share = round(100 * 3 * REST_US / whole_us)
    assert launches.trade_sentence.startswith(f"{share} % of the step on one device is launching ops: a larger batch")
    links = judged(problem_of([1000.0, 1000.0, 10.0], [(0, 2), (1, 2)], output_bytes=76_000_000), [0, 0, 0])
    assert links.trade_sentence.startswith(
        "The longest path takes 1.02 ms of the 2.03 ms on one device, so there is work"
    )
    assert "faster links" in links.trade_sentence
    alone = judged(problem_of([1000.0, 1000.0], [], output_bytes=1), [0, 1])
    assert alone.trade_sentence.startswith("It saves"), "where it pays, what it trades"


def test_small_parts_of_a_trade_are_not_named() -> None:
    alone = Trade(computing_us=900, transfers_us=0, waiting_us=100, resting_us=5)
    faster = Trade(computing_us=600, transfers_us=3, waiting_us=0, resting_us=80)
    assert trade_sentence(faster, alone) == (
        "It saves 322 µs of the 1.00 ms on one device: 300 µs less computing and 100 µs less waiting for the device, "
        "for 75.0 µs more launching ops."
    )
    assert trade_sentence(Trade(899, 0, 98, 3), alone) == "It saves 5.00 µs of the 1.00 ms on one device."


@pytest.mark.parametrize(
    ("contention", "name", "words"),
    [
        (Contention.BUS, "/device:GPU:0", "the outgoing bus of GPU 0"),
        (Contention.PAIR, "/device:GPU:0 /device:GPU:1", "the link from GPU 0 to GPU 1"),
    ],
)
def test_a_link_is_the_bottleneck(contention: Contention, name: str, words: str) -> None:
    cluster = small_cluster(2, contention=contention)
    verdict = judged(problem_of([10.0, 10.0], [(0, 1)], cluster=cluster, output_bytes=76_000_000), [0, 1])
    assert verdict.bottleneck is not None
    assert (verdict.bottleneck.kind, verdict.bottleneck.name, verdict.bottleneck.words) == ("link", name, words)
    assert verdict.bottleneck.share == pytest.approx(
        10_025 / 10_035
    )  # the transfer and its rest; the first op runs before


def test_transfers_that_wait_for_nobody_are_no_bottleneck() -> None:
    cluster = small_cluster(2, contention=Contention.NONE)
    verdict = judged(problem_of([10.0, 10.0], [(0, 1)], cluster=cluster, output_bytes=76_000_000), [0, 1])
    assert verdict.bottleneck is not None and verdict.bottleneck.kind == "device"


def test_a_graph_too_large_for_one_device_and_one_too_large_for_all() -> None:
    cluster = small_cluster(2, memory_bytes=900)
    large: dict[str, Any] = {"cluster": cluster, "output_bytes": 0, "persistent_bytes": 800}
    split = judged(problem_of([10.0, 10.0], [], **large), [0, 1])
    assert split.kind is VerdictKind.SPLIT
    assert (split.gain, split.gain_low, split.gain_high, split.one_device_us) == (None,) * 4
    assert split.sentence.startswith("Split over 2 devices: the graph fits on no single device; ")
    none = judged(problem_of([10.0, 10.0], [], **large), [0, 0])
    assert none.kind is VerdictKind.INFEASIBLE
    assert none.sentence == (
        "No placement was found that fits in memory: the closest needs 700 B more than the 900 B of GPU 0."
    )


@pytest.mark.parametrize(
    ("baseline_us", "sentence"),
    [
        (1500.0, "The baseline Scotch is 25 % faster than one device (15 to 37 %); this run found nothing as fast."),
        (1980.0, "Splitting does not pay here: 1.6 % is within the error of the estimate."),
        (2011.4, "Splitting does not pay here: no placement was found that is faster than one device."),
        (None, "Splitting does not pay here: no placement was found that is faster than one device."),
    ],
)
def test_a_baseline_that_is_faster_than_the_answer_counts(baseline_us: float | None, sentence: str) -> None:
    verdict = judged(problem_of([1000.0, 1000.0], []), [0, 0], single_device=2 * (1000 + REST_US), scotch=baseline_us)
    assert (verdict.kind, verdict.gain) == (VerdictKind.ONE_DEVICE, 0.0)
    assert verdict.sentence == sentence


def test_the_wrong_single_device_says_nothing_about_splitting() -> None:
    made = problem_of([10.0, 10.0], [(0, 1)], cluster=small_cluster(1, cpu=True))
    times_us = np.array([[10.0, 10.0], [40.0, 40.0]])
    costs = dataclasses.replace(made.costs, kinds=("GPU", "CPU"), time_us=times_us)
    problem = PlacementProblem(made.graph, costs, made.grouping, made.cluster, made.allowed, RunContext.of(Budget(10)))
    ratio = (40 + REST_US) / (10 + REST_US)
    verdict = judged(problem, [1, 1])
    assert verdict.kind is VerdictKind.ONE_DEVICE and verdict.gain == pytest.approx(1 - ratio)
    assert verdict.sentence == f"All ops are on one device, {100 * (ratio - 1):.0f} % slower than on the best one."


def test_a_cluster_of_one_device() -> None:
    verdict = judged(problem_of([10.0], [], cluster=small_cluster(1)), [0])
    assert verdict.sentence == "The cluster has one device: there is nothing to split over."


def test_the_least_sure_source_counts_from_a_tenth_of_the_time() -> None:
    costs = problem_of([90.0, 10.0, 1.0], []).costs
    times = costs.time_us[0]

    def kind(*sources: CostSource) -> str:
        return error_of(dataclasses.replace(costs, source=np.array(sources, np.uint8)), times).kind

    assert kind(CostSource.GIVEN, CostSource.GIVEN, CostSource.ESTIMATED) == GIVEN.kind
    assert kind(CostSource.GIVEN, CostSource.MEASURED, CostSource.UNKNOWN) == GIVEN.kind
    assert kind(CostSource.MEASURED, CostSource.ESTIMATED, CostSource.MEASURED) == MEASURED.kind
    assert kind(CostSource.MEASURED, CostSource.MEASURED, CostSource.BOUNDED) == MEASURED.kind
    assert kind(CostSource.MEASURED, CostSource.ESTIMATED, CostSource.ESTIMATED) == ESTIMATED.kind
