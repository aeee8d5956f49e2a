"""Drawn problems: a layer with its gradient and update is a group, figures are in range, a seed draws one problem."""

import numpy as np
import pytest

from engine.graphs.phases import FORWARD_OP, GRADIENT, UPDATE, phases_by_name
from engine.policies.drawn.graphs import COMPUTE_TO_TRANSFER, LAYER_US, drawn_graph
from engine.policies.drawn.problems import DEVICES, ROOMY_BYTES, drawn_problem
from engine.policies.drawn.shapes import SHAPES
from engine.simulator.topology import topological_order


@pytest.mark.parametrize("shape", SHAPES)
def test_a_group_is_a_layer_with_its_gradient_and_its_update(shape: str) -> None:
    prepared = drawn_graph(shape, 40, {"K80": 1.0}, np.random.default_rng(3), trains=True)
    graph, grouping = prepared.graph, prepared.grouping
    phase = phases_by_name(graph, topological_order(graph).astype(np.int64))
    layers = int((phase == FORWARD_OP).sum())
    assert grouping.group_count == layers == int((phase == GRADIENT).sum())
    assert int((phase == UPDATE).sum()) == int((prepared.costs.persistent_bytes > 0).sum())
    of_layer = [name.rpartition("/")[2] for name in graph.op_names]
    groups = {(name, int(group)) for name, group in zip(of_layer, grouping.group_of_op, strict=True)}
    assert len(groups) == layers, "all ops of a layer are in one group"


def test_a_forward_pass_has_one_op_a_group_and_no_feedback() -> None:
    prepared = drawn_graph("U-net", 40, {"K80": 1.0}, np.random.default_rng(3), trains=False)
    assert prepared.grouping.group_count == prepared.graph.op_count
    assert len(prepared.grouping.feedback_edges) == 0


@pytest.mark.parametrize("seed", range(20))
def test_times_and_their_ratio_to_transfers_are_in_range(seed: int) -> None:
    trains = bool(seed % 2)
    prepared = drawn_graph("branching cells", 100, {"K80": 1.0}, np.random.default_rng(seed), trains=trains)
    graph, costs = prepared.graph, prepared.costs
    phase = phases_by_name(graph, topological_order(graph).astype(np.int64))
    forward_us = costs.time_us[0][phase == FORWARD_OP]
    assert LAYER_US[0] <= forward_us.mean() <= LAYER_US[1]
    transfer_us = costs.bytes_of_op()[phase == FORWARD_OP].mean() / 7600.0
    work_us = costs.time_us[0].sum() / len(forward_us)
    assert COMPUTE_TO_TRANSFER[0] / 2 <= work_us / transfer_us <= 2 * COMPUTE_TO_TRANSFER[1]


def test_slower_kinds_take_longer_for_most_ops() -> None:
    prepared = drawn_graph("experts", 60, {"K80": 1.0, "V100": 4.0}, np.random.default_rng(0), trains=True)
    fast_us, slow_us = prepared.costs.time_us
    assert 2.0 < np.median(slow_us / fast_us) < 8.0


@pytest.mark.parametrize("seed", range(25))
def test_a_problem_can_be_placed_and_is_the_same_for_the_same_seed(seed: int) -> None:
    one, same = (drawn_problem(tuple(SHAPES), np.random.default_rng([7, seed])).problem for _ in range(2))
    assert one.device_count in DEVICES and one.allowed.all()
    spread = (np.arange(one.group_count) % one.device_count).astype(np.int32)[None]
    times = [problem.simulator.evaluate(spread).step_time_us[0] for problem in (one, same)]
    assert times[0] == times[1] > 0
    tight = int(one.memory_bytes.max()) < ROOMY_BYTES
    costs = one.costs
    assert not tight or one.memory_bytes.sum() >= 1.05 * (costs.persistent_bytes.sum() + costs.bytes_of_op().sum())


def test_drawn_problems_differ_in_devices_memory_links_and_phases() -> None:
    problems = [drawn_problem(tuple(SHAPES), np.random.default_rng([1, seed])).problem for seed in range(60)]
    assert len({problem.device_count for problem in problems}) >= 6
    assert {problem.cluster.contention for problem in problems} == {"bus", "pair"}
    assert 3 <= sum(int(problem.memory_bytes[0]) < ROOMY_BYTES for problem in problems) <= 25
    unequal = sum(len({device.kind for device in problem.cluster.devices}) > 1 for problem in problems)
    assert 10 <= unequal <= 40
    assert 20 <= sum(len(problem.grouping.feedback_edges) > 0 for problem in problems) <= 50
