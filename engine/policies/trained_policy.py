"""A trained policy as one file: weights as safetensors, with settings, version, and its card. Loads no torch."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.events import Json
from engine.placeto.settings import PlacetoSettings, make_settings
from engine.placeto.tensor_file import pack_tensors, unpack_tensors
from engine.policies.card import PolicyCard

POLICY_VERSION = 1
"""grows when an older file's weights can no longer be used: other features, another network"""


MOST_POLICY_BYTES = 64 * 1024**2
"""of a file; the default network needs a thousandth of it"""


@dataclass(frozen=True, slots=True)
class TrainedPolicy:
    """Weights that can be used on any graph and any cluster."""

    weights: Mapping[str, NDArray[np.generic]]
    """by parameter name of `engine.placeto.shared_head.SharedHead`"""
    settings: PlacetoSettings
    """sizes of its network, and how it goes on learning on one problem"""
    card: PolicyCard

    def to_bytes(self) -> bytes:
        """The file's content."""
        texts: dict[str, Json] = {
            "version": POLICY_VERSION,
            "settings": dataclasses.asdict(self.settings),
            "card": self.card.to_json(),
        }
        return pack_tensors(self.weights, texts)

    @staticmethod
    def from_bytes(blob: bytes, where: str) -> "TrainedPolicy":
        """The inverse; `where` names the file in errors. Raises SettingsError for a file that is no policy."""
        weights, texts = unpack_tensors(blob, where)
        settings = texts.get("settings")
        if texts.get("version") != POLICY_VERSION or not isinstance(settings, dict):
            raise _refused("this policy was written by another version", where, f"version {POLICY_VERSION}")
        for name, array in weights.items():
            if array.dtype != np.float32 or not np.isfinite(array).all():
                raise _refused(f"weights {name!r} are not finite float32 numbers", where, "weights written by Placeto")
        return TrainedPolicy(weights, make_settings(settings), PolicyCard.from_json(texts.get("card"), where))


def _refused(what: str, where: str, allowed: str) -> SettingsError:
    return SettingsError(what, where=where, allowed=allowed, field="policy")
