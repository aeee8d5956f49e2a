"""The workloads of a published benchmark as placement problems: nodes with times, edges with the cost of an output.

Two spellings of its fields are read: the published one, and one with plain names. A file is a workload if it has nodes
and edges; another JSON file may hold an expert's split. DOPPLER's text files are workloads too (doppler.py).
Source: Tarnawski et al., Efficient algorithms for device placement of DNN graph operators, NeurIPS 2020, and the
description of the input format that comes with its code.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import MOST_MEMORY_BYTES, Cluster, Contention, Device, MemoryModel
from engine.costs.costs import Costs, CostSource
from engine.errors import GraphError
from engine.graphs.graph import BACKWARD, FORWARD, ComputationGraph
from engine.graphs.grouping.grouping import group_ops
from engine.problem import Budget, Clock, PlacementProblem, RunContext
from engine.problem.pins import allowed_devices
from engine.simulator.streams.stream import Pipeline, Stream
from experiments.public_workloads.doppler import is_doppler, workload_of_text

BYTES_A_US = 1e9
"""of every link: costs become whole bytes, and a load is right to far less than a millionth"""
MICRO_BATCHES = 8
"""the period does not depend on it"""
PUBLISHED = {
    "nodes": {
        "id": "id",
        "cpu": "cpuLatency",
        "accelerator": "fpgaLatency",
        "bytes": "size",
        "backward": "isBackwardNode",
        "colocation": "colorClass",
    },
    "edges": {"source": "sourceId", "target": "destId", "cost": "cost"},
    "workload": {"accelerators": "maxFPGAs", "cpus": "maxCPUs", "memory_bytes": "maxSizePerFPGA"},
}
"""our names → the published ones"""
ON_ACCELERATOR = "supportedOnFpga"
OPTIMUM, KNOWN_BEST = "contiguous_optimum", "known_best"
"""fields of a file with plain names: the least period of contiguous splits, and the least one known, in µs"""
OPTIMA_US = {
    "LayerGraphs bert24_inference": 17.7899,
    "LayerGraphs bert24_training": 41.7458,
    "LayerGraphs gnmt_inference": 32.9107,
    "LayerGraphs gnmt_training": 107.004,
    "LayerGraphs resnet50_inference": 33.7747,
    "LayerGraphs resnet50_training": 78.6318,
    "OperatorGraphs bert_l-3_inference": 27.9186,
    "OperatorGraphs bert_l-3_training": 65.3031,
    "OperatorGraphs bert_l-6_inference": 29.5795,
    "OperatorGraphs bert_l-6_training": 72.865,
    "OperatorGraphs bert_l-12_inference": 147.478,
    "OperatorGraphs resnet50_inference": 124.349,
    "OperatorGraphs resnet50_training": 255.194,
}
"""folder and file as they are published → the least period of contiguous splits, by the published programme"""
BEST_KNOWN_US = {"LayerGraphs gnmt_inference": 31.7827, "OperatorGraphs bert_l-3_inference": 27.5741}
"""the same → the least known period of any split, where a better one than the contiguous is known"""


@dataclass(frozen=True, slots=True)
class Workload:
    """A graph and the devices that it is for."""

    name: str
    digest: str
    """SHA-256 of its file"""
    graph: ComputationGraph
    costs: Costs
    cluster: Cluster
    node_ids: tuple[int, ...]
    """[ops]"""
    published_us: Mapping[str, float]
    """`OPTIMUM` and `KNOWN_BEST`, where they are known"""
    expert: Mapping[int, int] | None
    """node → device, where an expert's split is known"""

    @property
    def trains(self) -> bool:
        return bool((self.graph.phase == BACKWARD).any())

    def problem(
        self, *, contiguous: bool, seconds: float | None = None, clock: Clock | None = None
    ) -> PlacementProblem:
        """The problem of making its period small, each set of co-located nodes a group."""
        graph, costs, cluster = self.graph, self.costs, self.cluster
        grouping = group_ops(graph, costs, None)
        allowed = allowed_devices(graph, costs, grouping, cluster)
        stream = Stream(MICRO_BATCHES, Pipeline.ONE_F_ONE_B if self.trains else Pipeline.INFERENCE, contiguous)
        budget = Budget(MOST_TRIED, seconds)
        return PlacementProblem(
            graph, costs, grouping, cluster, allowed, RunContext.of(budget, clock=clock), stream=stream
        )


MOST_TRIED = 100_000_000
"""evaluations: seconds end a run"""
PICKLES = (".pk", ".pkl", ".pickle")


def workloads_in(folder: Path) -> Iterator[Workload]:
    """The workloads in the files of `folder` and below. Raises GraphError for one that lacks a field, or a pickle."""
    refuse_pickles(folder)
    texts = {path: path.read_bytes() for path in sorted(folder.rglob("*.json"))}
    objects = {path: content for path, text in texts.items() if isinstance(content := json.loads(text), dict)}
    experts = {path.stem: content for path, content in objects.items() if {"fpgas", "cpus"} <= content.keys()}
    texts |= {path: path.read_bytes() for path in sorted(folder.rglob("*.txt"))}
    objects |= dict(_of_doppler(texts))
    for path, content in objects.items():
        spelled = PUBLISHED["workload"]
        if {"nodes", "edges"} <= content.keys() and (spelled.keys() <= content.keys() or _is_published(content)):
            name = content.get("name") or f"{path.parent.name} {path.stem}"
            digest = hashlib.sha256(texts[path]).hexdigest()
            try:
                yield _workload(name, digest, content, _expert_of(path.stem, experts))
            except KeyError as error:
                raise GraphError(f"a node, an edge or the file has no {error}", where=path.name) from error


def refuse_pickles(folder: Path) -> None:
    """Refuse a folder with pickles, as GiPH's graphs are. Raises GraphError."""
    pickles = [path for path in sorted(folder.rglob("*")) if path.suffix in PICKLES]
    if pickles:
        raise GraphError(
            "this is a pickle, which would run what its author wrote",
            where=pickles[0].name,
            allowed="JSON, and DOPPLER's .txt",
        )


def _of_doppler(texts: Mapping[Path, bytes]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Path → object with plain names, of DOPPLER's files among `texts`."""
    for path, content in texts.items():
        text = content.decode(errors="replace") if path.suffix == ".txt" else ""
        if is_doppler(text):
            yield path, workload_of_text(path, text)


def _is_published(content: Mapping[str, Any]) -> bool:
    return PUBLISHED["workload"]["accelerators"] in content


def _expert_of(name: str, experts: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The expert's split for workload `name`: that of the inference serves its training too."""
    for likely in (name, name.replace("training", "inference")):
        if f"{likely}_expert" in experts:
            return experts[f"{likely}_expert"]
    return None


def _workload(name: str, digest: str, content: Mapping[str, Any], expert: Mapping[str, Any] | None) -> Workload:
    named = _named(content)
    graph, costs = _graph(name, named), _costs(named)
    ids = tuple(node["id"] for node in named["nodes"])
    known = {key: content[key] for key in (OPTIMUM, KNOWN_BEST) if key in content}
    of_names = ((OPTIMUM, OPTIMA_US), (KNOWN_BEST, BEST_KNOWN_US))
    published = {key: table[name] for key, table in of_names if name in table} | known
    split = None if expert is None else _split_of(expert, named)
    return Workload(name, digest, graph, costs, _cluster(named), ids, published, split)


def _named(content: Mapping[str, Any]) -> dict[str, Any]:
    """The file's object with our names."""
    published = _is_published(content)

    def with_our_names(given: Mapping[str, Any], part: str) -> dict[str, Any]:
        names = PUBLISHED[part]
        optional = "colocation"
        taken = {ours: theirs if published else ours for ours, theirs in names.items()}
        return {ours: given.get(name) if ours == optional else given[name] for ours, name in taken.items()}

    return {
        **with_our_names(content, "workload"),
        "nodes": [
            with_our_names(node, "nodes") | {ON_ACCELERATOR: bool(node.get(ON_ACCELERATOR, True))}
            for node in content["nodes"]
        ],
        "edges": [with_our_names(edge, "edges") for edge in content["edges"]],
    }


def _graph(name: str, named: Mapping[str, Any]) -> ComputationGraph:
    nodes = named["nodes"]
    index = {node["id"]: number for number, node in enumerate(nodes)}
    ends = [(index[edge["target"]], index[edge["source"]]) for edge in named["edges"]]
    target, source = np.array(sorted(ends), dtype=np.int32).reshape(-1, 2).T
    return ComputationGraph(
        name=name,
        op_names=tuple(f"node_{node['id']}" for node in nodes),
        op_types=("",) * len(nodes),
        edge_source=source.copy(),
        edge_target=target.copy(),
        edge_output=np.zeros(len(ends), np.int32),
        devices=("",) * len(nodes),
        colocation=tuple(() if node["colocation"] is None else (f"class_{node['colocation']}",) for node in nodes),
        back_edges=np.zeros((0, 2), np.int32),
        phase=np.array([BACKWARD if node["backward"] else FORWARD for node in nodes], np.uint8),
    )


def _costs(named: Mapping[str, Any]) -> Costs:
    """The nodes' costs; an output's bytes are those of the greatest cost that one of its edges has."""
    nodes = named["nodes"]
    index = {node["id"]: number for number, node in enumerate(nodes)}
    cost_us = np.zeros(len(nodes))
    for edge in named["edges"]:
        source = index[edge["source"]]
        cost_us[source] = max(cost_us[source], edge["cost"])
    accelerator_us = [node["accelerator"] if node[ON_ACCELERATOR] else np.nan for node in nodes]
    return Costs(
        kinds=("GPU", "CPU"),
        time_us=np.array([accelerator_us, [node["cpu"] for node in nodes]], dtype=np.float64),
        output_offset=np.arange(len(nodes) + 1, dtype=np.int64),
        output_bytes=np.rint(cost_us * BYTES_A_US).astype(np.int64),
        persistent_bytes=np.array([round(node["bytes"]) for node in nodes], dtype=np.int64),
        temporary_bytes=np.zeros(len(nodes), np.int64),
        source=np.full(len(nodes), CostSource.GIVEN, np.uint8),
    )


def _cluster(named: Mapping[str, Any]) -> Cluster:
    """Accelerators, then CPUs, whose memory has no end."""
    counts = {"GPU": named["accelerators"], "CPU": named["cpus"]}
    memory_bytes = {"GPU": int(named["memory_bytes"]), "CPU": MOST_MEMORY_BYTES}
    devices = tuple(
        Device(f"/device:{kind}:{number}", kind, memory_bytes[kind])
        for kind, count in counts.items()
        for number in range(count)
    )
    links = (len(devices), len(devices))
    return Cluster(
        devices=devices,
        contention=Contention.HOST,
        bandwidth_bytes_per_us=np.full(links, BYTES_A_US),
        latency_us=np.zeros(links),
        link_rest_us=0.0,
        op_rest_us=0.0,
        memory_model=MemoryModel.PERSISTENT,
    )


def _split_of(expert: Mapping[str, Any], named: Mapping[str, Any]) -> dict[int, int] | None:
    """Node → device, or None if the split is one of another graph.

    Nodes of the backward pass that the split does not name go with those of their co-location class.
    """
    device_of: dict[int, int] = {}
    for part, first in (("fpgas", 0), ("cpus", named["accelerators"])):
        for number, machine in enumerate(expert[part]):
            device_of |= dict.fromkeys(machine["nodes"], first + number)
    nodes = {node["id"]: node for node in named["nodes"]}
    of_class = {nodes[node]["colocation"]: device for node, device in device_of.items() if node in nodes}
    of_class.pop(None, None)
    left = [node for node in nodes.values() if node["id"] not in device_of]
    if not device_of.keys() <= nodes.keys() or any(node["colocation"] not in of_class for node in left):
        return None
    return device_of | {node["id"]: of_class[node["colocation"]] for node in left}


def placement_of_nodes(
    workload: Workload, problem: PlacementProblem, device_of: Mapping[int, int]
) -> NDArray[np.int32]:
    """[groups] the placement of a split of nodes."""
    placement = np.zeros(problem.group_count, dtype=np.int32)
    placement[problem.grouping.group_of_op] = [device_of[node] for node in workload.node_ids]
    return placement
