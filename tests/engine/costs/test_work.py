"""Times by an op's work: of kinds that no reading costed."""

import dataclasses

import numpy as np
import pytest

from engine.clusters.device_kinds import CATALOGUE, COSTED_KINDS, FLOAT_TYPES, FloatType
from engine.clusters.parsing import parse_cluster
from engine.costs.costs import work_time_us
from engine.costs.measured import StepStats, with_measured
from tests.engine.costs.known_work import FLOPS, MOVED, TYPES, estimated
from tests.engine.simulator.cases import Op, graph_of


def test_a_time_is_arithmetic_at_the_types_peak_and_bytes_at_the_bandwidth() -> None:
    l4 = CATALOGUE["L4"]
    first, second, third = estimated().time_on(["L4"])[0]
    assert first == pytest.approx(4e6 / l4.peak_gflops / 1e3 + 240_000 / l4.memory_bandwidth_bytes_per_us)
    assert second == pytest.approx(3 * 8e6 / 121_000 / 1e3), "three trips at the peak of float16"
    assert third == pytest.approx(480_000 / 300_000)


def test_a_type_without_a_peak_of_its_own_runs_at_that_of_float32() -> None:
    times = estimated().time_on(["K80"])[0]
    assert times.tolist() == [4e6 / (4368 * 1e3) + 1, 3 * (8e6 / (4368 * 1e3)), 2]


def test_a_kind_with_half_the_efficiency_takes_twice_the_time() -> None:
    kind = dataclasses.replace(CATALOGUE["K80"], efficiency=0.5)
    whole = work_time_us(FLOPS, MOVED, TYPES, CATALOGUE["K80"], 1.0)
    assert np.array_equal(work_time_us(FLOPS, MOVED, TYPES, kind, kind.efficiency), 2 * whole)


def test_on_a_kind_of_today_ops_reach_the_shares_of_their_types() -> None:
    costs = estimated(at_peaks=False).with_types(["mm", "Relu", "NobodyKnows"])
    for name in ("H100", "L4"):  # a reading keeps a row of the one, and none of the other
        kind = CATALOGUE[name]
        product, others = kind.efficiency_by_op_type["MatMul"], kind.efficiency
        arithmetic_us = 4e6 / (kind.peak_gflops * 1e3) / product.peak
        moving_us = 240_000 / kind.memory_bandwidth_bytes_per_us / product.bandwidth
        times = costs.time_on([name])[0]
        assert times[0] == pytest.approx(arithmetic_us + moving_us)
        assert times[2] == pytest.approx(480_000 / kind.memory_bandwidth_bytes_per_us / others)
    written = costs.execution_times_us()[COSTED_KINDS.index("H100")]
    assert written.tolist() == [costs.time_on(["H100"])[0, 0], costs.time_on(["H100"])[0, 1] / 3, written[2]]


def test_the_weights_of_groups_know_nothing_of_shares() -> None:
    reached = estimated(at_peaks=False).with_types(["mm", "Relu", "NobodyKnows"])
    assert np.array_equal(reached.by_peaks_us(COSTED_KINDS), estimated().time_on(COSTED_KINDS))
    assert not np.array_equal(reached.time_on(COSTED_KINDS), estimated().time_on(COSTED_KINDS))


def test_the_k80_and_the_cpu_are_those_of_the_published_simulator() -> None:
    reached = estimated(at_peaks=False).with_types(["mm", "Relu", "NobodyKnows"])
    assert np.array_equal(reached.time_on(["K80", "CPU"]), estimated().time_on(["K80", "CPU"]))


def test_rounding_to_tensorfloat32_counts_where_a_kind_has_it_and_weighs_nothing() -> None:
    rounding = np.full(3, FLOAT_TYPES.index(FloatType.TENSORFLOAT32), dtype=np.uint8)
    exact = dataclasses.replace(estimated(at_peaks=False), float_type=np.zeros(3, dtype=np.uint8))
    costs = dataclasses.replace(exact, float_type=rounding)
    assert np.array_equal(costs.time_on(["T4", "K80"]), exact.time_on(["T4", "K80"]))
    assert np.array_equal(costs.by_peaks_us(COSTED_KINDS), exact.by_peaks_us(COSTED_KINDS))
    h200 = CATALOGUE["H200"]
    faster_us = exact.time_on(["H200"])[0] - costs.time_on(["H200"])[0]
    both = 1 / h200.peak_gflops - 1 / h200.peak_of(FloatType.TENSORFLOAT32)
    assert faster_us.tolist() == pytest.approx([4e3 * both / h200.efficiency, 3 * 8e3 * both / h200.efficiency, 0])


def test_costs_for_devices_have_the_same_times_and_no_work() -> None:
    cluster = parse_cluster("K80+2xL4+cpu")
    fixed = estimated().for_devices(cluster.devices)
    assert fixed.kinds == ("K80", "L4", "CPU")
    assert len(fixed.moved_bytes) == 0
    assert np.array_equal(fixed.time_on_devices(cluster.devices), estimated().time_on_devices(cluster.devices))


@pytest.mark.parametrize("kind", [None, "L4"])
def test_a_measured_time_counts_on_a_kind_that_no_reading_costed(kind: str | None) -> None:
    graph, _ = graph_of([Op("a"), Op("b", ["a"]), Op("c", ["b"])])
    stats = StepStats(
        names=("a", "b"),
        classes=("GPU", "GPU"),
        time_us=np.array([70.0, 60.0]),
        temporary_bytes=np.zeros(2, dtype=np.int64),
        is_kernel=np.ones(2, dtype=bool),
        output=np.empty((0, 3), dtype=np.int64),
    )
    costs = with_measured(estimated(), graph, stats, kind)
    l4, t4, cpu = costs.time_on(["L4", "T4", "CPU"])
    unmeasured = estimated().time_on(["L4", "T4", "CPU"])
    assert l4.tolist() == [70, 60, unmeasured[0, 2]]
    assert t4.tolist() == ([70, 60, unmeasured[1, 2]] if kind is None else unmeasured[1].tolist())
    assert np.array_equal(cpu, unmeasured[2])
