"""Graphs of any size in the shape of a training step, for benchmarks: no file and no TensorFlow needed."""

import numpy as np

from engine.costs.costs import ANY_KIND, Costs, CostSource
from engine.graphs.graph import CONTROL, ComputationGraph

OPS_PER_LAYER = 18
BRANCHES = 4


class _Builder:
    """Collects ops and edges in the order of a file."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.names: list[str] = []
        self.edges: list[tuple[int, int, int]] = []
        self.time_us: list[float] = []
        self.outputs: list[list[int]] = []
        self.persistent: list[int] = []

    def op(self, name: str, inputs: list[tuple[int, int]], size: int = 0, persistent: int = 0, outputs: int = 1) -> int:
        """Add an op; an op without `size` takes no time, as constants, shapes and identities do in estimates."""
        index = len(self.names)
        self.names.append(name)
        self.edges += [(source, index, output) for source, output in inputs]
        self.time_us.append(round(float(self.rng.lognormal(3.0, 1.2)), 3) if size else 0.0)
        self.outputs.append([size or 4] * outputs)
        self.persistent.append(persistent)
        return index


def make_training_graph(ops: int, rng: np.random.Generator) -> tuple[ComputationGraph, Costs]:
    """About `ops` ops: layers with variables, in parallel branches, the way back, and an update of each variable.

    As in TensorFlow's graphs about half of the ops take no time, and there are 1.6 edges an op.
    """
    builder = _Builder(rng)
    layers = max(1, ops // OPS_PER_LAYER)
    forward: list[tuple[int, int, int]] = []
    tips = [builder.op("input", [], size=1 << 20)] * BRANCHES
    for layer in range(layers):
        branch = layer % BRANCHES
        if branch == 0:
            tips = [
                builder.op(f"block{layer}/concat", [(tip, 0) for tip in dict.fromkeys(tips)], size=1 << 20)
            ] * BRANCHES
        tips[branch] = _add_layer(builder, layer, tips[branch], forward)
    gradient = builder.op("loss", [(tip, 0) for tip in dict.fromkeys(tips)], size=4)
    updates = []
    for layer in reversed(range(layers)):
        gradient, update = _add_gradient(builder, layer, gradient, forward[layer])
        updates.append(update)
    builder.op("train", [(update, CONTROL) for update in updates])
    return _finished(builder)


def _add_layer(builder: _Builder, layer: int, tip: int, forward: list[tuple[int, int, int]]) -> int:
    size = int(builder.rng.integers(1 << 14, 1 << 22))
    shape = builder.op(f"layer{layer}/shape", [])
    weights = builder.op(f"layer{layer}/weights", [(shape, CONTROL)], size=0, persistent=size)
    read = builder.op(f"layer{layer}/read", [(weights, 0)])
    product = builder.op(f"layer{layer}/conv", [(tip, 0), (read, 0)], size=size)
    bias = builder.op(f"layer{layer}/bias", [], persistent=size >> 8)
    normal = builder.op(f"layer{layer}/norm", [(product, 0), (bias, 0)], size=size, outputs=3)
    active = builder.op(f"layer{layer}/relu", [(normal, 0)], size=size)
    forward.append((weights, product, normal))
    return active


def _add_gradient(builder: _Builder, layer: int, gradient: int, layer_ops: tuple[int, int, int]) -> tuple[int, int]:
    """Add the gradient ops of a layer; returns the op of its input's gradient and the update of its variable."""
    weights, product, normal = layer_ops
    size = builder.outputs[product][0]
    relu = builder.op(f"gradients/layer{layer}/relu", [(gradient, 0), (normal, 0)], size=size)
    stop = builder.op(f"gradients/layer{layer}/group", [(relu, CONTROL)])
    norm = builder.op(f"gradients/layer{layer}/norm", [(relu, 0), (normal, 1), (normal, 2), (stop, CONTROL)], size=size)
    shape = builder.op(f"gradients/layer{layer}/shape", [(product, 0)])
    reshaped = builder.op(f"gradients/layer{layer}/reshape", [(norm, 0), (shape, 0)])
    back = builder.op(f"gradients/layer{layer}/input", [(norm, 0), (weights, 0)], size=size)
    filters = builder.op(f"gradients/layer{layer}/filter", [(norm, 0), (product, 0), (reshaped, 0)], size=size)
    rate = builder.op(f"update/layer{layer}/rate", [])
    moment = builder.op(f"update/layer{layer}/moment", [], persistent=size)
    scaled = builder.op(f"update/layer{layer}/scaled", [(filters, 0), (rate, 0), (moment, 0)], size=size)
    update = builder.op(f"update/layer{layer}/apply", [(weights, 0), (scaled, 0)], size=4)
    return back, update


def _finished(builder: _Builder) -> tuple[ComputationGraph, Costs]:
    count = len(builder.names)
    columns = np.array(builder.edges, dtype=np.int32).reshape(-1, 3)
    graph = ComputationGraph(
        name=f"training step of {count} ops",
        op_names=tuple(builder.names),
        op_types=("",) * count,
        edge_source=columns[:, 0].copy(),
        edge_target=columns[:, 1].copy(),
        edge_output=columns[:, 2].copy(),
        devices=("",) * count,
        colocation=((),) * count,
        back_edges=np.zeros((0, 2), dtype=np.int32),
    )
    costs = Costs(
        kinds=(ANY_KIND,),
        time_us=np.array([builder.time_us]),
        output_offset=np.cumsum([0] + [len(sizes) for sizes in builder.outputs], dtype=np.int64),
        output_bytes=np.array([size for sizes in builder.outputs for size in sizes], dtype=np.int64),
        persistent_bytes=np.array(builder.persistent, dtype=np.int64),
        temporary_bytes=np.zeros(count, dtype=np.int64),
        source=np.full(count, CostSource.GIVEN, dtype=np.uint8),
    )
    return graph, costs
