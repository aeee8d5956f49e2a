"""A chain gains nothing from a second equal card: all placements of some recorded layers, inference and training."""

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import placeto
import pytest
import torch

from engine.clusters.parsing import parse_cluster
from engine.formats.node_link.reader import parsed
from engine.graphs.graph import PHASES
from engine.simulator import Simulator
from tests.client import models

LAYERS = 6


def a_chain(width: int) -> torch.nn.Module:
    return torch.nn.Sequential(*[torch.nn.Linear(width, width, bias=False) for _ in range(LAYERS)])


def steps_us(recording: placeto.Recording, kind: str) -> tuple[np.ndarray[Any, Any], float]:
    """[2^LAYERS] the steps of all placements of the layers on two cards, the first on one; and the optimizer's time."""
    found = parsed(json.dumps(recording.to_json()).encode())
    layer_of_op = np.array([int(name[0]) if name[0].isdigit() else 0 for name in found.graph.op_names], dtype=np.int32)
    simulator = Simulator(found.graph, found.costs, parse_cluster(f"2x{kind}"), layer_of_op)
    placements = np.array([(0, *rest) for rest in product((0, 1), repeat=LAYERS - 1)], dtype=np.int32)
    times = np.nan_to_num(found.costs.time_on([kind])[0])
    late = found.graph.phase == PHASES.index("optimizer")
    return simulator.evaluate(placements).step_time_us, float(times[late].sum())


@pytest.mark.parametrize("kind", ["H100", "RTX4090", "L4"])
@pytest.mark.parametrize("width", [64, 2048])
def test_inference_gains_nothing(kind: str, width: int) -> None:
    found, _ = steps_us(placeto.record(a_chain(width).eval(), torch.zeros(64, width)), kind)
    assert found.min() == found[0], "all on one card"


@pytest.mark.parametrize("kind", ["H100", "RTX4090", "L4"])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_training_gains_no_more_than_the_updates(kind: str, optimizer: Callable[[Any], torch.optim.Optimizer]) -> None:
    recording = placeto.record(a_chain(2048), torch.zeros(512, 2048), loss=models.total, optimizer=optimizer)
    found, updates_us = steps_us(recording, kind)
    assert found.min() >= found[0] - updates_us, "a card updates its layers while the other goes on"
