"""The period, beside a slow twin that adds up ops and transfers in plain Python."""

import dataclasses

import numpy as np
import pytest

from engine.clusters.cluster import Contention, Device
from engine.simulator import Simulator
from engine.simulator.bound import lower_bound_us
from tests.engine.simulator.cases import Op, cluster_of, graph_of
from tests.engine.simulator.slow_loads import slow_loads_us, slow_period_us, slowly_contiguous
from tests.engine.simulator.streams.drawn_batches import drawn_batch

DRAWN = 1000


def test_periods_are_the_slow_twins() -> None:
    """Over all ways in which transfers wait, trips, unequal devices and links, and three phases."""
    for seed in range(DRAWN):
        graph, costs, cluster, stream, placement = drawn_batch(np.random.default_rng(seed))
        simulator = Simulator(graph, costs, cluster, stream=stream)
        period_us = simulator.evaluate(placement[None]).step_time_us[0]
        arguments = graph, costs, cluster, graph.phase.tolist(), placement.tolist()
        assert period_us == pytest.approx(slow_period_us(*arguments), rel=1e-9), seed
        loads = simulator.loads(placement)
        for key, load_us in slow_loads_us(*arguments).items():
            ours = loads.device_us[key[0]] if len(key) == 1 else loads.link_us[key]
            assert ours == pytest.approx(load_us, rel=1e-9), (seed, key)


def test_a_placement_has_an_infinite_period_exactly_where_its_stages_must_be_contiguous_and_are_not() -> None:
    broken = 0
    for seed in range(300):
        graph, costs, cluster, stream, placement = drawn_batch(np.random.default_rng(seed), contiguous=True)
        period_us = Simulator(graph, costs, cluster, stream=stream).evaluate(placement[None]).step_time_us[0]
        is_contiguous = slowly_contiguous(graph, graph.phase.tolist(), placement.tolist())
        assert np.isfinite(period_us) == is_contiguous, seed
        broken += not is_contiguous
    assert 30 < broken < 270


def test_what_memory_forces_from_one_cpu_to_another_is_not_copied_through_the_host() -> None:
    """Two ops whose variables fit no CPU together: the second takes its input where the first has left it."""
    graph, costs = graph_of([Op("a", (), 10.0, (100_000,), persistent=800_000), Op("b", ("a",), 10.0, (), 800_000)])
    cluster = cluster_of(2, Contention.HOST, latency_us=3.0, op_rest_us=0.0, memory_bytes=1_200_000)
    cpus = tuple(Device(f"/device:CPU:{index}", "CPU", 1_200_000) for index in range(2))
    of_cpus = dataclasses.replace(cluster, devices=cpus)
    step_time_us = Simulator(graph, costs, of_cpus).evaluate(np.array([[0, 1]])).step_time_us[0]
    assert step_time_us == 10 + 3 + 10
    assert lower_bound_us(graph, costs, of_cpus) <= step_time_us
    copied_us = 2 * 100_000 / 100
    assert Simulator(graph, costs, cluster).evaluate(np.array([[0, 1]])).step_time_us[0] == 10 + copied_us + 3 + 10
