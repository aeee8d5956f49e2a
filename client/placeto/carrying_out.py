"""`placeto.carry_out`: a plan's replicas and stages, in the processes that torchrun starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placeto.recorder import check_torch
from placeto.staged_plan import read_plan

if TYPE_CHECKING:
    import torch

    from placeto.pytorch.carried_plan import CarriedPlan

OLDEST_TORCH = (2, 6)
"""the first whose schedules can leave the weights of losses to us"""


def carry_out(
    plan: Mapping[str, Any] | str | Path,
    model: torch.nn.Module,
    inputs: Any,
    loss: Callable[[Any, Any], Any],
    optimizer: Callable[[Any], Any],
    *,
    number: int = 0,
    on_cpu: bool = False,
) -> CarriedPlan:
    """Builds this process's part of a plan: a stage of a replica, or a whole replica, with its share of each batch.

    Every process calls it with the same arguments. Process i has the i-th device of those that the plan uses; on a host
    with GPUs it takes the one of its number there. The first replica's weights go to the others.

    Args:
        plan: The report of `python -m engine plan --report`, or its file.
        model: A module; it is not to be used by itself any more.
        inputs: A tensor or a tuple of arguments, each with the samples of the largest micro-batch or more: shapes to
            trace the stages by. The samples are the first dimension.
        loss: Takes what the model gives for a micro-batch, and the targets; gives their mean over its samples.
        optimizer: A class, or a function of the parameters such as `functools.partial(torch.optim.SGD, lr=0.1)`.
        number: Which of the report's plans, from the fastest.
        on_cpu: Whether to try a plan of GPUs with processes on CPUs.

    Raises:
        PlanError: PyTorch cannot carry this plan out, or not with so many processes or so short inputs.
        RecordingError: PyTorch is missing or too old.
    """
    check_torch("carrying out a plan", OLDEST_TORCH)
    from placeto.pytorch.carried_plan import carried_plan

    return carried_plan(read_plan(plan, number, on_cpu), model, inputs, loss, optimizer)
