"""The lower bound: never above the best placement there is, and known values."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from engine.clusters.cluster import Contention, Device
from engine.errors import CostError
from engine.simulator import Simulator
from engine.simulator.bound import lower_bound_us, lower_bounds
from tests.engine.simulator.cases import Case, Op, cases, cluster_of, graph_of, make_costs, make_graph


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(most_ops=6, most_devices=3, placements=1))
def test_no_feasible_placement_beats_the_bound(case: Case) -> None:
    devices = range(case.cluster.device_count)
    every = np.array(list(itertools.product(devices, repeat=case.graph.op_count)), dtype=np.int32)
    answer = Simulator(case.graph, case.costs, case.cluster).evaluate(every)
    memory = [device.memory_bytes for device in case.cluster.devices]
    feasible = np.all(answer.peak_bytes <= memory, axis=1)
    bound = lower_bound_us(case.graph, case.costs, case.cluster)
    assert bound <= answer.step_time_us[feasible].min(initial=np.inf)


CHAIN = [Op("a", time_us=10, outputs=[1000]), Op("b", ["a"], time_us=20, outputs=[2000]), Op("c", ["b"], time_us=30)]


def bound_of(
    ops: list[Op],
    devices: int,
    bandwidth_bytes_per_us: float = 100.0,
    op_rest_us: float = 5.7,
    memory_bytes: int = 10**9,
) -> float:
    cluster = cluster_of(
        devices,
        Contention.PAIR,
        bandwidth_bytes_per_us=bandwidth_bytes_per_us,
        op_rest_us=op_rest_us,
        memory_bytes=memory_bytes,
    )
    return lower_bound_us(*graph_of(ops), cluster)


def test_a_chain_takes_its_times_and_rests() -> None:
    assert bound_of(CHAIN, 4) == pytest.approx(60 + 3 * 5.7)


def test_a_rest_is_skipped_where_a_transfer_is_shorter() -> None:
    assert bound_of(CHAIN, 2, bandwidth_bytes_per_us=1e6) == pytest.approx(60 + 5.7 + 0.001 + 0.002)


def test_a_chain_that_fits_no_device_must_be_cut_somewhere() -> None:
    ops = [Op(op.name, op.inputs, op.time_us, op.outputs, persistent=400) for op in CHAIN]
    fits = bound_of(ops, 2, op_rest_us=0, memory_bytes=10_000)
    assert fits == pytest.approx(60)
    cut = bound_of(ops, 2, op_rest_us=0, memory_bytes=1100)
    assert cut == pytest.approx(60 + 10), "1000 bytes are the cheapest cut"


def test_each_bound_says_what_it_is_of() -> None:
    ops = [Op(op.name, op.inputs, op.time_us, op.outputs, persistent=400) for op in CHAIN]
    slow = cluster_of(2, Contention.PAIR, bandwidth_bytes_per_us=100.0, op_rest_us=0, memory_bytes=1100)
    chain = lower_bounds(*graph_of(ops), slow)
    assert (chain.path_us, chain.memory_us) == pytest.approx((60, 70)) and chain.largest_us == chain.memory_us
    apart = lower_bounds(*graph_of([Op(str(index), time_us=10) for index in range(8)]), cluster_of(2, op_rest_us=0))
    assert (apart.path_us, apart.work_us, apart.memory_us) == pytest.approx((10, 40, 0))
    assert apart.largest_us == apart.work_us


def test_trips_of_a_chain_take_their_times_and_rests() -> None:
    ops = [Op(op.name, op.inputs, op.time_us, op.outputs, trips=7) for op in CHAIN]
    bound_us = bound_of(ops, 4)
    assert bound_us == pytest.approx(7 * (60 + 3 * 5.7))
    together = Simulator(*graph_of(ops), cluster_of(4)).evaluate(np.zeros((1, 3), dtype=np.int32))
    assert bound_us == pytest.approx(together.step_time_us[0]), "no placement is better, and the bound says so"


def test_what_memory_forces_is_sent_once_a_trip() -> None:
    ops = [Op(op.name, op.inputs, op.time_us, op.outputs, persistent=400, trips=7) for op in CHAIN]
    assert bound_of(ops, 2, op_rest_us=0, memory_bytes=1100) == pytest.approx(7 * (60 + 10))
    out_of_the_loop = [*ops[:2], Op("c", ["b"], 30, persistent=400)]
    assert bound_of(out_of_the_loop, 2, op_rest_us=0, memory_bytes=1100) == pytest.approx(7 * 30 + 30 + 20)


def test_a_branch_that_is_not_taken_adds_nothing() -> None:
    branch = Op("other", ["b"], 1000, [10**6], trips=0)
    assert bound_of([*CHAIN[:2], branch, Op("c", ["b", "other"], 30)], 4) == pytest.approx(bound_of(CHAIN, 4))


def test_independent_ops_share_the_devices() -> None:
    ops = [Op(f"op{index}", time_us=10) for index in range(12)]
    assert bound_of(ops, 3) == pytest.approx(4 * 15.7)


def test_what_comes_before_and_after_the_work_counts() -> None:
    middle = [Op(f"op{index}", ["first"], time_us=10) for index in range(12)]
    ops = [Op("first", time_us=50), *middle, Op("last", [op.name for op in middle], time_us=70)]
    assert bound_of(ops, 3, op_rest_us=0) == pytest.approx(50 + 40 + 70)


def test_unequal_devices_share_by_their_speed() -> None:
    count = 30
    graph = make_graph(tuple(f"op{index}" for index in range(count)), [])
    times = np.array([[10.0] * count, [40.0] * count])
    costs = make_costs(("GPU", "CPU"), times, [[]] * count, [(0, 0)] * count)
    devices = (Device("/device:GPU:0", "K80", 10**9), Device("/device:CPU:0", "CPU", 10**9))
    cluster = dataclasses.replace(cluster_of(2, op_rest_us=0), devices=devices)
    assert lower_bound_us(graph, costs, cluster) == pytest.approx(count * 10 * 40 / (10 + 40), rel=1e-6)


def test_an_op_that_can_run_nowhere_is_named() -> None:
    graph = make_graph(("lookup",), [])
    costs = make_costs(("CPU",), np.array([[1.0]]), [[]], [(0, 0)])
    with pytest.raises(CostError, match=r"^op lookup: no time on K80$"):
        lower_bound_us(graph, costs, cluster_of(2))
