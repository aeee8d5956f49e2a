"""An optimizer of fake parameters, from whatever a person gives for it."""

from collections import defaultdict
from typing import Any

import torch

from placeto.errors import RecordingError
from placeto.pytorch.faking import Fakes


def made_optimizer(given: Any, model: torch.nn.Module, fakes: Fakes) -> torch.optim.Optimizer:
    """From a class, a function of the parameters, or an optimizer of the model's own parameters.

    Its ops are those that update one parameter at a time, since each is where its parameter is.

    Raises:
        RecordingError: Nothing of these, or one whose step needs a closure.
    """
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
    for group in optimizer.param_groups:
        for key in ("foreach", "fused", "capturable"):
            if key in group:
                group[key] = False
    return optimizer


def _twin(optimizer: torch.optim.Optimizer, fakes: Fakes) -> torch.optim.Optimizer:
    """The same optimizer with fakes in place of its parameters, and without state."""
    twin: torch.optim.Optimizer = object.__new__(type(optimizer))
    twin.__dict__.update(optimizer.__dict__)
    twin.param_groups = [
        {**group, "params": [fakes.of(parameter) for parameter in group["params"]]} for group in optimizer.param_groups
    ]
    twin.state = defaultdict(dict)
    return twin
