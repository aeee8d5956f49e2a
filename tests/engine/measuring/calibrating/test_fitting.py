"""Figures of a calibration: those of a machine whose trials take the times of a closed form come out again."""

import json

import numpy as np
import pytest

from engine.clusters.cluster import Contention
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.parsing import parse_cluster
from engine.clusters.shares import Efficiency
from engine.measuring.calibrating import fitting, trials
from engine.measuring.calibrating.calibration import KIND, calibrated_cluster, figures_of
from engine.measuring.calibrating.fitting import Times, TrialWork

STEP_US, OP_US, LATENCY_US, BYTES_PER_US = 200.0, 0.5, 150.0, 1000.0
OPERATIONS_PER_US, MOVED_PER_US, EFFICIENCY = 100_000.0, 10_000.0, 0.5
COMPUTING_US = 20_000.0
NAMES = ["/device:CPU:0", "/device:CPU:1"]
FULL = {"MatMul_1024x1024x1024", "Relu_4194304"}
"""ops that reach peak and bandwidth; the others reach half"""
WORK = {
    op.name: TrialWork(0.0, 1e8)
    if op.name == "Relu_4194304"
    else TrialWork(1e9, 0.0)
    if op.name == "MatMul_1024x1024x1024"
    else TrialWork(1e6, 1e5)
    for op in trials.OPS
}


def machine(*, waiting: float = 1.0, overlap: float = 1.0, rounds: int = 3) -> Times:
    """The times of a machine: transfers sent at once wait for each other to a share, and overlap with computing."""
    transfer = {size: LATENCY_US + size / BYTES_PER_US for size in trials.LINK_BYTES}
    times = {trials.overhead(ops): STEP_US + OP_US * ops for ops in (trials.FEW_OPS, trials.MANY_OPS)}
    for size, transfer_us in transfer.items():
        times[trials.there_and_back(size, local=True)] = STEP_US + trials.HOPS * OP_US
        times[trials.there_and_back(size, local=False)] = STEP_US + trials.HOPS * (OP_US + transfer_us)
    large, sent = transfer[trials.LARGE_BYTES], trials.OVERLAPPED_TRANSFERS
    for size in (trials.SMALL_BYTES, trials.LARGE_BYTES):
        times[trials.sent_at_once(size, 1)] = STEP_US + transfer[size]
        further = waiting * transfer[size] * (trials.AT_ONCE - 1)
        times[trials.sent_at_once(size, trials.AT_ONCE)] = STEP_US + transfer[size] + further
    times[trials.TRANSFERS_ALONE] = one_way = large * sent
    times[trials.sent_at_once(trials.LARGE_BYTES, sent, back=True)] = one_way
    times[trials.sent_at_once(trials.LARGE_BYTES, sent, both=True)] = one_way
    for at in ("sender", "receiver"):
        times[trials.computing(at, alone=True)] = COMPUTING_US
        together = COMPUTING_US + one_way - overlap * min(COMPUTING_US, one_way)
        times[trials.computing(at, alone=False)] = together
    for op in trials.OPS:
        own = WORK[op.name].operations / OPERATIONS_PER_US + WORK[op.name].moved_bytes / MOVED_PER_US
        for copies in (1, trials.COPIES):
            times[trials.op_trial(op.name, copies)] = STEP_US + copies * own / (1.0 if op.name in FULL else EFFICIENCY)
    return {name: np.full(rounds, us) for name, us in times.items()}


def test_overhead_link_and_roofline_come_out_again() -> None:
    figures = figures_of(machine(), WORK)
    expected = {
        "noise": 0.0,
        "op_rest_us": OP_US,
        "step_us": STEP_US,
        "latency_us": LATENCY_US,
        "bandwidth_bytes_per_us": BYTES_PER_US,
        "transfer_us.4096": LATENCY_US + 4.096,
        "further_small_transfer_us": LATENCY_US + 0.004,
        "waiting_share": 1.0,
        "opposite_share": 0.0,
        "overlap_share.sender": 1.0,
        "overlap_share.receiver": 1.0,
        "peak_gflops": OPERATIONS_PER_US / 1e3,
        "memory_bandwidth_bytes_per_us": MOVED_PER_US,
        "efficiency": EFFICIENCY ** (1 - len(FULL) / len(trials.OPS)),
        "efficiency.Mean_8x56x56x64": EFFICIENCY,
    }
    assert {name: figures[name].value for name in expected} == pytest.approx(expected, abs=1e-9)
    assert all(each.low == pytest.approx(each.value) == pytest.approx(each.high) for each in figures.values())


def test_op_types_of_the_cluster_have_the_efficiency_that_they_reached() -> None:
    cluster = calibrated_cluster(machine(), WORK, NAMES, 2**30, "a", "2026-01-31")
    kind = cluster.devices[0].figures
    assert kind is not None
    assert kind.efficiency_by_op_type["Mean"] == pytest.approx(Efficiency.of_both(EFFICIENCY))
    assert kind.efficiency_by_op_type["Relu"].peak == pytest.approx(EFFICIENCY**0.5), "one size reaches half, one all"
    assert set(kind.efficiency_by_op_type) == {op.type for op in trials.OPS}


def test_an_op_whose_time_the_scatter_hides_leaves_a_cluster_that_can_be_read() -> None:
    times = {**machine()}
    times[trials.op_trial("Mean_8x56x56x64", trials.COPIES)] = np.zeros(3)  # faster than a single one
    cluster = calibrated_cluster(times, WORK, NAMES, 2**30, "a", "2026-01-31")
    kind = parse_cluster(json.dumps(cluster_to_json(cluster))).devices[0].figures
    assert kind is not None and kind.efficiency_by_op_type["Mean"] == (100, 100)


def test_an_op_that_the_engine_counts_no_work_for_says_nothing_of_the_roofline() -> None:
    without = WORK | {"Slice_8x56x56x64": TrialWork(0.0, 0.0)}
    cluster = calibrated_cluster(machine(), without, NAMES, 2**30, "a", "2026-01-31")
    assert cluster.devices[0].figures is not None
    assert "Slice" not in cluster.devices[0].figures.efficiency_by_op_type
    assert figures_of(machine(), without)["efficiency"].value == pytest.approx(EFFICIENCY, rel=0.05)


@pytest.mark.parametrize(("waiting", "contention"), [(1.0, Contention.PAIR), (0.1, Contention.NONE)])
def test_transfers_wait_for_each_other_in_the_model_if_they_did_here(waiting: float, contention: Contention) -> None:
    cluster = calibrated_cluster(
        machine(waiting=waiting), WORK, ["/device:CPU:0", "/device:CPU:1"], 2**30, "a", "2026-01-31"
    )
    assert cluster.contention == contention and cluster.link_rest_us == 0


def test_a_sender_that_cannot_compute_meanwhile_is_one_in_the_model() -> None:
    times = machine(overlap=0.25)
    cluster = calibrated_cluster(times, WORK, ["/device:CPU:0", "/device:CPU:1"], 2**30, "a", "2026-01-31")
    assert cluster.contention == Contention.SENDER
    assert cluster.link_rest_us == figures_of(times, WORK)["further_small_transfer_us"].value


def test_what_does_not_overlap_is_seen() -> None:
    figures = figures_of(machine(overlap=0.25), WORK)
    assert figures["overlap_share.receiver"].value == pytest.approx(0.25)


def test_a_figure_is_the_median_of_its_rounds_and_one_odd_round_decides_nothing() -> None:
    usual, odd = machine(rounds=5), machine(rounds=5)
    for size in trials.LINK_BYTES:
        odd[trials.there_and_back(size, local=False)][3] *= 4
    odd[trials.op_trial("MatMul_128x128x128", trials.COPIES)][1] = 0.0  # faster than a single one: no time at all
    figures, expected = figures_of(odd, WORK), figures_of(usual, WORK)
    for name in ("latency_us", "bandwidth_bytes_per_us", "peak_gflops", "efficiency"):
        assert figures[name].value == pytest.approx(expected[name].value)
    assert figures["latency_us"].high > 2 * LATENCY_US


def test_a_calibrated_cluster_is_written_and_read() -> None:
    cluster = calibrated_cluster(machine(), WORK, NAMES, 2**30, "2 × a processor", "2026-01-31")
    written = cluster_to_json(cluster)
    again = parse_cluster(json.dumps(written))
    assert again.calibration == cluster.calibration and cluster_to_json(again) == written
    assert [device.kind for device in again.devices] == [KIND, KIND]
    assert again.bandwidth_bytes_per_us[0, 1] == pytest.approx(BYTES_PER_US)
    assert again.op_rest_us == pytest.approx(OP_US) and again.link_rest_us == 0.0


def test_a_busy_machine_shows() -> None:
    times = machine()
    times[trials.computing("sender", alone=True)][1] *= 1.5
    assert fitting.noise(times).max() == pytest.approx(0.5)
