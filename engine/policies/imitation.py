"""Imitation of placements: cross-entropy over all decisions at once, equal unused devices taken as one choice.

A teacher's numbering of equal devices means nothing: the first group on a device of which there are several alike and
empty could have gone to any of them. What counts is the probability of the set.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.simulator.compiled import compiled


@compiled
def equal_choices(
    classes: NDArray[np.int32], allowed: NDArray[np.bool_], orders: NDArray[np.int32], actions: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """[batch, steps, devices] the devices that are as good as the one that was taken.

    `classes` [devices] says which are alike, `allowed` is [groups, devices]; episodes start nowhere. It is the device
    itself once a group was put there, before that all of its class that are still empty.
    """
    batch, steps = orders.shape
    devices = len(classes)
    choices = np.zeros((batch, steps, devices), dtype=np.bool_)
    for episode in range(batch):
        used = np.zeros(devices, dtype=np.bool_)
        for step in range(steps):
            taken = actions[episode, step]
            for device in range(devices):
                alike = classes[device] == classes[taken] and not used[device] and not used[taken]
                if device == taken or (alike and allowed[orders[episode, step], device]):
                    choices[episode, step, device] = True
            used[taken] = True
    return choices


def imitation_loss(log_probabilities: Tensor, choices: Tensor) -> Tensor:
    """[episodes, steps] minus the logarithm of the probability of `choices`; both [episodes, steps, devices]."""
    lowest = torch.finfo(log_probabilities.dtype).min
    return -torch.logsumexp(log_probabilities.masked_fill(~choices, lowest), dim=-1)
