"""Draws the graph of a network with its costs: a forward pass, or a training step with its gradients and updates.

Nothing is measured on real networks: sizes, times and bytes are drawn from wide ranges. Layers are of a few types, as
in real networks, and those of a type are alike but for some noise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import Costs, CostSource
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import group_ops
from engine.policies.drawn.shapes import SHAPES, LayerEdges, log_uniform
from engine.prepared import PreparedGraph

LAYER_US = (20.0, 5000.0)
"""mean forward time of a layer on the fastest kind, log-uniform"""
COMPUTE_TO_TRANSFER = (0.05, 5.0)
"""mean time of a layer, gradients included, over the mean transfer of its output, log-uniform"""
BYTES_PER_US = 7600.0
"""of the link for which this ratio is drawn"""
TYPES = (2, 9)
"""types of layers: at least, and less than"""
TYPE_SPREAD, LAYER_SPREAD = 1.0, (0.05, 0.8)
"""deviations of the logarithms of times and bytes, over types and within one; the last one is log-uniform"""
NARROWING = 1.5
"""most by which the logarithm of the outputs grows or falls from the first layer to the last"""
MOST_IN_A_BLOCK = 8
"""layers after which their types repeat"""
OUT_OF_RHYTHM = 0.2
"""share of layers with another type"""
BACKWARD = (1.0, 2.5)
"""time of a layer's gradients over its own"""
UPDATE_SHARE = 0.03
"""time of the update of its weights over its own"""
WEIGHTED_SHARE = 0.6
"""of the types, that have weights"""
WEIGHTS_TO_OUTPUTS = (0.01, 10.0)
"""mean bytes of the weights of such a layer over those of an output, log-uniform"""
KIND_SPREAD = 0.2
"""deviation of the logarithm of an op type's slowness on a slower kind from that of the kind"""


@dataclass(frozen=True, slots=True)
class _Layers:
    """What is drawn for each layer; all [layers]."""

    time_us: NDArray[np.float64]
    output_bytes: NDArray[np.float64]
    weight_bytes: NDArray[np.float64]
    kind: NDArray[np.int64]
    """the type of the layer"""


@dataclass(frozen=True, slots=True)
class _Ops:
    """Ops, all [ops] but for the edges, which name ops by their number among all ops of the graph."""

    names: list[str]
    layer: NDArray[np.int64]
    """the layer to which each belongs"""
    time_us: NDArray[np.float64]
    output_bytes: NDArray[np.float64]
    persistent_bytes: NDArray[np.float64]
    edges: LayerEdges


def drawn_graph(
    shape: str, layers: int, slowness_of_kind: dict[str, float], rng: np.random.Generator, *, trains: bool
) -> PreparedGraph:
    """A network of about `layers` layers in one of `SHAPES`; with `trains`, a training step.

    Each layer is a group, with its gradient and its update. `slowness_of_kind` is how many times longer ops take on a
    kind of devices than on the fastest, 1; it varies a little with an op's type.
    """
    edges = SHAPES[shape](layers, rng)
    drawn = _drawn_layers(1 + max(max(edge) for edge in edges), trains, rng)
    ops = _training_step(edges, drawn, rng) if trains else _forward_pass(edges, drawn)
    kinds = np.array(list(slowness_of_kind.values()))[:, None]
    of_type = np.where(kinds > 1.0, kinds * rng.lognormal(0.0, KIND_SPREAD, (len(kinds), TYPES[1])), kinds)
    type_of_op = drawn.kind[ops.layer]
    wires = np.array(sorted(ops.edges, key=lambda edge: (edge[1], edge[0])), dtype=np.int32)
    count = len(ops.names)
    graph = ComputationGraph(
        name=shape,
        op_names=tuple(ops.names),
        op_types=tuple(f"type_{number}" for number in type_of_op.tolist()),
        edge_source=wires[:, 0].copy(),
        edge_target=wires[:, 1].copy(),
        edge_output=np.zeros(len(wires), np.int32),
        devices=("",) * count,
        colocation=tuple((ops.names[layer],) for layer in ops.layer.tolist()),
        back_edges=np.zeros((0, 2), np.int32),
    )
    costs = Costs(
        kinds=tuple(slowness_of_kind),
        time_us=ops.time_us[None, :] * of_type[:, type_of_op],
        output_offset=np.arange(count + 1, dtype=np.int64),
        output_bytes=ops.output_bytes.astype(np.int64),
        persistent_bytes=ops.persistent_bytes.astype(np.int64),
        temporary_bytes=np.zeros(count, np.int64),
        source=np.full(count, CostSource.GIVEN, np.uint8),
    )
    return PreparedGraph(graph, costs, group_ops(graph, costs, None))


def _drawn_layers(count: int, trains: bool, rng: np.random.Generator) -> _Layers:
    types = int(rng.integers(*TYPES))
    block = np.resize(rng.integers(0, types, int(rng.integers(1, MOST_IN_A_BLOCK + 1))), count)
    kind = np.where(rng.random(count) < OUT_OF_RHYTHM, rng.integers(0, types, count), block)
    spread = log_uniform(*LAYER_SPREAD, rng)

    def sizes() -> NDArray[np.float64]:
        of_type = rng.lognormal(0.0, TYPE_SPREAD, types)
        return np.asarray(of_type[kind] * rng.lognormal(0.0, spread, count))

    time_us = sizes()
    time_us *= log_uniform(*LAYER_US, rng) / time_us.mean()
    work_us = time_us.mean() * (1.0 + trains * sum(BACKWARD) / 2)
    output = sizes() * np.exp(rng.uniform(-NARROWING, NARROWING) * np.arange(count) / count)
    output *= BYTES_PER_US * work_us / log_uniform(*COMPUTE_TO_TRANSFER, rng) / output.mean()
    has_weights = (rng.random(types) < WEIGHTED_SHARE)[kind]
    weights = sizes() * output.mean() * log_uniform(*WEIGHTS_TO_OUTPUTS, rng)
    return _Layers(time_us, output, np.where(has_weights, np.rint(weights), 0.0), kind)


def _forward_pass(edges: LayerEdges, drawn: _Layers) -> _Ops:
    count = len(drawn.time_us)
    names = [f"layer_{layer}" for layer in range(count)]
    return _Ops(names, np.arange(count), drawn.time_us, drawn.output_bytes, drawn.weight_bytes, edges)


def _training_step(edges: LayerEdges, drawn: _Layers, rng: np.random.Generator) -> _Ops:
    """The forward pass, the gradient of each layer, and the update of each layer with weights.

    A gradient consumes what its layer consumed and produced, and the gradients of the layer's consumers; its output is
    as large as the largest input of its layer.
    """
    forward = _forward_pass(edges, drawn)
    count, learned = len(forward.names), np.flatnonzero(drawn.weight_bytes)
    inputs = np.zeros(count)
    np.maximum.at(inputs, [target for _, target in edges], drawn.output_bytes[[source for source, _ in edges]])
    wires = [(layer, count + layer) for layer in range(count)]
    wires += [(source, count + target) for source, target in edges]
    wires += [(count + target, count + source) for source, target in edges]
    wires += [(count + int(layer), 2 * count + number) for number, layer in enumerate(learned)]
    gradients = [f"gradients/{name}_grad/{name}" for name in forward.names]
    updates = [f"update/{forward.names[layer]}" for layer in learned]
    unkept = np.zeros(count + len(learned))
    backward_us = rng.uniform(*BACKWARD) * drawn.time_us
    return _Ops(
        names=[*forward.names, *gradients, *updates],
        layer=np.concatenate([forward.layer, forward.layer, learned]),
        time_us=np.concatenate([drawn.time_us, backward_us, UPDATE_SHARE * drawn.time_us[learned]]),
        output_bytes=np.concatenate([drawn.output_bytes, inputs, np.zeros(len(learned))]),
        persistent_bytes=np.concatenate([drawn.weight_bytes, unkept]),
        edges=[*edges, *wires],
    )
