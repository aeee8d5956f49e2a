"""The sums over groups in the head's first layer, with a gradient: compiled on the CPU, torch's ops elsewhere.

For group v and device d they add v's row, the rows of its parents and children on d, and the rows of all other groups
on d. The last sum counts every group as parallel; the parents' and children's rows hold the difference from that.
With torch's ops a training step takes a fifth longer: they write and read tensors of [batch, steps, devices, width] a
dozen times.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from engine.clusters.cluster import NO_DEVICE
from engine.files.compiled import compiled
from engine.placeto.networks.rows import add_row, subtract_row

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions of a batch of episodes, in the form that the head needs to score them again."""

    starts: Tensor
    """[batch, groups]"""
    orders: Tensor
    """[batch, steps]"""
    actions: Tensor
    """[batch, steps]"""
    before: Tensor
    """[batch, steps] the group's device before the decision"""
    views: Tensor
    """[batch, steps, devices, DEVICE_FEATURES], or [counted, devices, DEVICE_FEATURES] of those that count"""
    member_index: Tensor
    """[members] rows of the parents' and children's tables"""
    member_offset: Tensor
    """[batch · steps · devices + 1] where each bag of members begins"""
    allowed: Tensor
    """[groups, devices]"""
    prior_scores: Tensor
    """[groups, devices] as in `GroupGraph`"""
    counted: Tensor | None = None
    """[batch, steps] whether the decision is to be scored; None: all are"""

    @property
    def rows(self) -> Tensor:
        """[batch, steps] number of the decision among those to be scored, or -1."""
        if self.counted is None:
            return torch.arange(self.orders.numel()).reshape(self.orders.shape)
        numbers = self.counted.flatten().cumsum(0).reshape(self.orders.shape) - 1
        return numbers.masked_fill(~self.counted, -1)


class _Indices(NamedTuple):
    """The fields of `Decisions` that the compiled sums need, in the same shapes; all int64."""

    member_index: Ints
    member_offset: Ints
    starts: Ints
    orders: Ints
    actions: Ints
    before: Ints
    rows: Ints


def group_sums(own: Tensor, more: Tensor, parallel: Tensor, decisions: Decisions) -> Tensor:
    """[batch, steps, devices, width] sums of rows of `own`, `parallel` [groups, width] and `more` [2 · groups, width].

    `more` has the parents' rows, then the children's; `decisions.member_index` refers to its rows. [counted, devices,
    width] where not all decisions are to be scored.
    """
    if own.device.type != "cpu":
        sums = _of_torch(own, more, parallel, decisions)
        return sums if decisions.counted is None else sums[decisions.counted]
    indices = (getattr(decisions, name) for name in _Indices._fields)
    rows = _GroupSums.apply(own, more, parallel, *indices)  # type: ignore[no-untyped-call]  # torch has no type for it
    assert isinstance(rows, Tensor)
    return rows.reshape(*decisions.orders.shape, *rows.shape[1:]) if decisions.counted is None else rows


class _GroupSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, own: Tensor, more: Tensor, parallel: Tensor, *indices: Tensor) -> Tensor:
        ctx.save_for_backward(*indices)
        own, more, parallel = (table.detach().contiguous() for table in (own, more, parallel))
        numbers = _Indices(*(index.numpy() for index in indices))
        return torch.from_numpy(_sum_groups(own.numpy(), more.numpy(), parallel.numpy(), numbers))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        indices = _Indices(*(index.numpy() for index in ctx.saved_tensors))
        spread = _spread_groups(gradients[0].contiguous().numpy(), indices)
        return *(torch.from_numpy(table) for table in spread), *(None for _ in indices)


@compiled
def _sum_groups(own: Floats, more: Floats, parallel: Floats, indices: _Indices) -> NDArray[np.float32]:
    """[rows, devices, width]."""
    member_index, member_offset, starts, orders, actions, before, rows = indices
    batch, steps = orders.shape
    devices = (len(member_offset) - 1) // (batch * steps)
    sums = np.zeros((rows.max() + 1, devices, own.shape[1]), dtype=own.dtype)
    placed = np.empty((devices, own.shape[1]), dtype=own.dtype)
    bag = 0
    for episode in range(batch):
        placed[:] = 0.0
        for group in range(starts.shape[1]):
            if starts[episode, group] != NO_DEVICE:
                add_row(placed[starts[episode, group]], parallel[group])
        for step in range(steps):
            group = orders[episode, step]
            if before[episode, step] != NO_DEVICE:
                subtract_row(placed[before[episode, step]], parallel[group])
            for device in range(devices if rows[episode, step] >= 0 else 0):
                row = sums[rows[episode, step], device]
                add_row(row, own[group])
                add_row(row, placed[device])
                for member in range(member_offset[bag + device], member_offset[bag + device + 1]):
                    add_row(row, more[member_index[member]])
            bag += devices
            add_row(placed[actions[episode, step]], parallel[group])
    return sums


@compiled
def _spread_groups(
    gradient: Floats, indices: _Indices
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """The gradients of the three tables, from that of the sums, [rows, devices, width].

    The loop goes backwards; `later` sums the gradients of all later decisions, to which a group on a device adds."""
    member_index, member_offset, starts, orders, actions, before, rows = indices
    batch, steps = orders.shape
    _, devices, width = gradient.shape
    groups = starts.shape[1]
    own = np.zeros((groups, width), dtype=gradient.dtype)
    more = np.zeros((2 * groups, width), dtype=gradient.dtype)
    parallel = np.zeros((groups, width), dtype=gradient.dtype)
    later = np.empty((devices, width), dtype=gradient.dtype)
    for episode in range(batch):
        later[:] = 0.0
        for step in range(steps - 1, -1, -1):
            group = orders[episode, step]
            add_row(parallel[group], later[actions[episode, step]])
            for device in range(devices if rows[episode, step] >= 0 else 0):
                row = gradient[rows[episode, step], device]
                add_row(own[group], row)
                add_row(later[device], row)
                bag = (episode * steps + step) * devices + device
                for member in range(member_offset[bag], member_offset[bag + 1]):
                    add_row(more[member_index[member]], row)
            if before[episode, step] != NO_DEVICE:
                subtract_row(parallel[group], later[before[episode, step]])
        for group in range(groups):
            if starts[episode, group] != NO_DEVICE:
                add_row(parallel[group], later[starts[episode, group]])
    return own, more, parallel


def _of_torch(own: Tensor, more: Tensor, parallel: Tensor, decisions: Decisions) -> Tensor:
    batch, steps = decisions.orders.shape
    width, bags = own.shape[1], len(decisions.member_offset) - 1
    index, offset = decisions.member_index, decisions.member_offset
    members = functional.embedding_bag(index, more, offset, mode="sum", include_last_offset=True)
    sums = members.reshape(batch, steps, bags // (batch * steps), width) + own[decisions.orders][:, :, None, :]
    return sums + _parallel(parallel, decisions, sums.shape[2])


def _parallel(parallel: Tensor, decisions: Decisions, devices: int) -> Tensor:
    """[batch, steps, devices, width] the sum over all other groups on each device."""
    moved = parallel[decisions.orders][:, :, None, :]
    was_there = _one_hot(decisions.before, devices, moved)[..., None]
    goes_there = _one_hot(decisions.actions, devices, moved)[..., None]
    at_start = _one_hot(decisions.starts, devices, moved).transpose(1, 2) @ parallel
    changes = moved * (goes_there - was_there)
    before = changes.cumsum(dim=1) - changes
    return at_start[:, None] + before - moved * was_there


def _one_hot(index: Tensor, devices: int, like: Tensor) -> Tensor:
    """[..., devices] one-hot rows of the type of `like`; all zero where `index` is NO_DEVICE."""
    return functional.one_hot(index + 1, devices + 1)[..., 1:].to(like.dtype)
