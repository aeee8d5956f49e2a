"""A trained policy as one file: weights as safetensors, with settings, version, and what it was trained on."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from engine.errors import SettingsError
from engine.events import Json
from engine.placeto.settings import PlacetoSettings, make_settings
from engine.placeto.tensor_file import pack_tensors, unpack_tensors

POLICY_VERSION = 1
"""grows when an older file's weights can no longer be used: other features, another network"""


@dataclass(frozen=True, slots=True)
class TrainedPolicy:
    """Weights that can be used on other graphs; those of `shared_head` on any cluster, too."""

    settings: PlacetoSettings
    """what it was trained with"""
    weights: Mapping[str, NDArray[np.generic]]
    """by parameter name"""
    trained_on: Mapping[str, Json]
    """graphs, cluster, episodes and how well it did: told to people, not used"""

    def to_bytes(self) -> bytes:
        """The file's content."""
        texts: dict[str, Json] = {
            "version": POLICY_VERSION,
            "settings": dataclasses.asdict(self.settings),
            "trained_on": dict(self.trained_on),
        }
        return pack_tensors(self.weights, texts)

    @staticmethod
    def from_bytes(blob: bytes, where: str) -> "TrainedPolicy":
        """The inverse; `where` names the file in errors. Raises SettingsError for a file that is no policy."""
        weights, texts = unpack_tensors(blob, where)
        settings, trained_on = texts.get("settings"), texts.get("trained_on")
        if texts.get("version") != POLICY_VERSION or not isinstance(settings, dict) or not isinstance(trained_on, dict):
            raise _refused("this policy was written by another version", where, f"version {POLICY_VERSION}")
        for name, array in weights.items():
            if array.dtype != np.float32 or not np.isfinite(array).all():
                raise _refused(f"weights {name!r} are not finite float32 numbers", where, "weights written by Placeto")
        return TrainedPolicy(make_settings(settings), weights, trained_on)


def save_policy(policy: TrainedPolicy, path: Path) -> None:
    """Write `policy` to `path`, whole or not at all."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_bytes(policy.to_bytes())
    unfinished.replace(path)


def load_policy(path: Path) -> TrainedPolicy:
    """Read the policy in `path`. Raises SettingsError for a file that is none."""
    return TrainedPolicy.from_bytes(path.read_bytes(), path.name)


def weights_of(network: nn.Module) -> dict[str, NDArray[np.generic]]:
    """A copy of the network's weights by name."""
    return {name: np.array(tensor.detach().cpu().numpy()) for name, tensor in network.state_dict().items()}


def set_weights(network: nn.Module, weights: Mapping[str, NDArray[np.generic]], where: str) -> None:
    """The inverse. Raises SettingsError, naming `where`, if names or shapes are not the network's."""
    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    given = {name: array.shape for name, array in weights.items()}
    if wanted != given:
        odd = sorted(name for name in wanted.keys() | given.keys() if wanted.get(name) != given.get(name))
        raise _refused(
            f"weights {odd[0]!r} have shape {given.get(odd[0])}", where, f"{wanted.get(odd[0])}, as on this problem"
        )
    network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in weights.items()})


def _refused(what: str, where: str, allowed: str) -> SettingsError:
    return SettingsError(what, where=where, allowed=allowed, field="policy")
