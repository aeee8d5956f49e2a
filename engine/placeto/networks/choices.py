"""Parts of networks that choose devices: fresh weights, probabilities over the allowed devices, and choices."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.errors import SettingsError


class UnsetLinear(nn.Linear):
    """A linear layer whose first weights are those of `initialise`, or a policy's.

    Torch's own take most of the time in which a network is made, even where they are not drawn.
    """

    def reset_parameters(self) -> None:
        """Leave them unset."""


def initialise(network: nn.Module, rng: np.random.Generator, torch_device: torch.device) -> None:
    """Fill a network made on the `meta` device from `rng`, never from torch's global generator.

    Every linear layer's weights and biases are uniform in ±1/√inputs.
    """
    network.to_empty(device=torch_device)
    for module in network.modules():
        if isinstance(module, nn.Linear):
            limit = module.in_features**-0.5
            for parameter in module.parameters():
                drawn = rng.uniform(-limit, limit, tuple(parameter.shape)).astype(np.float32)
                parameter.data.copy_(torch.from_numpy(drawn))


def score_equally(layer: nn.Module) -> None:
    """Set all weights of a network's last layer to 0, so that only the shared prior decides before it learns."""
    for parameter in layer.parameters():
        parameter.data.zero_()


def torch_device_of(name: str) -> torch.device:
    """The torch device for the setting `torch_device`. Raises SettingsError for `cuda` on a machine without CUDA."""
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingsError(
            "this machine has no CUDA device", where="torch_device", allowed="auto, cpu", field="torch_device"
        )
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def log_probabilities(scores: Tensor, allowed: Tensor, explore: float) -> Tensor:
    """[..., devices] log-probabilities: a softmax of `scores` over the `allowed` devices, mixed with a uniform choice.

    `explore` is the share of the uniform choice. A device that is not allowed has the lowest number.
    """
    lowest = torch.finfo(scores.dtype).min
    logarithms = torch.log_softmax(scores.masked_fill(~allowed, lowest), dim=-1)
    if explore > 0.0:
        uniform = (explore / allowed.sum(dim=-1, keepdim=True).to(scores.dtype)).log()
        left = math.log1p(-explore) if explore < 1.0 else lowest
        logarithms = torch.logaddexp((logarithms + left).clamp_min(lowest), uniform.expand_as(logarithms))
    return logarithms.masked_fill(~allowed, lowest)


def scores_overflow() -> SettingsError:
    """The error for scores that are not finite numbers, by which no device can be chosen."""
    return SettingsError(
        "its scores are not finite numbers",
        where="the network",
        allowed="smaller weights: another policy, or a smaller learning_rate",
        field="settings",
    )


def choose(
    logarithms: NDArray[np.float64], uniforms: NDArray[np.float64], greedy: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """[batch] a device drawn by its log-probability in `logarithms` [batch, devices], the most probable if `greedy`.

    A device of probability 0 is never taken, whatever the rounding. Raises SettingsError if a logarithm is NaN.
    """
    if np.isnan(logarithms).any():
        raise scores_overflow()
    probabilities = np.exp(logarithms)
    upper = np.cumsum(probabilities, axis=1)
    drawn = (upper <= (uniforms * upper[:, -1])[:, None]).sum(axis=1)
    last_possible = logarithms.shape[1] - 1 - np.argmax(probabilities[:, ::-1] > 0, axis=1)
    return np.asarray(np.where(greedy, logarithms.argmax(axis=1), np.minimum(drawn, last_possible)), dtype=np.int32)


def index_tensor(array: NDArray[np.integer], torch_device: torch.device) -> Tensor:
    """`array` as int64 on `torch_device`."""
    return torch.from_numpy(array.astype(np.int64)).to(torch_device)
