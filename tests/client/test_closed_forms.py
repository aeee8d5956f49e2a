"""FLOPs of products in the forward and the backward pass, and parameters, beside sums written by hand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import placeto
import pytest
import torch
from torch import nn

from tests.client import models
from tests.client.twin import check


@dataclass(frozen=True)
class Case:
    """A model, its inputs, and multiply-adds by hand."""

    build: Callable[[], nn.Module]
    inputs: Any
    forward: int
    backward: int
    parameters: int


def residuals(checkpointed: str) -> Case:
    """The first layer needs no gradient of the input, unless a reentrant checkpoint asks for it.

    The other kind stops when it has again what was saved: before the second layer of a block.
    """
    block, head = 64 * 8 * 32 * 32, 64 * 32 * 8
    first = 64 * 4 * 32 * 32
    again = {"no": 0, "plain": 3 * first, "reentrant": 3 * block}[checkpointed]
    forward = 3 * block + head
    inputs = torch.zeros(64, 32, requires_grad=checkpointed == "reentrant")
    saved = 0 if checkpointed == "reentrant" else first
    return Case(
        lambda: models.Residuals(checkpointed=checkpointed),
        inputs,
        forward,
        2 * forward - saved + again,
        3 * (8 * 32 * 32 + 5 * 32) + 33 * 8,
    )


def recurrent() -> Case:
    layers, head = 20 * 8 * (4 * 64 * (32 + 64) + 4 * 64 * (64 + 64)), 20 * 8 * 64 * 10
    parameters = 4 * 64 * (32 + 64 + 2) + 4 * 64 * (64 + 64 + 2) + 65 * 10
    return Case(models.Recurrent, torch.zeros(20, 8, 32), layers + head, 2 * (layers + head), parameters)


def cells() -> Case:
    """No gradient of the input, and none of the first state."""
    cell, head = 8 * 4 * 64 * (32 + 64), 8 * 64 * 10
    saved = 20 * 8 * 4 * 64 * 32 + 8 * 4 * 64 * 64
    parameters = 4 * 64 * (32 + 64 + 2) + 65 * 10
    forward = 20 * cell + head
    return Case(models.Cells, torch.zeros(20, 8, 32), forward, 2 * forward - saved, parameters)


def wavenet() -> Case:
    length, width = 4 * 100, 16
    entry, exit_ = length * width, length * width * 256
    layers = 4 * length * (2 * 2 * width * width + width * width)
    parameters = 2 * width + 4 * (4 * width * width + 2 * width + width * width + width) + 256 * (width + 1)
    forward = entry + layers + exit_
    return Case(models.WaveNet, torch.zeros(4, 1, 100), forward, 2 * forward - entry, parameters)


def dlrm() -> Case:
    first, second = 8 * 13 * 64, 8 * 64 * 16
    products = 8 * 5 * 5 * 16
    top = 8 * (26 * 64 + 64)
    parameters = 4 * 100 * 16 + 14 * 64 + 65 * 16 + 27 * 64 + 65
    forward = first + second + products + top
    inputs = (torch.zeros(8, 13), torch.zeros(8, 4, 3, dtype=torch.long))
    return Case(models.Dlrm, inputs, forward, 2 * forward - first, parameters)


def graph_network() -> Case:
    first, second = 40 * 16 * 32, 40 * 32 * 8
    inputs = (torch.zeros(40, 16), torch.zeros(2, 100, dtype=torch.long))
    return Case(models.GraphNetwork, inputs, first + second, first + 2 * second, 17 * 32 + 33 * 8)


def u_net(attends: bool) -> Case:
    batch, c = 2, 8
    large, small = batch * 32 * 32, batch * 16 * 16
    entry = large * 9 * 3 * c
    time = batch * 16 * 2 * c
    others = small * 9 * (2 * c * c + 4 * c * c) + small * 2 * c * 4 * c + large * 9 * 2 * c * 3
    parameters = (27 + 1) * c + (9 * c + 1) * 2 * c + (18 * c + 1) * 2 * c + 17 * 2 * c + 8 * c * c + c + 54 * c + 3
    parameters += 4 * c
    scores = 0
    if attends:
        others += small * 4 * (2 * c) ** 2
        scores = batch * 2 * 256 * 256 * 2 * c
        parameters += 4 * (2 * c) ** 2 + 4 * 2 * c
    forward = entry + others + time + scores
    backward = entry + time + 2 * others + scores * 5 // 2
    inputs = (torch.zeros(batch, 3, 32, 32), torch.zeros(batch, 16))
    return Case(lambda: models.UNet(attends=attends), inputs, forward, backward, parameters)


def lora() -> Case:
    """The frozen layer needs no gradient, and it is the first, so that neither does its input."""
    frozen, thin = 32 * 64 * 64, 32 * 64 * 4
    return Case(models.Lora, torch.zeros(32, 64), frozen + 2 * thin, 3 * thin, 64 * 64 + 2 * 4 * 64)


def tied() -> Case:
    middle, head = 3 * 7 * 16 * 16, 3 * 7 * 16 * 50
    inputs = torch.zeros(3, 7, dtype=torch.long)
    return Case(models.Tied, inputs, middle + head, 2 * (middle + head), 50 * 16 + 17 * 16)


def convolutions() -> Case:
    first, second, head = 4 * 32 * 32 * 27 * 16, 4 * 16 * 16 * 9 * 8 * 32, 4 * 32 * 10
    parameters = 27 * 16 + 9 * 8 * 32 + 2 * 16 + 2 * 32 + 33 * 10
    forward = first + second + head
    return Case(models.Convolutions, torch.zeros(4, 3, 32, 32), forward, 2 * forward - first, parameters)


CASES = {
    "residual blocks": residuals("no"),
    "checkpointed": residuals("plain"),
    "checkpointed, reentrant": residuals("reentrant"),
    "LSTM": recurrent(),
    "LSTM cells": cells(),
    "WaveNet": wavenet(),
    "DLRM": dlrm(),
    "graph network": graph_network(),
    "U-Net": u_net(False),
    "diffusion U-Net": u_net(True),
    "LoRA": lora(),
    "tied": tied(),
    "convolutions": convolutions(),
}


@pytest.mark.parametrize("name", CASES)
def test_flops_of_both_passes_and_parameters(name: str) -> None:
    case = CASES[name]
    recording = placeto.record(case.build(), case.inputs, loss=models.total, optimizer=torch.optim.AdamW)
    check(recording)
    assert recording.parameters == case.parameters
    assert recording.flops("forward", products=True) == 2 * case.forward
    assert recording.flops("backward", products=True) == 2 * case.backward
    assert recording.flops("optimizer", products=True) == 0
    assert recording.without_formula == {}


def test_inference_is_the_forward_pass() -> None:
    case = CASES["convolutions"]
    recording = placeto.record(case.build().eval(), case.inputs)
    check(recording)
    assert recording.flops() == recording.flops("forward")
    assert recording.flops(products=True) == 2 * case.forward


def test_two_passes_before_a_step_count_twice() -> None:
    case = CASES["residual blocks"]
    model = case.build()
    recording = placeto.record(model, case.inputs, loss=models.total, optimizer=torch.optim.SGD, accumulate=2)
    check(recording)
    assert recording.flops("forward", products=True) == 4 * case.forward
    assert recording.flops("backward", products=True) == 4 * case.backward
    sums = [node for node in recording.nodes if node["type"] == "add_" and node["phase"] == "backward"]
    assert len(sums) == len(list(model.parameters()))


def test_autocast_multiplies_in_half_the_width() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return plain(x)

    model = models.Residuals()
    plain = model.forward
    model.forward = forward  # type: ignore[method-assign]
    recording = placeto.record(model, torch.zeros(64, 32), loss=models.total, optimizer=torch.optim.AdamW)
    check(recording)
    assert recording.flops("forward", products=True) == 2 * CASES["residual blocks"].forward
    products = [node for node in recording.nodes if node["type"] in ("mm", "addmm")]
    assert products and {node["dtype"] for node in products} == {"bfloat16"}
    assert {node.get("dtype", "float32") for node in recording.nodes if node.get("phase") == "optimizer"} == {"float32"}


def test_triangular_systems_take_a_square_for_each_column() -> None:
    class Solves(nn.Module):
        def forward(self, lower: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            return torch.linalg.solve_triangular(lower, right, upper=False)

    recording = placeto.record(Solves(), (torch.eye(8).repeat(3, 1, 1), torch.ones(3, 8, 5)))
    assert recording.without_formula == {}
    assert recording.flops() == 3 * 5 * 8 * 8  # of row i: i multiply-adds and a division


def test_complex_numbers_of_length_and_angle_take_four_each() -> None:
    class Turns(nn.Module):
        def forward(self, length: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
            return torch.polar(length, angle)

    recording = placeto.record(Turns(), (torch.ones(3, 5), torch.ones(3, 5)))
    assert recording.without_formula == {}
    assert recording.flops() == 3 * 5 * 4  # a cosine, a sine, and the length times each
