"""The golden files of the published simulator (tests/golden/README.md) as graphs, costs and clusters."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.costs.costs import Costs, CostSource
from engine.graphs.graph import ComputationGraph

FOLDER = Path(__file__).parents[2] / "golden"
FILES = sorted(FOLDER.glob("*.json"))


def load(path: Path) -> tuple[ComputationGraph, Costs, Cluster, list[dict[str, Any]]]:
    """Graph, costs, cluster and the cases of one file."""
    content = json.loads(path.read_text())
    ops = content["ops"]
    index_of = {op["name"]: index for index, op in enumerate(ops)}
    edges = [
        (index_of[name.partition(":")[0]], index, int(name.partition(":")[2] or 0))
        for index, op in enumerate(ops)
        for name in op["inputs"]
    ]
    columns = np.array(edges, dtype=np.int32).reshape(-1, 3)
    count = len(ops)
    graph = ComputationGraph(
        name=content["name"],
        op_names=tuple(index_of),
        op_types=("",) * count,
        edge_source=columns[:, 0].copy(),
        edge_target=columns[:, 1].copy(),
        edge_output=columns[:, 2].copy(),
        devices=("",) * count,
        colocation=((),) * count,
        back_edges=np.zeros((0, 2), dtype=np.int32),
    )
    costs = Costs(
        kinds=("*",),
        time_us=np.array([[op["time_us"] for op in ops]], dtype=np.float64),
        output_offset=np.cumsum([0] + [len(op["output_bytes"]) for op in ops], dtype=np.int64),
        output_bytes=np.array([size for op in ops for size in op["output_bytes"]], dtype=np.int64),
        persistent_bytes=np.zeros(count, dtype=np.int64),
        temporary_bytes=np.zeros(count, dtype=np.int64),
        source=np.full(count, CostSource.GIVEN, dtype=np.uint8),
    )
    return graph, costs, published_cluster(content["devices"]), content["cases"]


def published_cluster(devices: int, memory_model: MemoryModel = MemoryModel.OUTPUTS) -> Cluster:
    """Equal GPUs as the published simulator models them."""
    return Cluster(
        devices=tuple(Device(f"/GPU:{index}", "GPU", 10**12) for index in range(devices)),
        contention=Contention.BUS,
        bandwidth_bytes_per_us=np.full((devices, devices), 7600.0),
        latency_us=np.zeros((devices, devices)),
        link_rest_us=25.0,
        op_rest_us=5.7,
        memory_model=memory_model,
    )
