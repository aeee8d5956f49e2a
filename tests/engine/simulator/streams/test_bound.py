"""The bound of the period: no placement is better, and some are as good where work can be shared evenly."""

import dataclasses

import numpy as np
import pytest

from engine.clusters.cluster import Contention, Device, MemoryModel
from engine.graphs.graph import FORWARD, OPTIMIZER
from engine.simulator.streams.bound import period_bound_us
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.simulator.cases import Op, cluster_of, graph_of, make_costs, make_graph
from tests.engine.simulator.streams.drawn_streams import drawn_problem, least_time_us

STREAM = Stream(4, Pipeline.GPIPE)


@pytest.mark.parametrize("contention", list(Contention))
def test_no_placement_beats_the_bound(contention: Contention) -> None:
    """150 drawn problems each; the bound is no mere zero."""
    ratios = []
    for seed in range(150):
        problem = drawn_problem(seed, contention=contention)
        assert problem.stream is not None
        bound_us = period_bound_us(problem.graph, problem.costs, problem.cluster, problem.stream)
        least_us = least_time_us(problem)
        assert bound_us <= least_us, seed
        ratios.append(bound_us / least_us)
    assert np.median(ratios) > 0.85


def equal_ops(count: int, devices: int) -> float:
    ops = [Op(f"op{index}", time_us=10) for index in range(count)]
    return period_bound_us(*graph_of(ops), cluster_of(devices, op_rest_us=2.0), STREAM)


@pytest.mark.parametrize(("count", "devices", "rounds"), [(12, 3, 4), (13, 3, 5), (1, 3, 1), (3, 3, 1), (4, 3, 2)])
def test_equal_ops_share_equal_devices(count: int, devices: int, rounds: int) -> None:
    assert equal_ops(count, devices) == pytest.approx(rounds * 12.0)


def test_unequal_devices_share_by_their_speed() -> None:
    count = 30
    graph = make_graph(tuple(f"op{index}" for index in range(count)), [])
    costs = make_costs(("GPU", "CPU"), np.array([[10.0] * count, [40.0] * count]), [[]] * count, [(0, 0)] * count)
    devices = (Device("/device:GPU:0", "K80", 10**9), Device("/device:CPU:0", "CPU", 10**9))
    cluster = dataclasses.replace(cluster_of(2, op_rest_us=0), devices=devices)
    assert period_bound_us(graph, costs, cluster, STREAM) == pytest.approx(count * 10 * 40 / (10 + 40), rel=1e-6)


def test_ops_that_share_a_device_are_one() -> None:
    graph, costs = graph_of([Op(f"op{index}", time_us=10) for index in range(4)])
    tied = dataclasses.replace(graph, colocation=(("a",), ("a",), ("a",), ()))
    assert period_bound_us(tied, costs, cluster_of(4, op_rest_us=0), STREAM) == pytest.approx(30)


def test_the_optimizer_does_not_count() -> None:
    graph, costs = graph_of([Op("forward", time_us=10), Op("update", ["forward"], time_us=1000)])
    phased = dataclasses.replace(graph, phase=np.array([FORWARD, OPTIMIZER], np.uint8))
    assert period_bound_us(phased, costs, cluster_of(2, op_rest_us=0), STREAM) == pytest.approx(10)


@pytest.mark.parametrize(
    ("contention", "sent_us"), [("bus", 15 + 3 + 25), ("pair", 15 + 3 + 25), ("sender", 15 + 25), ("host", 15)]
)
def test_what_fits_no_device_is_sent(contention: str, sent_us: float) -> None:
    ops = [Op("a", time_us=1, outputs=[1500], persistent=400), Op("b", ["a"], 1, [3000], 400)]
    graph, costs = graph_of([*ops, Op("c", ["b"], 1, persistent=400)])
    cluster = cluster_of(
        3, Contention(contention), MemoryModel.PERSISTENT, latency_us=3.0, op_rest_us=0, memory_bytes=1100
    )
    assert period_bound_us(graph, costs, cluster, STREAM) == pytest.approx(sent_us)
    roomy = cluster_of(3, Contention(contention), MemoryModel.PERSISTENT, op_rest_us=0, memory_bytes=1200)
    assert period_bound_us(graph, costs, roomy, STREAM) == pytest.approx(1)
