"""Drawn models and plans, and small ones by hand, for the tests of plans."""

import dataclasses
import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention
from engine.costs.costs import Costs
from engine.graphs.graph import BACKWARD, FORWARD, NOT_SAID, OPTIMIZER, ComputationGraph, with_edges
from engine.graphs.grouping.grouping import Grouping, edges_between
from engine.plans.by_batch import ModelByBatch
from engine.plans.plan import Plan, Replica
from engine.prepared import PreparedGraph
from engine.simulator.streams.stream import Pipeline
from tests.engine.simulator.cases import Op, cluster_of, graph_of
from tests.engine.simulator.streams.drawn_batches import drawn_batch


def model_of_ops(graph: ComputationGraph, small: Costs, large: Costs) -> ModelByBatch:
    """A model read at one and at three samples, each op a group."""
    none = np.zeros((0, 2), np.int32)
    alone = np.arange(graph.op_count, dtype=np.int32)
    groups = Grouping(graph.op_names, alone, none[:, 0], none[:, 0], np.zeros(0, np.int64), none)
    return ModelByBatch((PreparedGraph(graph, small, groups), PreparedGraph(graph, large, groups)), (1, 3))


def drawn_plan(seed: int) -> tuple[ModelByBatch, Cluster, Plan, Pipeline]:
    """A model of three phases on two or three replicas of one or two devices; optimizers stand with what they take."""
    rng = np.random.default_rng(seed)
    graph, costs, cluster, stream, _ = drawn_batch(rng)
    devices = int(rng.integers(2, 6))
    cluster = _wider(rng, cluster, devices)
    sizes = rng.multinomial(devices - 2, [0.5, 0.5]) + 1 if devices < 5 else np.array([2, 1, 2])
    order, placements, replicas, first = rng.permutation(devices), [], [], 0
    for size in sizes.tolist():
        own = tuple(order[first : first + size].tolist())
        placements.append(rng.integers(0, size, graph.op_count).astype(np.int32))
        micro_batch, micro_batches = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        replicas.append(Replica(own, placements[-1], micro_batch, micro_batches))
        first += size
    graph = _with_gradients(rng, graph, placements)
    is_late = graph.phase[graph.edge_target] == OPTIMIZER
    together = [placement[graph.edge_source] == placement[graph.edge_target] for placement in placements]
    kept = ~is_late | np.all(together, axis=0)
    ends = {name: getattr(graph, name)[kept] for name in ("edge_source", "edge_target", "edge_output")}
    large = dataclasses.replace(
        costs, time_us=costs.time_us * rng.uniform(1, 3, costs.time_us.shape), output_bytes=costs.output_bytes * 2
    )
    return (
        model_of_ops(dataclasses.replace(graph, **ends), costs, large),
        cluster,
        Plan(tuple(replicas)),
        stream.pipeline,
    )


def drawn_plan_with_turns(seed: int) -> tuple[ModelByBatch, Cluster, Plan, Pipeline]:
    """A plan of `drawn_plan` with the devices of further ones, which take turns with those of its first replica."""
    rng = np.random.default_rng(seed)
    model, cluster, plan, pipeline = drawn_plan(seed)
    first, *others = plan.replicas
    own, further = len(first.devices), rng.integers(1, 4, len(first.devices)).tolist()
    alone = cluster.device_count
    cluster = _wider(rng, cluster, alone + sum(further) - own)
    added = iter(range(alone, cluster.device_count))
    turns, devices = [], [*first.devices]
    for index, count in enumerate(further):
        turns.append((index, *range(len(devices), len(devices) + count - 1)))
        devices += [next(added) for _ in range(count - 1)]
    micro_batches = max(first.micro_batches, math.lcm(*further))
    turned = Replica(tuple(devices), first.placement, first.micro_batch, micro_batches, tuple(turns))
    return model, cluster, Plan((turned, *others)), pipeline


def _with_gradients(
    rng: np.random.Generator, graph: ComputationGraph, placements: list[NDArray[np.int32]]
) -> ComputationGraph:
    """`graph` with a gradient for each op of the optimizer, which goes where the gradient is."""
    made = np.flatnonzero(graph.phase == BACKWARD)
    edges = []
    for op in np.flatnonzero(graph.phase == OPTIMIZER).tolist() if len(made) else []:
        source = int(rng.choice(made))
        edges.append((source, op, 0))
        for placement in placements:
            placement[op] = placement[source]
    return with_edges(graph, edges)


def _wider(rng: np.random.Generator, cluster: Cluster, devices: int) -> Cluster:
    first = cluster.devices[0]
    kinds = rng.choice(["K80", "K80", "CPU"], devices).tolist()
    return dataclasses.replace(
        cluster,
        devices=tuple(dataclasses.replace(first, name=f"d{index}", kind=kind) for index, kind in enumerate(kinds)),
        bandwidth_bytes_per_us=rng.uniform(20, 200, (devices, devices)),
        latency_us=rng.uniform(0.1, 9, (devices, devices)),
    )


def one_gradient(megabytes: int, state: int = 0) -> tuple[ModelByBatch, Cluster]:
    """A forward op, its backward op with one gradient, and the optimizer's op with its state."""
    ops = [
        Op("weights", (), 0.0, (0,), persistent=700),
        Op("state", (), 0.0, (0,), persistent=state),
        Op("forward", ["weights"], 10.0, (0,)),
        Op("backward", ["forward"], 20.0, (megabytes * 10**6,)),
        Op("update", ["backward", "state"], 30.0, (0,)),
    ]
    graph, costs = graph_of(ops)
    phases = [NOT_SAID, NOT_SAID, FORWARD, BACKWARD, OPTIMIZER]
    graph = dataclasses.replace(graph, phase=np.array(phases, np.uint8))
    return model_of_ops(graph, costs, costs), cluster_of(
        4, Contention.PAIR, bandwidth_bytes_per_us=1000.0, latency_us=5.0, op_rest_us=0.0, link_rest_us=0.0
    )


def all_divisions(devices: int) -> list[list[list[int]]]:
    """All ways to put each of the devices into a replica, or none."""
    found = []
    for replica_of in itertools.product(range(-1, devices), repeat=devices):
        replicas = sorted({each for each in replica_of if each >= 0})
        if replicas == list(range(len(replicas))) and replicas:
            found.append([[index for index, each in enumerate(replica_of) if each == own] for own in replicas])
    return found


def drawn_case(seed: int, most_layers: int = 3, most_devices: int = 3) -> tuple[ModelByBatch, Cluster, int]:
    """Two or more layers with their optimizers on two or more devices of two speeds; the batch has two to four."""
    rng = np.random.default_rng(seed)
    layers, devices = int(rng.integers(2, most_layers + 1)), int(rng.integers(2, most_devices + 1))
    ops = [
        Op(f"f{i}", [f"f{i - 1}"] * (i > 0), float(rng.uniform(5, 50)), (int(rng.integers(10, 2000)),))
        for i in range(layers)
    ]
    for i in reversed(range(layers)):
        outputs = (int(rng.integers(10, 2000)), int(rng.integers(10, 4000)))
        ops.append(Op(f"b{i}", [f"f{i}", *[f"b{i + 1}"] * (i + 1 < layers)], float(rng.uniform(10, 90)), outputs))
    ops += [Op(f"u{i}", (f"b{i}:1",), float(rng.uniform(0, 9))) for i in range(layers)]
    graph, costs = graph_of(ops)
    phases = [FORWARD] * layers + [BACKWARD] * layers + [OPTIMIZER] * layers
    layer_of_op = np.array([*range(layers), *reversed(range(layers)), *range(layers)], np.int32)
    graph = dataclasses.replace(graph, phase=np.array(phases, np.uint8))
    speed = float(rng.uniform(1, 4))
    costs = dataclasses.replace(
        costs, kinds=("GPU", "CPU"), time_us=np.concatenate([costs.time_us, costs.time_us * speed])
    )
    model = model_of_ops(graph, costs, costs)
    pairs, sizes = edges_between(graph, costs, layer_of_op)
    is_forward = pairs[:, 0] < pairs[:, 1]
    grouping = Grouping(
        names=tuple(f"layer{i}" for i in range(layers)),
        group_of_op=layer_of_op,
        edge_source=pairs[is_forward, 0].astype(np.int32),
        edge_target=pairs[is_forward, 1].astype(np.int32),
        edge_bytes=sizes[is_forward],
        feedback_edges=pairs[~is_forward].astype(np.int32),
    )
    prepared = dataclasses.replace(model.prepared, grouping=grouping)
    cluster = cluster_of(devices, Contention.PAIR, bandwidth_bytes_per_us=float(rng.uniform(10, 300)), latency_us=2.0)
    kinds = ["K80", "K80", "CPU", "CPU"][:devices] if seed % 2 else ["K80", "CPU", "CPU", "CPU"][:devices]
    cluster = dataclasses.replace(
        cluster,
        devices=tuple(dataclasses.replace(each, kind=kind) for each, kind in zip(cluster.devices, kinds, strict=True)),
    )
    return ModelByBatch((prepared,), (1,)), cluster, int(rng.integers(2, 5))


def all_divided(model: ModelByBatch, cluster: Cluster, batch: int) -> Iterator[Plan]:
    """Every division, every share, and every placement of each replica on its devices or on those that take turns."""
    groups = model.prepared.grouping.group_count
    for division in all_divisions(cluster.device_count):
        for shares in itertools.product(range(1, batch + 1), repeat=len(division)):
            if sum(shares) == batch:
                replicas = [_all_replicas(own, groups, share) for own, share in zip(division, shares, strict=True)]
                yield from (Plan(chosen) for chosen in itertools.product(*replicas))


def _all_replicas(devices: list[int], groups: int, share: int) -> Iterator[Replica]:
    places_of_devices = itertools.product(range(len(devices)), repeat=len(devices))
    for places in {tuple(map(place_of.index, place_of)) for place_of in places_of_devices}:
        sets = [tuple(np.flatnonzero(np.array(places) == first).tolist()) for first in sorted({*places})]
        for chosen in itertools.product(range(len(sets)), repeat=groups):
            turns = tuple(sets[index] for index in sorted({*chosen}) if len(sets[index]) > 1)
            if math.lcm(*map(len, turns)) <= share:
                placement = np.array([sets[index][0] for index in chosen], np.int32)
                yield Replica(tuple(devices), placement, 1, share, turns)
