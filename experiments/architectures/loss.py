"""A loss for any model: nothing need be known of what it gives."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch


def loss_of(out: Any) -> torch.Tensor:
    """The mean of all that a model gives."""
    return torch.stack([each.float().mean() for each in _trained(out)]).sum()


def _trained(out: Any) -> Iterator[torch.Tensor]:
    if isinstance(out, torch.Tensor) and out.requires_grad:
        yield out
    elif isinstance(out, Mapping | list | tuple):
        for each in out.values() if isinstance(out, Mapping) else out:
            yield from _trained(each)
