"""`placeto.record`: what a person calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from placeto.errors import RecordingError

if TYPE_CHECKING:
    import torch

    from placeto.recording import Recording

OLDEST_TORCH = (2, 4)


def record(
    model: torch.nn.Module,
    inputs: Any,
    loss: Callable[[Any], Any] | None = None,
    optimizer: Any = None,
    batch: int | None = None,
    *,
    no_split: Collection[str] | None = None,
    accumulate: int = 1,
    after: Any = None,
    name: str | None = None,
) -> Recording:
    """Records one step of a model: of inference, or of training where a loss or an optimizer is given.

    The step runs on fake tensors: nothing is computed, no memory is taken, no GPU is touched. The model keeps its
    weights, its mode (train or eval) and all else as it was.

    Args:
        model: A module; on the CPU, on GPUs or on the meta device.
        inputs: A tensor, a tuple of arguments, or a dict of arguments by name; of the shapes and types of a step.
        loss: Takes what the model gives, and gives the loss as a tensor with one number. Without it the loss is the
            model's result, or its `.loss`.
        optimizer: A class, a function of the parameters such as `functools.partial(torch.optim.SGD, lr=0.1)`, or an
            optimizer of the model's parameters.
        batch: Samples in the inputs, which is noted in the recording.
        no_split: Names of classes whose modules stay whole on one device; by default those that the model names in
            `_no_split_modules`, as Hugging Face's do.
        accumulate: Forward and backward passes before the optimizer's step.
        after: Inputs of a call before the recorded one, as a dict. The `past_key_values` that it gives go to the
            recorded call: one more token after those of a prompt.
        name: Of the graph; by default that of the model's class.

    Raises:
        RecordingError: PyTorch is missing or too old, or this step cannot be recorded.
    """
    check_torch()
    if not isinstance(accumulate, int) or accumulate < 1:
        raise RecordingError(f"accumulate is a number of passes, at least 1; here it is {accumulate!r}")
    record_step = _recorder()
    return record_step(model, inputs, loss, optimizer, batch, no_split, accumulate, after, name)


def _recorder() -> Callable[..., Recording]:
    """What records, which needs parts of PyTorch that may move from version to version."""
    import torch

    try:
        from placeto.pytorch.step import record_step
    except (ImportError, AttributeError) as error:
        raise RecordingError(f"PyTorch {torch.__version__} lacks what a recording needs: {error}") from error
    return record_step


def check_torch(what: str = "recording", oldest: tuple[int, int] = OLDEST_TORCH) -> None:
    """Says what is missing where PyTorch is not there or too old for `what`.

    Raises:
        RecordingError: It is.
    """
    words = ".".join(map(str, oldest))
    try:
        import torch
    except ImportError as error:
        raise RecordingError(f"{what} needs PyTorch {words} or newer, and it is not installed here") from error
    found = re.match(r"(\d+)\.(\d+)", torch.__version__)
    if found is not None and (int(found[1]), int(found[2])) < oldest:
        raise RecordingError(f"{what} needs PyTorch {words} or newer; here is {torch.__version__}")
