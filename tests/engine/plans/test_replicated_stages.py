"""PipeDream's programme beside all divisions into stages."""

import itertools

import numpy as np
import pytest

from engine.plans.replicated_stages import LayerCosts, WorkerStage, replica_of_stages, replicated_stages


def period_us(layers: LayerCosts, stages: list[WorkerStage]) -> float:
    """The greatest time of a stage, or between two, of a micro-batch."""
    times_us = []
    for stage in stages:
        workers, own = stage.beyond_device - stage.first_device, slice(stage.first, stage.beyond)
        work_us = layers.time_us[stage.first_device : stage.beyond_device, own].sum(axis=1).max()
        shared_us = 4 * (workers - 1) / workers * layers.shared_us[own].sum()
        sent_us = 2 * layers.sent_us[stage.first - 1] if stage.first else 0.0
        times_us.append(max(max(work_us, shared_us) / workers, sent_us))
    return float(max(times_us))


def all_stages(devices: int, layers: int) -> list[list[WorkerStage]]:
    """Every way to cut both orders into as many intervals."""
    found = []
    for count in range(1, min(devices, layers) + 1):
        cuts = itertools.combinations(range(1, layers), count - 1)
        for of_layers, of_devices in itertools.product(cuts, itertools.combinations(range(1, devices), count - 1)):
            pairs = zip(
                itertools.pairwise((0, *of_layers, layers)), itertools.pairwise((0, *of_devices, devices)), strict=True
            )
            found.append([WorkerStage(*of_layer, *of_device) for of_layer, of_device in pairs])
    return found


def drawn_layers(seed: int) -> LayerCosts:
    rng = np.random.default_rng(seed)
    devices, layers = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    time_us = rng.uniform(1, 50, (devices, layers)) * (1 + 3 * rng.integers(0, 2, (devices, 1)))
    return LayerCosts(time_us, rng.uniform(0, 20, layers), np.append(rng.uniform(0, 20, layers - 1), 0.0))


def test_the_period_is_the_least_of_all_stages() -> None:
    several = 0
    for seed in range(200):
        layers = drawn_layers(seed)
        stages = replicated_stages(layers)
        least_us = min(period_us(layers, other) for other in all_stages(*layers.time_us.shape))
        assert period_us(layers, stages) == pytest.approx(least_us), seed
        several += 1 < len(stages) < layers.time_us.shape[0]
    assert several > 20


def test_a_layer_that_no_device_can_run_leaves_no_stages() -> None:
    layers = LayerCosts(np.array([[1.0, np.inf], [1.0, np.inf]]), np.zeros(2), np.zeros(2))
    assert replicated_stages(layers) == []
    assert replica_of_stages([], (0, 1), 1, 4) is None


def test_devices_take_turns_in_the_order_of_the_cluster() -> None:
    stages = [WorkerStage(0, 2, 0, 2), WorkerStage(2, 3, 2, 3)]
    replica = replica_of_stages(stages, (7, 5, 6), 1, 4)
    assert replica is not None
    assert replica.turns == ((1, 0),)
    assert [[replica.devices[own] for own in route] for route in replica.routes().tolist()] == [[5, 5, 6], [7, 7, 6]]
    assert replica.to_json()["turns"] == [[5, 7]]


def test_a_device_that_would_never_have_its_turn_is_no_plan() -> None:
    assert replica_of_stages([WorkerStage(0, 2, 0, 3)], (0, 1, 2), 1, 2) is None
