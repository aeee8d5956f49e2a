"""Device maps and split points in the hands of those who read them: accelerate, and PyTorch's pipelines."""

import json
from typing import Any

import numpy as np
import placeto
import torch
from accelerate import dispatch_model
from torch.distributed.pipelining import SplitPoint, pipeline
from transformers import LlamaConfig, LlamaForCausalLM

from engine.clusters.parsing import parse_cluster
from engine.formats.modules.device_map import device_map_of
from engine.formats.modules.stages import split_spec_of
from engine.formats.node_link.reader import parsed
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.placers.registry import make_placer
from engine.prepared import PreparedGraph
from engine.problem.making import problem_of
from tests.client import models

CLUSTER = parse_cluster("3xA100")
LAYERS = 6


def model_and_inputs() -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(3)
    return models.Residuals(16, LAYERS).eval(), torch.randn(4, 16)


def placed_evenly(
    model: torch.nn.Module, inputs: object
) -> tuple[PreparedGraph, "np.ndarray[tuple[int], np.dtype[np.int32]]"]:
    """The recorded model, and its placement with the same number of layers on each of three devices."""
    found = parsed(json.dumps(placeto.record(model, inputs).to_json()).encode())
    grouping = group_ops(found.graph, found.costs, None)
    prepared = PreparedGraph(found.graph, found.costs, grouping, Origin(".json", framework="torch"))
    problem = problem_of(prepared, CLUSTER)
    make_placer("even_layers", {}).place(problem, np.random.default_rng(0), lambda: False)
    return prepared, problem.ledger.answer()[grouping.group_of_op]


def test_stages_at_the_split_points_give_what_the_model_gives() -> None:
    model, inputs = model_and_inputs()
    prepared, device_of_op = placed_evenly(model, inputs)
    written = split_spec_of(prepared, CLUSTER, device_of_op)
    points = written["split_spec"]
    assert isinstance(points, dict) and len(points) == 2
    stages = pipeline(model, (inputs,), split_spec={name: SplitPoint[str(how)] for name, how in points.items()})
    assert stages.num_stages == len(CLUSTER.devices)
    found: Any = inputs
    for stage in range(stages.num_stages):
        found = stages.get_stage_module(stage)(*(found if isinstance(found, tuple) else (found,)))
    assert torch.allclose(found[0] if isinstance(found, tuple) else found, model(inputs), atol=1e-6)


def test_accelerate_runs_a_model_by_its_map() -> None:
    model, inputs = model_and_inputs()
    wanted = model(inputs)
    prepared, device_of_op = placed_evenly(model, inputs)
    device_map = device_map_of(prepared, CLUSTER, device_of_op)
    assert set(device_map.values()) == {0, 1, 2}
    here = dict.fromkeys(device_map, "cpu")
    assert torch.equal(dispatch_model(model, here, force_hooks=True)(inputs), wanted)


def test_a_hugging_face_model_is_built_on_its_map() -> None:
    config = LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=LAYERS, num_attention_heads=4, vocab_size=100
    )
    model, tokens = LlamaForCausalLM(config).eval(), torch.zeros(2, 8, dtype=torch.long)
    wanted = model(tokens).logits
    prepared, device_of_op = placed_evenly(model, {"input_ids": tokens})
    device_map = device_map_of(prepared, CLUSTER, device_of_op)
    assert {path.split(".")[1] for path in device_map if path.startswith("model.")} >= {
        "embed_tokens",
        "layers",
        "norm",
    }
    dispatched = dispatch_model(model, dict.fromkeys(device_map, "cpu"), force_hooks=True)
    assert torch.equal(dispatched(tokens).logits, wanted)
