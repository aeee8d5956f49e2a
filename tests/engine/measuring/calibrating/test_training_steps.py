"""Training steps correct a calibrated cluster: on a machine that is made up, its figures come out again."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from engine import api
from engine.clusters.calibration import ERROR_BAND
from engine.clusters.cluster import Cluster
from engine.clusters.cluster_json import cluster_of_json, cluster_to_json
from engine.clusters.shares import Efficiency
from engine.measuring.calibrating.checking import check_placements, with_steps
from engine.measuring.calibrating.training_steps import (
    OpsOfType,
    StepsOfGraph,
    corrected,
    link_slowdown,
    ops_of_types,
    usual_slowdown,
    with_slower_links,
)
from tests.engine.measuring.calibrating.made_up_machine import (
    IN_STEPS,
    NEVER_SEEN,
    OF_OTHERS,
    OF_TRIALS,
    machine_of,
    simulated_us,
    step_on_one,
    true_machine,
)


@pytest.fixture
def prepared(tiny_cnn_path: Path) -> api.PreparedGraph:
    return api.prepare(tiny_cnn_path, ".pb", lambda *_: None, api.Limits(), 16)


def measured_on(prepared: api.PreparedGraph, machine: Cluster, tracing: float = 1.0) -> StepsOfGraph:
    placements = check_placements(prepared.grouping.group_count, 2)
    step_time_us = [simulated_us(prepared, machine, placement) for placement in placements]
    return StepsOfGraph(step_on_one(prepared, machine, tracing), placements, np.array(step_time_us))


def test_what_steps_show_is_found_again(prepared: api.PreparedGraph) -> None:
    graph = measured_on(prepared, true_machine())
    before, better = machine_of().devices[0].own, corrected(machine_of(), [graph]).devices[0].own
    assert before is not None and better is not None
    ops = ops_of_types([graph.on_one_device], before)
    assert set(IN_STEPS) < set(ops) and NEVER_SEEN not in ops
    for op_type, each in ops.items():
        found, truth = better.efficiency_by_op_type[op_type], IN_STEPS.get(op_type, Efficiency.of_both(OF_OTHERS))
        assert each.slowdown(found) == pytest.approx(1, rel=1e-3), op_type
        if len(np.unique(each.arithmetic_us / each.moving_us)) > 1:
            assert found == pytest.approx(truth, rel=1e-3), op_type
    of_others = Efficiency.of_both(0.8)
    usual = usual_slowdown([each.slowdown(OF_TRIALS.get(op_type, of_others)) for op_type, each in ops.items()])
    assert usual == pytest.approx(0.8 / OF_OTHERS, rel=1e-3), "most types have no trials"
    assert better.efficiency_by_op_type[NEVER_SEEN] == pytest.approx(Efficiency.of_both(0.3 / usual), rel=1e-3)
    assert better.efficiency == pytest.approx(0.8 / usual, rel=1e-3)


def test_ops_of_one_shape_give_their_time_and_those_of_two_both_efficiencies() -> None:
    one = OpsOfType(np.full(3, 10.0), np.full(3, 4.0), np.full(3, 1.0))
    assert one.slowdown(one.efficiency()) == pytest.approx(1, rel=0.01)
    arithmetic_us, moving_us = np.array([90.0, 1.0, 5.0]), np.array([10.0, 20.0, 5.0])
    two = OpsOfType(arithmetic_us / 0.5 + moving_us / 0.1, arithmetic_us, moving_us)
    assert two.efficiency() == pytest.approx((0.5, 0.1))


def test_times_that_no_efficiencies_give_are_kept_in_the_sum() -> None:
    """The more an op moves, the less time it takes: its bytes seem to cost nothing."""
    ops = OpsOfType(np.array([30.0, 20.0]), np.array([10.0, 10.0]), np.array([1.0, 10.0]))
    assert ops.slowdown(ops.efficiency()) == pytest.approx(1, rel=0.01)
    assert ops.efficiency().bandwidth == 100, "the most that a cluster may say"


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


def test_the_usual_slowdown_is_that_of_the_middle_type() -> None:
    assert usual_slowdown([30.0, 2.0, 1.0]) == pytest.approx(2) and usual_slowdown([8.0, 2.0]) == pytest.approx(4)
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
