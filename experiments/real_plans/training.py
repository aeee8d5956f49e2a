"""What the processes do: train by plans on slowed processors; train alone; measure the passes of a micro-batch."""

import itertools
import random
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import placeto
import torch
from torch import distributed

from experiments.measured_streams.towers import SMALL, TOWERS, loss_of
from experiments.real_plans.devices import MICRO_BATCHES
from experiments.real_plans.slowed import Slowed

WARM = 1
"""steps before those that are timed"""
OPTIMIZER = partial(torch.optim.SGD, lr=0.01, momentum=0.9)


def trained(rank: int, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """[plans of the `report`] the begin and end of each of `steps` timed steps, and the losses of all steps.

    The plans come in an order drawn by `round`; each trains the same weights. `factors` are those of the processes.
    """
    report, steps = arguments["report"], arguments["steps"]
    order = list(range(len(report["plans"])))
    random.Random(arguments["round"]).shuffle(order)  # noqa: S311  # no secret
    found = {number: _trained(report, number, arguments["factors"][rank], steps) for number in order}
    return [found[number] for number in range(len(order))]


def _trained(report: Mapping[str, Any], number: int, factor: float, steps: int) -> dict[str, Any]:
    inputs, targets = TOWERS[SMALL].batch(MICRO_BATCHES)
    part = placeto.carry_out(report, TOWERS[SMALL].model(), inputs, loss_of, OPTIMIZER, number=number)
    Slowed(part.module, part.optimizer, factor)
    spans, losses = [], []
    for _ in range(WARM + steps):
        distributed.barrier()
        begin = time.monotonic()
        losses.append(part.step(inputs[part.rows], targets[part.rows]))
        spans.append((begin, time.monotonic()))
    return {"spans": spans[WARM:], "losses": losses}


def alone(_rank: int, arguments: Mapping[str, Any]) -> list[float]:
    """The losses of as many steps by one process, each with a whole batch."""
    inputs, targets = TOWERS[SMALL].batch(MICRO_BATCHES)
    model = TOWERS[SMALL].model()
    optimizer = OPTIMIZER(model.parameters())
    losses = []
    for _ in range(WARM + arguments["steps"]):
        loss = loss_of(model(inputs), targets)
        loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def pass_times(rank: int, arguments: Mapping[str, Any]) -> list[list[list[float]]]:
    """[towers][steps][forward pass, backward pass, update] times in µs of a micro-batch on this slowed processor.

    All processes measure at once, each by its factor of `factors`.
    """
    return [_pass_times(tower, arguments["steps"], arguments["factors"][rank]) for tower in arguments["towers"]]


def _pass_times(tower: str, steps: int, factor: float) -> list[list[float]]:
    model = TOWERS[tower].model()
    inputs, targets = TOWERS[tower].batch(1)
    optimizer = OPTIMIZER(model.parameters())
    Slowed(model, optimizer, factor)
    loss_of(model(inputs), targets).backward()  # type: ignore[no-untyped-call]  # torch's own
    distributed.barrier()
    found = []
    for _ in range(WARM + steps):
        marks = [time.monotonic()]
        loss = loss_of(model(inputs), targets)
        marks.append(time.monotonic())
        loss.backward()  # type: ignore[no-untyped-call]  # adds to gradients that are there, as all but the first do
        marks.append(time.monotonic())
        optimizer.step()
        marks.append(time.monotonic())
        found.append([(after - before) * 1e6 for before, after in itertools.pairwise(marks)])
    return found[WARM:]
