"""Times by an op's work: of kinds that no reading costed."""

import dataclasses

import numpy as np
import pytest

from engine.clusters.device_kinds import CATALOGUE
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
    whole = work_time_us(FLOPS, MOVED, TYPES, CATALOGUE["K80"])
    assert np.array_equal(work_time_us(FLOPS, MOVED, TYPES, kind), 2 * whole)


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
