"""A policy of REGAL's that was trained on many graphs, as one safetensors file. Does not load torch."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.events import Json
from engine.files.json_text import shown
from engine.files.tensor_file import pack_tensors, unpack_tensors

VERSION = 2
"""incremented when older files' weights can no longer be used, as after a change of features or network"""
SIZES = ("devices", "width", "message_rounds")
MOST_OF_A_SIZE = 1024


@dataclass(frozen=True, slots=True)
class ProposalPolicy:
    """Weights that fit any graph on clusters of one number of devices."""

    weights: Mapping[str, NDArray[np.generic]]
    """by parameter name of `engine.placers.regal.actor.ProposalNetwork`"""
    devices: int
    width: int
    message_rounds: int

    def to_bytes(self) -> bytes:
        """The file's content."""
        sizes: dict[str, Json] = {name: getattr(self, name) for name in SIZES}
        return pack_tensors(self.weights, {"regal": VERSION, **sizes})

    @staticmethod
    def from_bytes(blob: bytes, where: str) -> "ProposalPolicy":
        """The inverse of `to_bytes`; `where` names the file in errors. Raises SettingsError if it is no such policy.

        Whether the weights fit the sizes is checked when the network is made.
        """
        weights, texts = unpack_tensors(blob, where)
        if texts.get("regal") != VERSION:
            raise _refused(f"its version is {shown(texts.get('regal'))}", where, f"a policy of REGAL's, {VERSION}")
        sizes = []
        for name in SIZES:
            size = texts.get(name)
            if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MOST_OF_A_SIZE:
                raise _refused(f"its {name} is {shown(size)}", where, f"an integer from 0 to {MOST_OF_A_SIZE}")
            sizes.append(size)
        return ProposalPolicy(weights, *sizes)

    def require_devices(self, devices: int) -> None:
        """Raise SettingsError for another number of devices than it was trained on."""
        if devices != self.devices:
            raise _refused(f"{devices} devices", "REGAL's policy", f"{self.devices} devices, as in its training")


def _refused(what: str, where: str, allowed: str) -> SettingsError:
    return SettingsError(what, where=where, allowed=allowed, field="policy")
