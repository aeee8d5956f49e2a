"""Weights whose replicas lie in different stages: each is added up over the processes that have it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor, distributed, nn
from torch.distributed import ProcessGroup


class SharedWeights:
    """The weights of this process, by the processes that also have them.

    Sets of processes come in the same order everywhere, so that no two wait for each other.
    """

    def __init__(self, part: nn.Module, names: Sequence[str], device: torch.device) -> None:
        """`names`: of all parameters of the model. Gives all of a set the weights of its first process."""
        own = dict(part.named_parameters())
        self._sets: list[tuple[ProcessGroup, list[Tensor]]] = []
        """those of a set have one type"""
        for ranks, of_set in _names_by_ranks(own.keys(), names, device).items():
            group = distributed.new_group(ranks)  # every process makes all groups
            weights = [own[name] for name in of_set if name in own]
            if len(ranks) > 1 and weights:
                for weight in weights:
                    distributed.broadcast(weight.detach(), ranks[0], group)
                trained = [weight for weight in weights if weight.requires_grad]
                for dtype in sorted({weight.dtype for weight in trained}, key=str):
                    self._sets.append((group, [weight for weight in trained if weight.dtype == dtype]))

    def add_up(self) -> None:
        """The sums of the gradients of all processes that have a weight, in each of them."""
        for group, weights in self._sets:
            gradients = [torch.zeros_like(each) if each.grad is None else each.grad for each in weights]
            total = torch.cat([gradient.reshape(-1) for gradient in gradients])
            distributed.all_reduce(total, group=group)
            first = 0
            for weight in weights:
                weight.grad = total[first : first + weight.numel()].view_as(weight)
                first += weight.numel()


def _names_by_ranks(
    own: Collection[str], names: Sequence[str], device: torch.device
) -> dict[tuple[int, ...], list[str]]:
    """Processes → the names of the weights that exactly these have."""
    has = torch.tensor([name in own for name in names], dtype=torch.uint8, device=device)
    of_ranks = [torch.empty_like(has) for _ in range(distributed.get_world_size())]
    distributed.all_gather(of_ranks, has)
    found: dict[tuple[int, ...], list[str]] = {}
    for name, column in zip(names, torch.stack(of_ranks).T.tolist()):  # noqa: B905  # 3.10
        ranks = tuple(rank for rank, has_it in enumerate(column) if has_it)
        found.setdefault(ranks, []).append(name)
    return found
