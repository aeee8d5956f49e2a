"""Runs the trials of a GPU through torch: the child's side of `gpu.py`.

Copies between a GPU and its host are from and to pinned memory, each on a stream of its own, so that they delay each
other only where the hardware makes them. TensorFlow launches and copies with the same calls of the driver.
"""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from engine.child.parent import ReportProgress, Results
from engine.errors import LimitError
from engine.events import Json
from engine.measuring.calibrating import trials
from engine.measuring.calibrating.gpu_trials import HALF_TYPES, GpuSizes, peak_trial
from engine.measuring.calibrating.trials import COPIES, OpSize

STAGE = "measuring this machine's GPU"
FLOAT_BYTES = 4
COMPUTED = 2
"""matrix products of a computation beside transfers"""
Step = Callable[[], None]


def gpus_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """`gpus`: [[name, memory in bytes], ...] of what torch can use here."""
    found = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    return {}, {"gpus": [[gpu.name, gpu.total_memory] for gpu in found]}


def gpu_trials_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """[rounds] the fastest step in µs of each trial, as an array by its name.

    `devices`, two names of torch; `rounds` over all trials, `steps` of each trial in a round; `sizes`, the fields of
    `GpuSizes`; `with_ops`, whether ops are measured beside the link. Raises LimitError for too little memory on a GPU.
    """
    names, rounds, steps = cast(list[str], order["devices"]), cast(int, order["rounds"]), cast(int, order["steps"])
    sizes = GpuSizes(**cast(dict[str, int], order["sizes"]))
    # TensorFlow multiplies float32 in TF32 where a GPU can; torch does so only on request
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    made = GpuTrials(torch.device(names[0]), torch.device(names[1]), sizes)
    try:
        made.make_link()
        if order["with_ops"]:
            made.make_overheads()
            made.make_ops()
        return made.run(rounds, steps, report_progress), {}
    except torch.OutOfMemoryError:
        raise LimitError("the GPU has too little free memory for the trials", allowed="some 4 GB of it") from None


@dataclass(slots=True)
class GpuTrials:
    """The trials on two devices, each a function that issues its work and does not wait for it."""

    first: torch.device
    second: torch.device
    sizes: GpuSizes
    steps: dict[str, Step] = field(default_factory=dict)
    """trial → what issues its work"""
    _streams: dict[tuple[torch.device, int], Any] = field(default_factory=dict)

    def run(self, rounds: int, steps: int, report_progress: ReportProgress) -> dict[str, NDArray[np.generic]]:
        """[rounds] the fastest of so many steps in µs of each trial; one round more warms up."""
        times: dict[str, list[float]] = {name: [] for name in self.steps}
        total, done = (rounds + 1) * len(times), 0
        for number in range(-1, rounds):
            for name, step in self.steps.items():
                fastest_us = min(self.timed_us(step) for _ in range(steps))
                if number >= 0:
                    times[name].append(fastest_us)
                done += 1
                report_progress(STAGE, done, total)
        return {name: np.array(values) for name, values in times.items()}

    def timed_us(self, step: Step) -> float:
        """The wall time of a step, until both devices have finished."""
        self._wait()
        begin = time.perf_counter()
        step()
        self._wait()
        return (time.perf_counter() - begin) * 1e6

    def _wait(self) -> None:
        for device in (self.first, self.second):
            if device.type == "cuda":
                torch.cuda.synchronize(device)

    def make_link(self) -> None:
        """Make the trials of transfers, and of a computation beside them."""
        for size in trials.LINK_BYTES:
            self._make_hops(size)
        for size in (trials.SMALL_BYTES, trials.LARGE_BYTES):
            for count in (1, trials.AT_ONCE):
                self._make_sent(size, count)
        for way in ({}, {"back": True}, {"both": True}):
            self._make_sent(trials.LARGE_BYTES, trials.OVERLAPPED_TRANSFERS, **way)
        self._make_computing("sender", self.first)
        self._make_computing("receiver", self.second)

    def make_overheads(self) -> None:
        """Make chains of ops without work on the first device."""
        value = torch.zeros(1, device=self.first)

        def chain(length: int) -> Step:
            def step() -> None:
                for _ in range(length):
                    torch.neg(value, out=value)

            return step

        for length in (trials.FEW_OPS, trials.MANY_OPS):
            self.steps[trials.overhead(length)] = chain(length)

    def make_ops(self) -> None:
        """Make copies of each op on the first device, and of the largest matrix product in other data types."""
        for size in self.sizes.ops():
            self._make_copies(partial(trials.op_trial, size.name), MAKERS[size.type](self.first, size))
        matrix = self.sizes.matrix
        for float_type in HALF_TYPES:
            values = torch.rand(matrix, matrix, device=self.first).to(getattr(torch, float_type))
            self._make_copies(partial(peak_trial, float_type), partial(torch.mm, values, values))

    def _make_copies(self, name: Callable[[int], str], op: Callable[[], object]) -> None:
        def step(copies: int) -> Step:
            def run() -> None:
                for _ in range(copies):
                    op()

            return run

        for copies in (1, COPIES):
            self.steps[name(copies)] = step(copies)

    def _tensor(self, size: int, device: torch.device) -> Tensor:
        """Bytes on a device; on the host they are pinned, so that copies need no processor."""
        pinned = device.type == "cpu" and "cuda" in (self.first.type, self.second.type)
        return torch.rand(max(1, size // FLOAT_BYTES), device=device, pin_memory=pinned)

    def _stream(self, index: int, source: torch.device, target: torch.device) -> Any:
        """A context in which copies are issued to a stream of the GPU that sends, or receives from a host."""
        device = source if source.type == "cuda" else target
        if device.type != "cuda":
            return contextlib.nullcontext()
        key = (device, index)
        if key not in self._streams:
            self._streams[key] = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch's own
        return torch.cuda.stream(self._streams[key])

    def _make_hops(self, size: int) -> None:
        ends = (self._tensor(size, self.first), self._tensor(size, self.second))

        def step() -> None:
            for hop in range(trials.HOPS):
                ends[(hop + 1) % 2].copy_(ends[hop % 2], non_blocking=True)

        self.steps[trials.there_and_back(size, local=False)] = step
        self.steps[trials.there_and_back(size, local=True)] = lambda: None

    def _make_sent(self, size: int, count: int, *, back: bool = False, both: bool = False) -> None:
        ways = [(0, 1), (1, 0)] if both else [(1, 0)] if back else [(0, 1)]
        devices = (self.first, self.second)
        copies = [
            (self._tensor(size, devices[source]), self._tensor(size, devices[target]))
            for source, target in ways
            for _ in range(count)
        ]

        def step() -> None:
            for index, (sent, received) in enumerate(copies):
                with self._stream(index, sent.device, received.device):
                    received.copy_(sent, non_blocking=True)

        self.steps[trials.sent_at_once(size, count, back=back, both=both)] = step

    def _make_computing(self, at: str, device: torch.device) -> None:
        length = self.sizes.computed if device.type == "cuda" else min(self.sizes.computed, 1024)
        matrix = torch.rand(length, length, device=device)
        end = torch.empty_like(matrix)
        send = self.steps[trials.TRANSFERS_ALONE]

        def compute() -> None:
            for _ in range(COMPUTED):
                torch.mm(matrix, matrix, out=end)

        def beside() -> None:
            send()
            compute()

        self.steps[trials.computing(at, alone=True)] = compute
        self.steps[trials.computing(at, alone=False)] = beside


def _image(device: torch.device, shape: tuple[int, ...]) -> Tensor:
    """[batch, channels, height, width] of random numbers, for a shape with the channels last."""
    batch, height, width, channels = shape
    return torch.rand(batch, channels, height, width, device=device)


def _matmul(device: torch.device, size: OpSize) -> Callable[[], object]:
    *batch, rows, inner, columns = size.shape
    left, right = torch.rand(*batch, rows, inner, device=device), torch.rand(*batch, inner, columns, device=device)
    return lambda: torch.matmul(left, right)


def _convolution(device: torch.device, size: OpSize) -> Callable[[], object]:
    batch, height, width, channels, channels_out, filter_ = size.shape
    image = _image(device, (batch, height, width, channels))
    weights = torch.rand(channels_out, channels, filter_, filter_, device=device)
    if size.type == "Conv2D":
        return lambda: functional.conv2d(image, weights, padding=filter_ // 2)
    gradient = _image(device, (batch, height, width, channels_out))
    mask = (size.type == "Conv2DBackpropInput", size.type == "Conv2DBackpropFilter", False)

    def backward() -> object:
        return torch.ops.aten.convolution_backward(
            gradient, image, weights, None, [1, 1], [filter_ // 2] * 2, [1, 1], False, [0, 0], 1, mask
        )

    return backward


def _of_tensors(count: int, op: Callable[..., object]) -> Callable[[torch.device, OpSize], Callable[[], object]]:
    """A maker of ops on `count` tensors of one shape."""

    def make(device: torch.device, size: OpSize) -> Callable[[], object]:
        values = [torch.rand(*size.shape, device=device) for _ in range(count)]
        return lambda: op(*values)

    return make


def _of_image(op: Callable[[Tensor], object]) -> Callable[[torch.device, OpSize], Callable[[], object]]:
    """A maker of ops on an image."""

    def make(device: torch.device, size: OpSize) -> Callable[[], object]:
        image = _image(device, size.shape)
        return lambda: op(image)

    return make


def _bias(device: torch.device, size: OpSize) -> Callable[[], object]:
    image, bias = _image(device, size.shape), torch.rand(size.shape[-1], 1, 1, device=device)
    return lambda: image + bias


POOLING: dict[str, Any] = {"kernel_size": 3, "stride": 2, "padding": 1}


def _max_pool_gradient(device: torch.device, size: OpSize) -> Callable[[], object]:
    image = _image(device, size.shape)
    pooled, where = functional.max_pool2d(image, **POOLING, return_indices=True)
    return lambda: torch.ops.aten.max_pool2d_with_indices_backward(
        pooled, image, [3, 3], [2, 2], [1, 1], [1, 1], False, where
    )


def _average_pool_gradient(device: torch.device, size: OpSize) -> Callable[[], object]:
    image = _image(device, size.shape)
    pooled = functional.avg_pool2d(image, **POOLING, count_include_pad=False)
    return lambda: torch.ops.aten.avg_pool2d_backward(pooled, image, [3, 3], [2, 2], [1, 1], False, False, None)


def _batch_norm(device: torch.device, size: OpSize) -> Callable[[], object]:
    image, of_channels = _image(device, size.shape), torch.rand(size.shape[-1], device=device)
    return lambda: torch.native_batch_norm(image, of_channels, of_channels, None, None, True, 0.1, 1e-3)


def _batch_norm_gradient(device: torch.device, size: OpSize) -> Callable[[], object]:
    image, of_channels = _image(device, size.shape), torch.rand(size.shape[-1], device=device)
    gradient = _image(device, size.shape)
    _, mean, spread = torch.native_batch_norm(image, of_channels, of_channels, None, None, True, 0.1, 1e-3)
    return lambda: torch.ops.aten.native_batch_norm_backward(
        gradient, image, of_channels, None, None, mean, spread, True, 1e-3, [True, True, True]
    )


def _update(device: torch.device, size: OpSize) -> Callable[[], object]:
    values, gradient = torch.rand(*size.shape, device=device), torch.rand(*size.shape, device=device)
    return lambda: values.add_(gradient, alpha=-1e-9)


MAKERS: Mapping[str, Callable[[torch.device, OpSize], Callable[[], object]]] = {
    "MatMul": _matmul,
    "BatchMatMulV2": _matmul,
    **dict.fromkeys(trials.CONVOLUTIONS, _convolution),
    "Relu": _of_tensors(1, torch.relu),
    "Tanh": _of_tensors(1, torch.tanh),
    "Sigmoid": _of_tensors(1, torch.sigmoid),
    "Square": _of_tensors(1, torch.square),
    "AddV2": _of_tensors(2, torch.add),
    "Mul": _of_tensors(2, torch.mul),
    "Sub": _of_tensors(2, torch.sub),
    "ReluGrad": _of_tensors(2, lambda gradient, value: torch.ops.aten.threshold_backward(gradient, value, 0)),
    "ResourceApplyGradientDescent": _update,
    "BiasAdd": _bias,
    "BiasAddGrad": _of_image(lambda image: image.sum((0, 2, 3))),
    "Mean": _of_image(lambda image: image.mean((0, 2, 3))),
    "Sum": _of_image(lambda image: image.sum((0, 2, 3))),
    "ConcatV2": _of_image(lambda image: torch.cat([image, image], 1)),
    "Slice": _of_image(lambda image: image[:, : image.shape[1] // 2].contiguous()),
    "MaxPool": _of_image(lambda image: functional.max_pool2d(image, **POOLING)),
    "AvgPool": _of_image(lambda image: functional.avg_pool2d(image, **POOLING, count_include_pad=False)),
    "MaxPoolGrad": _max_pool_gradient,
    "AvgPoolGrad": _average_pool_gradient,
    "FusedBatchNormV3": _batch_norm,
    "FusedBatchNormGradV3": _batch_norm_gradient,
    "Softmax": _of_tensors(1, lambda values: torch.softmax(values, 1)),
    "Transpose": _of_tensors(1, lambda values: values.t().contiguous()),
}
"""op type of TensorFlow → what makes torch's op for it"""
