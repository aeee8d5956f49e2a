"""Training steps correct a calibrated cluster: on a machine that is made up, its figures come out again."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine import api
from engine.clusters.calibration import ERROR_BAND, Calibration
from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.clusters.cluster_json import cluster_of_json, cluster_to_json
from engine.clusters.device_kinds import DeviceKind
from engine.measuring.calibrating.checking import check_placements, with_steps
from engine.measuring.calibrating.training_steps import (
    StepOnOneDevice,
    StepsOfGraph,
    TimeOfType,
    corrected,
    link_slowdown,
    times_of_types,
    usual_slowdown,
    with_slower_links,
)
from engine.measuring.step_record import Sent, Spans, StepRecord
from engine.simulator import Simulator

SLOWER = {"Conv2D": 2.0, "Conv2DBackpropFilter": 5.0, "Relu": 0.5}
OF_OTHERS = 1.5
NEVER_SEEN = "Rare"
NOTHING = np.empty(0)


def machine_of(efficiency: float = 0.8, of_types: dict[str, float] | None = None) -> Cluster:
    kind = DeviceKind(
        name="this-CPU",
        device_class="CPU",
        memory_bytes=2**33,
        peak_gflops=0.05,
        memory_bandwidth_bytes_per_us=10.0,
        source="made up",
        efficiency=efficiency,
        efficiency_by_op_type=of_types if of_types is not None else {"Conv2D": 0.9, NEVER_SEEN: 0.3},
        op_rest_us=0.1,
    )
    return Cluster(
        devices=tuple(Device(f"/device:CPU:{index}", "this-CPU", 2**33, kind) for index in range(2)),
        contention=Contention.SENDER,
        bandwidth_bytes_per_us=np.full((2, 2), 5.0),
        latency_us=np.full((2, 2), 200.0),
        link_rest_us=50.0,
        op_rest_us=0.1,
        memory_model=MemoryModel.FULL,
        calibration=Calibration("made up", "2026-01-31", {}),
    )


@pytest.fixture
def prepared(tiny_cnn_path: Path) -> api.PreparedGraph:
    return api.prepare(tiny_cnn_path, ".pb", lambda *_: None, api.Limits(), 16)


def true_machine() -> Cluster:
    """What the trials should have said, had they known it."""
    of_types = {"Conv2D": 0.9 / SLOWER["Conv2D"], NEVER_SEEN: 0.3 / OF_OTHERS}
    of_types |= {op_type: 0.8 / slower for op_type, slower in SLOWER.items() if op_type != "Conv2D"}
    return machine_of(0.8 / OF_OTHERS, of_types)


def step_on_one(prepared: api.PreparedGraph, machine: Cluster, tracing: float = 1.0) -> StepOnOneDevice:
    """A step as `machine` runs it; its trace takes `tracing` times as long."""
    time_us = np.nan_to_num(prepared.costs.time_on_devices(machine.devices[:1])[0]) * tracing
    end_us = np.cumsum(time_us)
    ops = np.arange(len(time_us))
    added = np.array([len(ops)])  # TensorFlow's own op, which no graph has
    ran = Spans(
        np.append(ops, added),
        np.zeros(len(ops) + 1, np.int64),
        np.append(end_us - time_us, 0.0),
        np.append(end_us, 9e9),
    )
    none = np.empty(0, np.int64)
    sent = Sent(none, none, NOTHING, NOTHING, none, none)
    record = StepRecord(float(end_us[-1]), ran, sent, np.zeros(len(ops) + 1), ("_SOURCE",))
    return StepOnOneDevice(
        prepared, record, simulated_us(prepared, machine, np.zeros(prepared.grouping.group_count, np.int32))
    )


def simulated_us(prepared: api.PreparedGraph, machine: Cluster, placement: NDArray[np.int32]) -> float:
    simulator = Simulator(prepared.graph, prepared.costs, machine, prepared.grouping.group_of_op)
    return float(simulator.evaluate(placement[None]).step_time_us[0])


def measured_on(prepared: api.PreparedGraph, machine: Cluster, tracing: float = 1.0) -> StepsOfGraph:
    placements = check_placements(prepared.grouping.group_count, 2)
    step_time_us = [simulated_us(prepared, machine, placement) for placement in placements]
    return StepsOfGraph(step_on_one(prepared, machine, tracing), placements, np.array(step_time_us))


def test_what_steps_show_is_found_again(prepared: api.PreparedGraph) -> None:
    graph = measured_on(prepared, true_machine())
    better = corrected(machine_of(), [graph]).devices[0].own
    truth = true_machine().devices[0].own
    assert better is not None and truth is not None
    times = times_of_types([graph.on_one_device], machine_of())
    assert set(SLOWER) < set(times) and NEVER_SEEN not in times
    for op_type, time in times.items():
        assert time.slowdown == pytest.approx(SLOWER.get(op_type, OF_OTHERS))
        expected = truth.efficiency_by_op_type.get(op_type, truth.efficiency)
        assert better.efficiency_by_op_type[op_type] == pytest.approx(expected, rel=1e-3)
    usual = usual_slowdown(list(times.values()))
    assert better.efficiency_by_op_type[NEVER_SEEN] == pytest.approx(0.3 / usual, rel=1e-3)
    assert better.efficiency == pytest.approx(0.8 / usual, rel=1e-3)


def test_a_trace_that_slows_the_step_does_not_slow_the_figures(prepared: api.PreparedGraph) -> None:
    graph = measured_on(prepared, true_machine(), tracing=1.3)
    assert graph.ratios(corrected(machine_of(), [graph])) == pytest.approx(np.ones(len(graph.placements)), rel=5e-3)


@pytest.mark.parametrize("factor", [0.5, 1.6, 4.0])
def test_slower_links_are_found_again(prepared: api.PreparedGraph, factor: float) -> None:
    graph = measured_on(prepared, with_slower_links(true_machine(), factor))
    assert link_slowdown(true_machine(), [graph]) == pytest.approx(factor, rel=0.01)
    better = corrected(machine_of(), [graph])
    assert better.latency_us[0, 1] == pytest.approx(200.0 * factor, rel=0.02)
    assert better.bandwidth_bytes_per_us[0, 1] == pytest.approx(5.0 / factor, rel=0.02)
    assert better.link_rest_us == pytest.approx(50.0 * factor, rel=0.02)


def test_without_steps_nothing_changes() -> None:
    machine = machine_of()
    assert corrected(machine, []) is machine


def test_the_usual_slowdown_is_that_of_the_middle_of_the_time() -> None:
    short_but_slow, usual, fast = TimeOfType(300.0, 10.0), TimeOfType(500.0, 250.0), TimeOfType(300.0, 300.0)
    assert usual_slowdown([short_but_slow, usual, fast]) == 2.0
    assert usual_slowdown([]) == 1.0


def test_an_efficiency_stays_within_what_a_cluster_may_say(prepared: api.PreparedGraph) -> None:
    better = corrected(machine_of(0.01, {}), [measured_on(prepared, machine_of(1.0, {}))])
    assert better.devices[0].own is not None and better.devices[0].own.efficiency == 1.0
    read = cluster_of_json(cluster_to_json(better)).devices[0].own
    assert read is not None and read.efficiency_by_op_type == better.devices[0].own.efficiency_by_op_type


def test_the_band_is_that_of_graphs_that_the_figures_have_not_seen(prepared: api.PreparedGraph) -> None:
    """Two machines in one: each graph is simulated with the figures of the other, the cluster has those of both."""
    measured = [measured_on(prepared, machine) for machine in (machine_of(0.4, {}), machine_of(0.2, {}))]
    better = with_steps(machine_of(0.8, {}), measured, ["one", "other"])
    assert better.calibration is not None
    band = better.calibration.error_band
    assert band is not None and band.low == pytest.approx(0.5, rel=0.1) and band.high == pytest.approx(2.0, rel=0.1)
    slowdown = better.calibration.figures["op_slowdown_in_steps"]
    assert (slowdown.low, slowdown.high) == pytest.approx((2.0, 4.0), rel=0.01)
    both = np.concatenate([graph.ratios(better) for graph in measured])
    assert both.min() > 0.65 and both.max() < 1.55, "with both seen, the figures are in between"
    alone = with_steps(machine_of(0.8, {}), measured[:1], ["one"]).calibration
    assert alone is not None and alone.figures[ERROR_BAND].value == pytest.approx(2.0, rel=0.1), "of trials alone"


def test_links_without_latency_are_corrected_too(prepared: api.PreparedGraph) -> None:
    """On a busy machine the fitted line may begin at zero."""
    machine = dataclasses.replace(machine_of(), latency_us=np.zeros((2, 2)))
    graph = measured_on(prepared, with_slower_links(machine, 2.0))
    calibration = with_steps(machine, [graph], ["one"]).calibration
    assert calibration is not None
    assert calibration.figures["link_slowdown_in_steps"].value == pytest.approx(2.0, rel=0.02)
