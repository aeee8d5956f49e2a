"""The line for sharding all weights, by closed form."""

import dataclasses

import numpy as np
import pytest

from engine.plans.collectives import Algorithm
from engine.plans.plan import PlanRules
from engine.plans.sharded import sharded_cost
from engine.plans.simulated import PlanSimulator
from engine.simulator.streams.stream import Pipeline
from tests.engine.plans.drawn_plans import one_gradient


@pytest.mark.parametrize("micro_batches", [1, 3])
def test_gathering_outlasts_short_passes(micro_batches: int) -> None:
    """One gather ahead; then a micro-batch gathers, gathers again and scatters; then half of the update."""
    model, cluster = one_gradient(1, state=6000)
    simulator = PlanSimulator(model, cluster, PlanRules(Pipeline.ONE_F_ONE_B, algorithm=Algorithm.RING))
    cost = sharded_cost(simulator, (0, 1), 1, micro_batches)
    gather_us = 5.0 + 1e6 / 2 / 1000.0
    assert cost.batch_time_us == pytest.approx(gather_us + micro_batches * 3 * gather_us + 30.0 / 2)
    held = 700 + 6000 + 10**6
    assert cost.peak_bytes.tolist() == [held // 2 + 2 * 10**6] * 2 + [0, 0]


def test_long_passes_hide_it() -> None:
    model, cluster = one_gradient(1)
    costs = dataclasses.replace(model.prepared.costs, time_us=model.prepared.costs.time_us * 1000)
    readings = tuple(dataclasses.replace(reading, costs=costs) for reading in model.readings)
    model = dataclasses.replace(model, readings=readings)
    simulator = PlanSimulator(model, cluster, PlanRules(Pipeline.ONE_F_ONE_B))
    cost = sharded_cost(simulator, (0, 1, 2), 1, 2)
    gather_us = 2 * (5.0 + 1e6 / 3 / 1000.0)
    assert cost.batch_time_us == pytest.approx(gather_us + 2 * 30_000.0 + 30_000.0 / 3)


def test_more_devices_hold_less() -> None:
    model, cluster = one_gradient(8, state=48 * 10**6)
    simulator = PlanSimulator(model, cluster, PlanRules(Pipeline.ONE_F_ONE_B))
    most = [int(sharded_cost(simulator, tuple(range(count)), 1, 1).peak_bytes.max()) for count in (1, 2, 4)]
    assert np.all(np.diff(most) < 0)
