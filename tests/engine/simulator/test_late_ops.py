"""The optimizer's ops run on a device when its others have ended: closed forms on two devices, and recorded steps."""

import dataclasses
import json
from collections.abc import Callable

import numpy as np
import placeto
import pytest
import torch

from engine.clusters.parsing import parse_cluster
from engine.errors import GraphError
from engine.formats.node_link.reader import parsed
from engine.graphs.graph import PHASES
from engine.simulator import Simulator
from tests.client import models, twin
from tests.engine.simulator.cases import Op, cluster_of, graph_of

FORWARD, BACKWARD, OPTIMIZER = (PHASES.index(name) for name in ("forward", "backward", "optimizer"))
LAYERS = 4
OPS = [
    *(Op(f"f{layer}", [f"f{layer - 1}"] * (layer > 0), time_us=10, outputs=[100]) for layer in range(LAYERS)),
    *(
        Op(f"b{layer}", [f"b{layer + 1}" if layer + 1 < LAYERS else f"f{layer}"], time_us=20, outputs=[0, 1000])
        for layer in reversed(range(LAYERS))
    ),
    *(Op(f"u{layer}", [f"b{layer}:1"], time_us=5, outputs=[]) for layer in range(LAYERS)),
]
PHASE = [FORWARD] * LAYERS + [BACKWARD] * LAYERS + [OPTIMIZER] * LAYERS


def test_updates_wait_for_the_last_gradient_of_their_device_and_keep_all_gradients() -> None:
    graph, costs = graph_of(OPS)
    graph = dataclasses.replace(graph, phase=np.array(PHASE, dtype=np.uint8))
    cluster = cluster_of(2, op_rest_us=0, link_rest_us=0, bandwidth_bytes_per_us=1e12)
    one = Simulator(graph, costs, cluster).timeline(np.zeros(3 * LAYERS, dtype=np.int32))
    assert one.start_us.tolist() == [0, 10, 20, 30, 40, 60, 80, 100, 120, 125, 130, 135]
    assert one.step_time_us == 140
    assert one.peak_bytes[0] == LAYERS * 1000, "all gradients until the first update"
    halves = np.array([0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1], dtype=np.int32)
    two = Simulator(graph, costs, cluster).timeline(halves)
    assert two.start_us[8:].tolist() == pytest.approx([120, 125, 80, 85]), (
        "the second device does not wait for the first"
    )
    assert two.step_time_us == pytest.approx(130)


def test_without_phases_an_update_runs_as_soon_as_it_has_its_gradient() -> None:
    graph, costs = graph_of(OPS)
    timeline = Simulator(graph, costs, cluster_of(1, op_rest_us=0)).timeline(np.zeros(3 * LAYERS, dtype=np.int32))
    assert timeline.start_us[-1] < timeline.start_us[2 * LAYERS - 1], "u3 runs before b0"


def test_a_device_with_updates_alone_does_not_wait() -> None:
    graph, costs = graph_of([Op("a", time_us=50), Op("u", time_us=5)])
    graph = dataclasses.replace(graph, phase=np.array([BACKWARD, OPTIMIZER], dtype=np.uint8))
    timeline = Simulator(graph, costs, cluster_of(2)).timeline(np.array([0, 1], dtype=np.int32))
    assert timeline.start_us.tolist() == [0, 0]


def test_an_optimizer_that_gives_to_another_phase_is_refused() -> None:
    nodes = [
        {"id": "u", "flops": 1, "bytes_accessed": 1, "output_bytes": [4], "phase": "optimizer"},
        {"id": "f", "flops": 1, "bytes_accessed": 1, "output_bytes": [4], "phase": "forward"},
    ]
    with pytest.raises(GraphError, match=r"node 1 \(f\): it takes what u of the optimizer gives"):
        parsed(json.dumps({"nodes": nodes, "edges": [{"source": "u", "target": "f"}]}).encode())


MODELS: dict[str, Callable[[], tuple[torch.nn.Module, torch.Tensor]]] = {
    "residual": lambda: (models.Residuals(64, 4), torch.zeros(512, 64)),
    "checkpointed": lambda: (models.Residuals(64, 4, "plain"), torch.zeros(512, 64)),
    "convolutions": lambda: (models.Convolutions(), torch.zeros(16, 3, 32, 32)),
    "LoRA": lambda: (models.Lora(), torch.zeros(1024, 64)),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_peak_of_a_recorded_step_is_that_of_the_ops_in_their_order(name: str) -> None:
    model, inputs = MODELS[name]()
    recording = placeto.record(model, inputs, loss=models.total, optimizer=torch.optim.AdamW)
    found = parsed(json.dumps(recording.to_json()).encode())
    placement = np.zeros(found.graph.op_count, dtype=np.int32)
    timeline = Simulator(found.graph, found.costs, parse_cluster("1xA100")).timeline(placement)
    assert timeline.peak_bytes[0] == pytest.approx(twin.peak_bytes(recording), rel=0.02)
