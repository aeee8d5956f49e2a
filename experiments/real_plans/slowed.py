"""Slower processors: a process sleeps after each piece of its compute, in proportion to the processor time it took.

A piece is a module's forward pass of a micro-batch, what its backward pass does up to each weight's gradient, and the
optimizer's step. What it waits for messages is not charged. A process that had to wait for a processor sleeps less: the
machine's other work changes little, as long as processors are not busy all the time.
"""

import time
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer


class Slowed:
    """Makes the passes of `module`, and its optimizer's steps, take `factor` times their processor time."""

    def __init__(self, module: nn.Module, optimizer: Optimizer, factor: float) -> None:
        self._factor = factor
        self._began_s = self._spent_s = 0.0
        module.register_forward_pre_hook(self._begin)
        module.register_forward_hook(self._forward_end)
        for weight in module.parameters():
            weight.register_hook(self._end)  # type: ignore[no-untyped-call]  # torch's own
        optimizer.register_step_pre_hook(self._begin)
        optimizer.register_step_post_hook(self._end)

    def _begin(self, *_: Any) -> None:
        self._began_s, self._spent_s = time.monotonic(), time.thread_time()

    def _end(self, *_: Any) -> None:
        """Sleep until the piece has taken as long as it should; it may go on."""
        due_s = self._began_s + self._factor * (time.thread_time() - self._spent_s)
        left_s = due_s - time.monotonic()
        if left_s > 0:
            time.sleep(left_s)

    def _forward_end(self, _module: object, _inputs: object, output: Tensor) -> None:
        self._end()
        output.register_hook(self._begin)  # type: ignore[no-untyped-call]  # torch's own
