"""Copies a network's weights to arrays by name, and back."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from engine.errors import SettingsError


def weights_of(network: nn.Module) -> dict[str, NDArray[np.generic]]:
    """A copy of the network's weights by name."""
    return {name: np.array(tensor.detach().cpu().numpy()) for name, tensor in network.state_dict().items()}


def set_weights(network: nn.Module, weights: Mapping[str, NDArray[np.generic]], where: str) -> None:
    """Load `weights` into the network. Raises SettingsError, naming `where`, if names or shapes do not fit it."""
    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    given = {name: array.shape for name, array in weights.items()}
    if wanted != given:
        wrong = sorted(name for name in wanted.keys() | given.keys() if wanted.get(name) != given.get(name))
        raise SettingsError(
            f"weights {wrong[0]!r} have shape {given.get(wrong[0])}",
            where=where,
            allowed=f"{wanted.get(wrong[0])}, as on this problem",
            field="policy",
        )
    network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in weights.items()})
