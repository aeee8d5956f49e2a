"""A training step of a few layers as node-link JSON, read at one and at two samples."""

import json
from pathlib import Path
from typing import Any

from engine.formats.node_link.reader import read_nodelink
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.plans.by_batch import ModelByBatch, model_by_batch
from engine.prepared import PreparedGraph

LAYERS = 3


def step(batch: int, layers: int = LAYERS) -> dict[str, Any]:
    """A training step of some layers, whose passes take ten and twenty µs a sample."""
    nodes: list[dict[str, Any]] = []
    edges = []
    nodes += [
        {"id": f"f{layer}", "time_us": 10 * batch, "output_bytes": [100 * batch], "phase": "forward"}
        for layer in range(layers)
    ]
    nodes += [
        {"id": f"b{layer}", "time_us": 20 * batch, "output_bytes": [100 * batch, 4000], "phase": "backward"}
        for layer in reversed(range(layers))
    ]
    nodes += [{"id": f"u{layer}", "time_us": 3, "output_bytes": [0], "phase": "optimizer"} for layer in range(layers)]
    for layer in range(layers):
        edges.append({"source": f"f{layer}", "target": f"b{layer}", "output": 0})
        edges.append({"source": f"b{layer}", "target": f"u{layer}", "output": 1})
        if layer:
            edges.append({"source": f"f{layer - 1}", "target": f"f{layer}", "output": 0})
            edges.append({"source": f"b{layer}", "target": f"b{layer - 1}", "output": 0})
    return {"directed": True, "graph": {"name": "layers", "batch": batch}, "nodes": nodes, "edges": edges}


def files(folder: Path) -> tuple[Path, Path]:
    """Both readings."""
    one, two = folder / "one.json", folder / "two.json"
    one.write_text(json.dumps(step(1)))
    two.write_text(json.dumps(step(2)))
    return one, two


def layered_model() -> ModelByBatch:
    """The step at both batches, each op a group."""
    return model_by_batch([_prepared(batch) for batch in (1, 2)])


def _prepared(batch: int) -> PreparedGraph:
    graph, costs = read_nodelink(json.dumps(step(batch)).encode())
    return PreparedGraph(graph, costs, group_ops(graph, costs, None), Origin(".json", samples=batch))
