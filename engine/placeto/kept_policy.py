"""The policy of a run that has ended: the weights of its network, from which its decisions are computed again.

It holds the weights at the end of the training, and beside them, for the best episode that it learned from, the weights
with which it was decided, its start, its order and its decisions. Does not load torch.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.events import Json
from engine.files.tensor_file import pack_tensors, under, unpack_tensors
from engine.placeto.settings import PlacetoSettings
from engine.settings.making import make_settings

KEPT_POLICY_VERSION = 2
MOST_KEPT_BYTES = 8 * 1024**2
"""of a kept policy: the sizes that the settings have by default take a fiftieth of it"""

Weights = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class DecidedEpisode:
    """One episode as it was decided."""

    number: int
    value: float
    """the penalised step time ρ' of its end"""
    weights: Weights
    """with which it was decided"""
    start: NDArray[np.int32]
    """[groups] or NO_DEVICE"""
    order: NDArray[np.int32]
    """[steps] the group of each step"""
    actions: NDArray[np.int32]
    """[steps] the device that each step chose"""
    greedy: bool

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Everything in it, for `from_arrays`."""
        plain: dict[str, NDArray[np.generic]] = {"start": self.start, "order": self.order, "actions": self.actions}
        numbers: dict[str, NDArray[np.generic]] = {
            "number": np.array([self.number], np.int64),
            "value": np.array([self.value]),
        }
        numbers |= {"greedy": np.array([self.greedy], np.uint8)}
        return {**plain, **numbers, **{f"weights.{name}": array for name, array in self.weights.items()}}

    @staticmethod
    def from_arrays(arrays: Weights) -> "DecidedEpisode | None":
        """The inverse of `arrays`; None for no arrays."""
        if not arrays:
            return None
        return DecidedEpisode(
            number=int(arrays["number"][0]),
            value=float(arrays["value"][0]),
            weights=under("weights.", arrays),
            start=arrays["start"].astype(np.int32),
            order=arrays["order"].astype(np.int32),
            actions=arrays["actions"].astype(np.int32),
            greedy=bool(arrays["greedy"][0]),
        )


@dataclass(frozen=True, slots=True)
class KeptPolicy:
    """What a run keeps of its policy."""

    settings: PlacetoSettings
    weights: Weights
    """at the end of the training"""
    best: DecidedEpisode | None
    """the best episode of the training"""

    def to_bytes(self) -> bytes:
        """The policy as one blob."""
        arrays = {f"weights.{name}": array for name, array in self.weights.items()}
        if self.best is not None:
            arrays |= {f"best.{name}": array for name, array in self.best.arrays().items()}
        texts: dict[str, Json] = {"version": KEPT_POLICY_VERSION, "settings": asdict(self.settings)}
        return pack_tensors(arrays, texts)

    @staticmethod
    def from_bytes(blob: bytes) -> "KeptPolicy":
        """The inverse of `to_bytes`. Raises SettingsError for other bytes, or settings that this version has not."""
        arrays, texts = unpack_tensors(blob, "kept policy")
        if texts.get("version") != KEPT_POLICY_VERSION:
            found, allowed = texts.get("version"), str(KEPT_POLICY_VERSION)
            raise SettingsError(f"it is of version {found}", where="kept policy", allowed=allowed)
        settings = make_settings("placeto", PlacetoSettings, cast(Mapping[str, Json], texts["settings"]))
        return KeptPolicy(settings, under("weights.", arrays), DecidedEpisode.from_arrays(under("best.", arrays)))
