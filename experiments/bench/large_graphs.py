"""GraphDefs of any size in the shape of a training step, from real op types, and one of large constants.

Made in a child process from protobuf's messages alone: TensorFlow itself would take minutes for so many ops.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.graphs.tensorflow.messages import Message, load_messages

OPS_PER_LAYER = 19
BRANCHES = 4
BATCH, FEATURES, INNER = 32, 64, (64, 128, 256, 512)
LEARNING_RATE, MOMENTUM = 0.1, 0.9
FLOAT = 1
"""DataType"""


def build_training_graph_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Write a training step of about `ops` ops to `path`."""
    builder = _Builder()
    _build_training_step(builder, cast(int, order["ops"]))
    return _written(builder, cast(str, order["path"]))


def build_constants_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Write a chain of matrix products with constants of `constant_bytes` each, `file_bytes` in all, to `path`."""
    builder = _Builder()
    constant_bytes = cast(int, order["constant_bytes"])
    width = int((constant_bytes // 4) ** 0.5)
    tip = builder.op("input", "Placeholder", dtype=FLOAT, shape=(BATCH, width))
    room = 1024  # of a node beside its constant
    for layer in range(cast(int, order["file_bytes"]) // (constant_bytes + room)):
        weights = builder.op(f"layer{layer}/weights", "Const", dtype=FLOAT)
        value = builder.graph.node[-1].attr["value"].tensor
        value.dtype, value.tensor_content = FLOAT, bytes([layer % 256]) * (4 * width * width)
        _set_shape(value.tensor_shape, (width, width))
        tip = builder.op(f"layer{layer}/product", "MatMul", [tip, weights], T=FLOAT)
    return _written(builder, cast(str, order["path"]))


def _written(builder: "_Builder", path: str) -> Results:
    Path(path).write_bytes(builder.graph.SerializeToString(deterministic=True))
    return {}, {"ops": len(builder.graph.node)}


class _Builder:
    """Collects the nodes of a GraphDef."""

    def __init__(self) -> None:
        self.graph: Message = load_messages("tensorflow.core.framework.graph_pb2").GraphDef()

    def op(self, name: str, op_type: str, inputs: Iterable[str] = (), near: str = "", **attributes: object) -> str:
        """Add a node and return its name: an int is a type, a tuple a shape, a bool a bool, a float a constant."""
        node = self.graph.node.add(name=name, op=op_type, input=inputs)
        if near:
            node.attr["_class"].list.s.append(f"loc:@{near}".encode())
        for key, value in attributes.items():
            if isinstance(value, bool):
                node.attr[key].b = value
            elif isinstance(value, int):
                node.attr[key].type = value
            elif isinstance(value, str):
                node.attr[key].s = value.encode()
            elif isinstance(value, float):
                node.attr[key].tensor.dtype = FLOAT
                node.attr[key].tensor.tensor_shape.SetInParent()
                node.attr[key].tensor.float_val.append(value)
            elif isinstance(value, tuple):
                _set_shape(node.attr[key].shape, value)
        return name

    def variable(self, name: str, shape: tuple[int, ...], near: str = "") -> str:
        return self.op(name, "VarHandleOp", (), near, dtype=FLOAT, shape=shape, shared_name=name, container="")


def _set_shape(shape: Message, lengths: Sequence[int]) -> None:
    for length in lengths:
        shape.dim.add(size=length)


class _Layer(NamedTuple):
    """The facts about a layer that its gradient ops need."""

    name: str
    taken: str
    """the op that produces its input"""
    inner: int
    """number of features between its two matrix products"""


def _build_training_step(builder: _Builder, ops: int) -> None:
    """A training step: dense layers in branches that meet at intervals, their gradients, momentum for each variable."""
    rate = builder.op("rate", "Const", dtype=FLOAT, value=LEARNING_RATE)
    momentum = builder.op("momentum", "Const", dtype=FLOAT, value=MOMENTUM)
    count = builder.op("count", "Const", dtype=FLOAT, value=float(BATCH))
    tips = [builder.op("images", "Placeholder", dtype=FLOAT, shape=(BATCH, FEATURES))] * BRANCHES
    layers: list[_Layer] = []
    for index in range(max(BRANCHES, -(-ops // OPS_PER_LAYER))):
        block, branch = divmod(index, BRANCHES)
        if block and branch == 0:
            tips = [_sum(builder, f"block{block}/sum", tips)] * BRANCHES
        layers.append(_Layer(f"layer{index}", tips[branch], INNER[block % len(INNER)]))
        tips[branch] = _add_layer(builder, layers[-1])
    output = _sum(builder, "output", tips)
    gradient = builder.op("gradients/output_grad/truediv", "RealDiv", [output, count], T=FLOAT)
    updates: list[str] = []
    for layer in reversed(layers):
        gradient, updated = _add_gradient(builder, layer, gradient, rate, momentum)
        updates += updated
    builder.op("train_step", "NoOp", [f"^{update}" for update in updates])


def _sum(builder: _Builder, name: str, inputs: Sequence[str]) -> str:
    total = builder.op(name, "AddN", inputs, T=FLOAT)
    builder.graph.node[-1].attr["N"].i = len(inputs)
    return total


def _add_layer(builder: _Builder, layer: _Layer) -> str:
    """Add a layer from `FEATURES` to `inner` features and back: 8 ops."""
    name = layer.name
    weights = builder.variable(f"{name}/weights", (FEATURES, layer.inner))
    bias = builder.variable(f"{name}/bias", (layer.inner,))
    read = builder.op(f"{name}/read_weights", "ReadVariableOp", [weights], dtype=FLOAT)
    read_bias = builder.op(f"{name}/read_bias", "ReadVariableOp", [bias], dtype=FLOAT)
    product = builder.op(f"{name}/product", "MatMul", [layer.taken, read], T=FLOAT)
    added = builder.op(f"{name}/add", "BiasAdd", [product, read_bias], T=FLOAT)
    active = builder.op(f"{name}/relu", "Relu", [added], T=FLOAT)
    return builder.op(f"{name}/back", "MatMul", [active, read], T=FLOAT, transpose_b=True)


def _add_gradient(builder: _Builder, layer: _Layer, gradient: str, rate: str, momentum: str) -> tuple[str, list[str]]:
    """Add a layer's gradient ops and the updates of its variables: 12 ops."""
    name, scope, product = layer.name, f"gradients/{layer.name}", f"gradients/{layer.name}/product_grad"
    read = f"{name}/read_weights"
    inner = builder.op(f"{scope}/back_grad/MatMul", "MatMul", [gradient, read], T=FLOAT)
    active = builder.op(f"{scope}/relu_grad/ReluGrad", "ReluGrad", [inner, f"{name}/relu"], T=FLOAT)
    bias = builder.op(f"{scope}/add_grad/BiasAddGrad", "BiasAddGrad", [active], T=FLOAT)
    before = builder.op(f"{product}/MatMul", "MatMul", [active, read], T=FLOAT, transpose_b=True)
    weights = builder.op(f"{product}/MatMul_1", "MatMul", [layer.taken, active], T=FLOAT, transpose_a=True)
    both = builder.op(f"{product}/tuple/group_deps", "NoOp", [f"^{before}", f"^{weights}"])
    passed = builder.op(f"{product}/tuple/control_dependency", "Identity", [before, f"^{both}"], before, T=FLOAT)
    updates: list[str] = []
    for variable, shape, change in (
        (f"{name}/weights", (FEATURES, layer.inner), weights),
        (f"{name}/bias", (layer.inner,), bias),
    ):
        slot = builder.variable(f"{variable}/Momentum", shape, near=variable)
        taken = [variable, slot, rate, change, momentum]
        updates.append(builder.op(f"train/update_{variable}", "ResourceApplyMomentum", taken, variable, T=FLOAT))
    return passed, updates
