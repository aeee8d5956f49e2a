"""Runs the trials of a calibration: the child's side of `calibration.py`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import tensorflow as tf

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.measuring.calibrating import trials
from engine.measuring.calibrating.calibration import OPS_FILE
from engine.measuring.calibrating.trials import OPS, OpSize
from engine.measuring.devices_here import a_process_for_each
from engine.measuring.session_graph import Steps, initializers, run, timed

STAGE = "measuring this machine"
FLOAT_BYTES = 4
COMPUTED = 2
"""matrix products of 1024 × 1024 of a computation beside transfers"""


def trials_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """[rounds] the fastest step in µs of each trial, as an array by its name; the graph of the ops as `OPS_FILE`.

    The fastest of a round's steps, since other work on the machine only adds.

    `devices`, `threads` of each op, `rounds` over all trials, `steps` of each trial in a round.
    """
    names, threads = cast(list[str], order["devices"]), cast(int, order["threads"])
    rounds, steps = cast(int, order["rounds"]), cast(int, order["steps"])
    report_progress("loading TensorFlow", 0, 0)
    with a_process_for_each(names, threads) as here, tf.Graph().as_default() as graph:
        made = TrialGraph([here.names[name] for name in names])
        made.make_all()
        _write_ops(OPS, folder)
        start = initializers(graph.get_operations())
        times: dict[str, list[float]] = {name: [] for name in made.targets}
        with here.session() as session:
            run(session, start, {})
            progress = Steps(report_progress, STAGE, 0, (rounds + 1) * steps * len(times))
            for number in range(-1, rounds):  # the first round warms up
                for name, targets in made.targets.items():
                    wall_us = timed(session, targets, {}, steps, progress).wall_us
                    if number >= 0:
                        times[name].append(min(wall_us))
    return {name: np.array(values) for name, values in times.items()}, {}


def ops_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Write the graph of `ops`, [[type, shape], ...], as `OPS_FILE`; run nothing."""
    _write_ops([OpSize(type_, tuple(shape)) for type_, shape in cast(list[Any], order["ops"])], folder)
    return {}, {}


def _write_ops(ops: Sequence[OpSize], folder: Path) -> None:
    """Write a GraphDef with one copy of each op, for its operations and bytes."""
    with tf.Graph().as_default() as graph:
        TrialGraph(["/device:CPU:0"]).make_ops(ops, copies=1)
        (folder / OPS_FILE).write_bytes(graph.as_graph_def().SerializeToString(deterministic=True))


@dataclass(slots=True)
class TrialGraph:
    """The trials as parts of the default graph."""

    devices: Sequence[str]
    """of this machine; two, or one for the ops alone"""
    targets: dict[str, list[Any]] = field(default_factory=dict)
    """trial → the ops that its step runs"""
    _variables: dict[tuple[str, tuple[int, ...]], Any] = field(default_factory=dict)
    _resources: list[Any] = field(default_factory=list)

    def make_all(self) -> None:
        """Make every trial."""
        self._make_overheads()
        for size in trials.LINK_BYTES:
            for local in (True, False):
                self._make_hops(size, local=local)
        for size in (trials.SMALL_BYTES, trials.LARGE_BYTES):
            for count in (1, trials.AT_ONCE):
                self._make_sent(size, count)
        self._make_sent(trials.LARGE_BYTES, trials.OVERLAPPED_TRANSFERS)
        self._make_sent(trials.LARGE_BYTES, trials.OVERLAPPED_TRANSFERS, back=True)
        self._make_sent(trials.LARGE_BYTES, trials.OVERLAPPED_TRANSFERS, both=True)
        for at in ("sender", "receiver"):
            self._make_computing(at)
        self.make_ops(OPS, trials.COPIES)

    def make_ops(self, ops: Sequence[OpSize], copies: int) -> None:
        """Make so many copies of each op on the first device, named `NAME`, `NAME_1`, ..."""
        with tf.device(self.devices[0]):
            for size in ops:
                made = [MAKERS[size.type](self, size, size.name + f"_{copy}" * (copy > 0)) for copy in range(copies)]
                self.targets[trials.op_trial(size.name, 1)] = made[:1]
                if copies > 1:
                    self.targets[trials.op_trial(size.name, copies)] = made

    def variable(self, *shape: int, device: int = 0, number: int = 0) -> Any:
        """A variable of random numbers on a device; the same one for the same arguments."""
        key = (f"{device}-{number}", shape)
        if key not in self._variables:
            with tf.device(self.devices[device]):
                name = f"variable_{device}_{number}_{'x'.join(map(str, shape))}"
                self._variables[key] = tf.raw_ops.VariableV2(shape=shape, dtype=tf.float32, shared_name=name, name=name)
        return self._variables[key]

    def resource(self, *shape: int, number: int) -> Any:
        """The handle of a new variable of random numbers on the first device."""
        with tf.device(self.devices[0]):
            name = f"resource_{len(self._resources)}_{number}"
            self._resources.append(tf.raw_ops.VarHandleOp(shape=shape, dtype=tf.float32, shared_name=name, name=name))
        return self._resources[-1]

    def _make_overheads(self) -> None:
        with tf.device(self.devices[0]):
            end = self.variable(1)
            for length in range(1, trials.MANY_OPS + 1):
                end = tf.raw_ops.Neg(x=end)
                if length in (trials.FEW_OPS, trials.MANY_OPS):
                    self.targets[trials.overhead(length)] = [end.op]

    def _make_hops(self, size: int, *, local: bool) -> None:
        end = self.variable(max(1, size // FLOAT_BYTES))
        for hop in range(trials.HOPS):
            with tf.device(self.devices[0 if local else (hop + 1) % 2]):
                end = tf.raw_ops.Neg(x=end)
        self.targets[trials.there_and_back(size, local=local)] = [end.op]

    def _make_sent(self, size: int, count: int, *, back: bool = False, both: bool = False) -> None:
        """Send variables, and take their shapes at the other end, which costs next to nothing."""
        ways = [(0, 1), (1, 0)] if both else [(1, 0)] if back else [(0, 1)]
        taken = []
        for source, target in ways:
            for number in range(count):
                sent = self.variable(max(1, size // FLOAT_BYTES), device=source, number=number)
                with tf.device(self.devices[target]):
                    taken.append(tf.raw_ops.Shape(input=sent).op)
        self.targets[trials.sent_at_once(size, count, back=back, both=both)] = taken

    def _make_computing(self, at: str) -> None:
        device = 0 if at == "sender" else 1
        with tf.device(self.devices[device]):
            end = matrix = self.variable(1024, 1024, device=device)
            for _ in range(COMPUTED):
                end = tf.raw_ops.MatMul(a=matrix, b=end)
        self.targets[trials.computing(at, alone=True)] = [end.op]
        transfers = self.targets[trials.TRANSFERS_ALONE]
        self.targets[trials.computing(at, alone=False)] = [end.op, *transfers]


def _matmul(graph: TrialGraph, size: OpSize, name: str) -> Any:
    rows, inner, columns = size.shape
    return tf.raw_ops.MatMul(a=graph.variable(rows, inner), b=graph.variable(inner, columns), name=name).op


def _conv2d(graph: TrialGraph, size: OpSize, name: str) -> Any:
    return tf.raw_ops.Conv2D(input=_image(graph, size), filter=_filter(graph, size), name=name, **SAME).op


def _conv2d_input(graph: TrialGraph, size: OpSize, name: str) -> Any:
    return tf.raw_ops.Conv2DBackpropInput(
        input_sizes=size.shape[:4],
        filter=_filter(graph, size),
        out_backprop=_image_out(graph, size),
        name=name,
        **SAME,
    ).op


def _conv2d_filter(graph: TrialGraph, size: OpSize, name: str) -> Any:
    return tf.raw_ops.Conv2DBackpropFilter(
        input=_image(graph, size),
        filter_sizes=_filter_shape(size),
        out_backprop=_image_out(graph, size),
        name=name,
        **SAME,
    ).op


def _depthwise(graph: TrialGraph, size: OpSize, name: str) -> Any:
    image, filter_ = _image(graph, size), graph.variable(*_depthwise_filter_shape(size))
    return tf.raw_ops.DepthwiseConv2dNative(input=image, filter=filter_, name=name, **SAME).op


def _depthwise_input(graph: TrialGraph, size: OpSize, name: str) -> Any:
    image, filter_ = _image(graph, size), graph.variable(*_depthwise_filter_shape(size))
    return tf.raw_ops.DepthwiseConv2dNativeBackpropInput(
        input_sizes=size.shape[:4], filter=filter_, out_backprop=image, name=name, **SAME
    ).op


def _depthwise_filter(graph: TrialGraph, size: OpSize, name: str) -> Any:
    image = _image(graph, size)
    return tf.raw_ops.DepthwiseConv2dNativeBackpropFilter(
        input=image, filter_sizes=_depthwise_filter_shape(size), out_backprop=image, name=name, **SAME
    ).op


def _depthwise_filter_shape(size: OpSize) -> tuple[int, ...]:
    *_, channels, channels_out, width = size.shape
    return width, width, channels, channels_out


SAME: dict[str, Any] = {"strides": [1, 1, 1, 1], "padding": "SAME"}


def _image(graph: TrialGraph, size: OpSize) -> Any:
    return graph.variable(*size.shape[:4])


def _image_out(graph: TrialGraph, size: OpSize) -> Any:
    return graph.variable(*size.shape[:3], size.shape[4])


def _filter(graph: TrialGraph, size: OpSize) -> Any:
    return graph.variable(*_filter_shape(size))


def _filter_shape(size: OpSize) -> tuple[int, ...]:
    *_, channels, channels_out, width = size.shape
    return width, width, channels, channels_out


def _batch_norm(graph: TrialGraph, size: OpSize, name: str) -> Any:
    channels = size.shape[-1]
    scale, nothing = graph.variable(channels), tf.zeros([0])
    return tf.raw_ops.FusedBatchNormV3(
        x=graph.variable(*size.shape), scale=scale, offset=scale, mean=nothing, variance=nothing, name=name
    ).y.op


def _batch_norm_grad(graph: TrialGraph, size: OpSize, name: str) -> Any:
    channels = size.shape[-1]
    values, of_channels = graph.variable(*size.shape), graph.variable(channels)
    return tf.raw_ops.FusedBatchNormGradV3(
        y_backprop=graph.variable(*size.shape, number=1),
        x=values,
        scale=of_channels,
        reserve_space_1=of_channels,
        reserve_space_2=of_channels,
        reserve_space_3=of_channels,
        name=name,
    ).x_backprop.op


POOLING: dict[str, Any] = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}


def _pooled(graph: TrialGraph, size: OpSize) -> Any:
    batch, height, width, channels = size.shape
    return graph.variable(batch, height // 2, width // 2, channels)


def _max_pool_grad(graph: TrialGraph, size: OpSize, name: str) -> Any:
    values, pooled = graph.variable(*size.shape), _pooled(graph, size)
    return tf.raw_ops.MaxPoolGrad(orig_input=values, orig_output=pooled, grad=pooled, name=name, **POOLING).op


def _avg_pool_grad(graph: TrialGraph, size: OpSize, name: str) -> Any:
    return tf.raw_ops.AvgPoolGrad(orig_input_shape=size.shape, grad=_pooled(graph, size), name=name, **POOLING).op


def _update(graph: TrialGraph, size: OpSize, name: str) -> Any:
    """An optimiser's update of one variable. Each copy has variables of its own, so that they do not wait."""
    values = [graph.resource(*size.shape, number=number) for number in range(3)]
    gradient, rate = graph.variable(*size.shape), tf.constant(1e-9)
    match size.type:
        case "ResourceApplyGradientDescent":
            return tf.raw_ops.ResourceApplyGradientDescent(var=values[0], alpha=rate, delta=gradient, name=name)
        case "ResourceApplyMomentum":
            return tf.raw_ops.ResourceApplyMomentum(
                var=values[0], accum=values[1], lr=rate, grad=gradient, momentum=rate, name=name
            )
        case "ResourceApplyRMSProp":
            return tf.raw_ops.ResourceApplyRMSProp(
                var=values[0],
                ms=values[1],
                mom=values[2],
                lr=rate,
                rho=rate,
                momentum=rate,
                epsilon=tf.constant(1.0),
                grad=gradient,
                name=name,
            )
    return tf.raw_ops.ResourceApplyAdam(
        var=values[0],
        m=values[1],
        v=values[2],
        beta1_power=rate,
        beta2_power=rate,
        lr=rate,
        beta1=rate,
        beta2=rate,
        epsilon=tf.constant(1.0),
        grad=gradient,
        name=name,
    )


def _losses(graph: TrialGraph, size: OpSize, name: str) -> Any:
    labels = tf.zeros(size.shape[:1], tf.int32)
    return tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
        features=graph.variable(*size.shape), labels=labels, name=name
    ).loss.op


def _gather(graph: TrialGraph, size: OpSize, name: str) -> Any:
    rows = tf.constant((np.arange(size.shape[0] // 4) * 5) % size.shape[0], tf.int32)
    return tf.raw_ops.GatherV2(params=graph.variable(*size.shape), indices=rows, axis=0, name=name).op


def _slice(graph: TrialGraph, size: OpSize, name: str) -> Any:
    half = [*size.shape[:-1], size.shape[-1] // 2]
    return tf.raw_ops.Slice(input=graph.variable(*size.shape), begin=[0] * len(half), size=half, name=name).op


def _batch_matmul(graph: TrialGraph, size: OpSize, name: str) -> Any:
    batch, rows, inner, columns = size.shape
    left, right = graph.variable(batch, rows, inner), graph.variable(batch, inner, columns)
    return tf.raw_ops.BatchMatMulV2(x=left, y=right, name=name).op


def _of_one(op: Any, *names: str) -> Callable[[TrialGraph, OpSize, str], Any]:
    """A maker of ops whose inputs, by their names, are tensors of one shape."""

    def make(graph: TrialGraph, size: OpSize, name: str) -> Any:
        inputs = {each: graph.variable(*size.shape, number=number) for number, each in enumerate(names)}
        return op(**inputs, name=name).op

    return make


def _reduced(op: Any) -> Callable[[TrialGraph, OpSize, str], Any]:
    """A maker of ops that leave the channels of an image."""
    return lambda graph, size, name: op(input=graph.variable(*size.shape), axis=[0, 1, 2], name=name).op


MAKERS: Mapping[str, Callable[[TrialGraph, OpSize, str], Any]] = {
    "MatMul": _matmul,
    "BatchMatMulV2": _batch_matmul,
    "Conv2D": _conv2d,
    "Conv2DBackpropInput": _conv2d_input,
    "Conv2DBackpropFilter": _conv2d_filter,
    "DepthwiseConv2dNative": _depthwise,
    "DepthwiseConv2dNativeBackpropInput": _depthwise_input,
    "DepthwiseConv2dNativeBackpropFilter": _depthwise_filter,
    "FusedBatchNormV3": _batch_norm,
    "FusedBatchNormGradV3": _batch_norm_grad,
    "MaxPool": lambda graph, size, name: tf.raw_ops.MaxPool(input=graph.variable(*size.shape), name=name, **POOLING).op,
    "AvgPool": lambda graph, size, name: tf.raw_ops.AvgPool(value=graph.variable(*size.shape), name=name, **POOLING).op,
    "MaxPoolGrad": _max_pool_grad,
    "AvgPoolGrad": _avg_pool_grad,
    "Relu": _of_one(tf.raw_ops.Relu, "features"),
    "Tanh": _of_one(tf.raw_ops.Tanh, "x"),
    "Sigmoid": _of_one(tf.raw_ops.Sigmoid, "x"),
    "Square": _of_one(tf.raw_ops.Square, "x"),
    "AddV2": _of_one(tf.raw_ops.AddV2, "x", "y"),
    "Mul": _of_one(tf.raw_ops.Mul, "x", "y"),
    "Sub": _of_one(tf.raw_ops.Sub, "x", "y"),
    "ReluGrad": _of_one(tf.raw_ops.ReluGrad, "gradients", "features"),
    "SigmoidGrad": _of_one(tf.raw_ops.SigmoidGrad, "y", "dy"),
    "TanhGrad": _of_one(tf.raw_ops.TanhGrad, "y", "dy"),
    "AddN": lambda graph, size, name: (
        tf.raw_ops.AddN(inputs=[graph.variable(*size.shape, number=number) for number in range(3)], name=name).op
    ),
    "BiasAdd": lambda graph, size, name: (
        tf.raw_ops.BiasAdd(value=graph.variable(*size.shape), bias=graph.variable(size.shape[-1]), name=name).op
    ),
    "BiasAddGrad": _of_one(tf.raw_ops.BiasAddGrad, "out_backprop"),
    "Mean": _reduced(tf.raw_ops.Mean),
    "Sum": _reduced(tf.raw_ops.Sum),
    "Softmax": _of_one(tf.raw_ops.Softmax, "logits"),
    "SparseSoftmaxCrossEntropyWithLogits": _losses,
    "ConcatV2": lambda graph, size, name: (
        tf.raw_ops.ConcatV2(values=[graph.variable(*size.shape)] * 2, axis=3, name=name).op
    ),
    "Slice": _slice,
    "GatherV2": _gather,
    "Transpose": lambda graph, size, name: (
        tf.raw_ops.Transpose(x=graph.variable(*size.shape), perm=[1, 0], name=name).op
    ),
    **dict.fromkeys(trials.UPDATES, _update),
}
"""op type → what makes an op of it"""
