"""A recording by hand of a small model: an embedding, layers with two modules each, a head; forward and backward."""

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.formats.node_link.reader import parsed
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.prepared import PreparedGraph

SIZE = 1 << 20


def nodes_and_edges(
    layers: int, tied: bool = False, own_loss: bool = False
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Ops in the order in which they run, and their edges."""
    nodes: list[dict[str, object]] = []
    edges: list[dict[str, object]] = []

    def add(name: str, op_type: str, inputs: Sequence[str], unit: str, **fields: object) -> str:
        work = {"flops": 0, "bytes_accessed": 0} if op_type in ("parameter", "input") else {}
        node = {"id": name, "type": op_type, "flops": 10**9, "bytes_accessed": SIZE, "output_bytes": [SIZE]}
        nodes.append(node | work | ({"colocation": unit} if unit else {}) | fields)
        edges.extend({"source": source, "target": name} for source in inputs)
        return name

    def weight(module: str) -> str:
        held = {"persistent_bytes": SIZE, "buffers": ["persistent"], "parameters": SIZE // 4}
        return add(f"{module}/weight", "parameter", [], module.replace("/", "."), **held)

    data = add("ids", "input", [], "")
    modules = ["embed", *(f"layers/{layer}/{part}" for layer in range(layers) for part in ("attn", "mlp")), "head"]
    weights: dict[str, str] = {}
    for module in modules:
        unit = "embed" if tied and module == "head" else module.replace("/", ".")
        weights[module] = weights["embed"] if unit == "embed" and "embed" in weights else weight(module)
        data = add(f"{module}/mm", "mm", [data, weights[module]], unit, phase="forward")
    loss = ("loss/nll", "") if own_loss else ("loss", "embed" if tied else "head")
    data = add(loss[0], "nll_loss", [data], loss[1], phase="forward")
    for module in reversed(modules):
        unit = "embed" if tied and module == "head" else module.replace("/", ".")
        data = add(f"{module}/backward_mm", "mm", [data, weights[module]], unit, phase="backward")
    return nodes, edges


def recorded_chain(layers: int = 4, tied: bool = False, own_loss: bool = False) -> PreparedGraph:
    """The model, read as an upload of it."""
    return prepared_of(*nodes_and_edges(layers, tied, own_loss), beside=["loss"] * own_loss)


def prepared_of(
    nodes: Sequence[dict[str, object]], edges: Sequence[dict[str, object]], beside: Sequence[str] = ()
) -> PreparedGraph:
    """A recording of these nodes and edges, read as an upload of it."""
    about = {"name": "chain", "framework": "torch", "beside": list(beside)}
    found = parsed(json.dumps({"graph": about, "nodes": nodes, "edges": edges}).encode())
    grouping = group_ops(found.graph, found.costs, None)
    return PreparedGraph(found.graph, found.costs, grouping, Origin(".json", framework="torch", beside=found.beside))


def along(prepared: PreparedGraph, device_of_unit: dict[str, int]) -> NDArray[np.int32]:
    """[ops] the device of each unit; of the input the first."""
    labels = ["".join(labels) for labels in prepared.graph.colocation]
    return np.array([device_of_unit.get(label, 0) for label in labels], dtype=np.int32)


def units(prepared: PreparedGraph) -> list[str]:
    """The labels of the units, sorted."""
    return sorted({label for labels in prepared.graph.colocation for label in labels})
