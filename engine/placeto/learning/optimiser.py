"""Adam over a network's weights, with a clipped gradient and a state that can be saved."""

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from engine.errors import SettingsError


class Optimiser:
    """The optimiser of one network, which may learn on several problems."""

    def __init__(self, network: nn.Module, learning_rate: float) -> None:
        self._named = dict(network.named_parameters())
        self._adam = torch.optim.Adam(self._named.values(), lr=learning_rate, fused=True)

    def begin(self) -> None:
        """Reset the gradient."""
        self._adam.zero_grad(set_to_none=True)

    def step(self, learning_rate: float, gradient_norm: float) -> float:
        """Take one step along the gradient, its global norm clipped; returns the norm before.

        Raises SettingsError if it is not finite.
        """
        for group in self._adam.param_groups:
            group["lr"] = learning_rate
        norm = float(torch.nn.utils.clip_grad_norm_(self._named.values(), gradient_norm))
        if not math.isfinite(norm):
            raise SettingsError(
                "the training diverged: its gradient is not finite",
                where="learning_rate",
                allowed=f"less than {learning_rate:g} for this graph",
                field="learning_rate",
            )
        self._adam.step()
        return norm

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Adam's moments and counts by parameter, for `restore`."""
        arrays: dict[str, NDArray[np.generic]] = {}
        for name, parameter in self._named.items():
            for key, value in self._adam.state.get(parameter, {}).items():
                arrays[f"{name}.{key}"] = value.detach().cpu().numpy()
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Load the state that `arrays` returned."""
        for name, parameter in self._named.items():
            state = {
                key: torch.from_numpy(np.array(arrays[f"{name}.{key}"])).to(parameter.device)
                for key in ("step", "exp_avg", "exp_avg_sq")
                if f"{name}.{key}" in arrays
            }
            if state:
                self._adam.state[parameter] = state
