"""An optimizer of fake parameters, from whatever a person gives for it."""

from collections import defaultdict
from typing import Any

import torch

from placeto.errors import RecordingError
from placeto.pytorch.faking import Fakes

_BY_LISTS = tuple(
    getattr(torch.optim, name)
    for name in ("Adadelta", "Adagrad", "Adam", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD")
)
"""optimizers that update by lists of parameters on GPUs unless told otherwise; AdamW is an Adam"""


def made_optimizer(given: Any, model: torch.nn.Module, fakes: Fakes) -> tuple[torch.optim.Optimizer, bool]:
    """From a class, a function of the parameters, or an optimizer of the model's own parameters.

    Its ops are those that update one parameter at a time, since each is where its parameter is. Beside it: whether on
    GPUs the kernels of a step are fewer than these ops, since each updates many parameters.

    Raises:
        RecordingError: Nothing of these, or one whose step needs a closure.
    """
    if isinstance(given, (list, tuple)):
        raise RecordingError("record takes one optimizer: parameters with other options go into it as groups")
    if isinstance(given, torch.optim.Optimizer):
        optimizer = _twin(given, fakes)
    elif callable(given):
        optimizer = given(model.parameters())
    else:
        raise RecordingError(f"optimizer is a class or a function of the parameters; here it is {given!r}")
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise RecordingError(f"optimizer(parameters) gives a torch.optim.Optimizer; here {type(optimizer).__name__}")
    if isinstance(optimizer, torch.optim.LBFGS):
        raise RecordingError("LBFGS runs the model as often in a step as the data ask: there is no step to record")
    together = _updates_together(optimizer)
    for group in optimizer.param_groups:
        for key in ("foreach", "fused", "capturable"):
            if key in group:
                group[key] = False
    return optimizer, together


def _updates_together(optimizer: torch.optim.Optimizer) -> bool:
    """Whether on GPUs a kernel of a step updates many parameters: fused, or by lists, as most do unless told not to."""
    by_itself = isinstance(optimizer, _BY_LISTS)
    for group in optimizer.param_groups:
        by_lists = group.get("foreach", False)
        if group.get("differentiable") or not (group.get("fused") or (by_itself if by_lists is None else by_lists)):
            return False
    return bool(optimizer.param_groups)


def _twin(optimizer: torch.optim.Optimizer, fakes: Fakes) -> torch.optim.Optimizer:
    """The same optimizer with fakes in place of its parameters, and without state."""
    for group in optimizer.param_groups:
        if not all(map(fakes.known, group["params"])):
            raise RecordingError(
                "the optimizer updates another model's parameters: make it with model.parameters() of this one"
            )
    twin: torch.optim.Optimizer = object.__new__(type(optimizer))
    twin.__dict__.update(optimizer.__dict__)
    twin.param_groups = [
        {**group, "params": [fakes.of(parameter) for parameter in group["params"]]} for group in optimizer.param_groups
    ]
    twin.state = defaultdict(dict)
    return twin
