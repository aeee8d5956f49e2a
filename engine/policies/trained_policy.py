"""A trained policy as one safetensors file: weights, settings, version and card. Does not load torch."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.files.json_text import shown
from engine.files.tensor_file import pack_tensors, unpack_tensors
from engine.number_words import bytes_words
from engine.placeto.networks.shared_head_shapes import weight_shapes
from engine.placeto.settings import PlacetoSettings, make_settings
from engine.policies.card import PolicyCard
from engine.policies.settings import MOST_BATCH_EPISODES

POLICY_VERSION = 3
"""incremented when older files' weights can no longer be used, as after a change of features or network"""
NETWORK = "shared_head"
"""the network whose weights fit any graph and any cluster"""
OF_A_TRAINING: dict[str, Json] = {"network": NETWORK, "preset": "fast", "reward": "terminal", "passes": 1}
"""settings of every training; a policy with others could make no passes"""
MOST_POLICY_BYTES = 64 * 1024**2
"""most bytes of a file; the default network needs a thousandth of it"""
LARGEST_WEIGHT = 1e6
"""No training comes near: the largest weights that settings can begin with are 1e3, most begin below 1, and a step
moves none by more than about the learning rate. Far beyond it the network's sums overflow."""


@dataclass(frozen=True, slots=True)
class TrainedPolicy:
    """Weights that can be used on any graph and any cluster."""

    weights: Mapping[str, NDArray[np.generic]]
    """by parameter name of `engine.placeto.networks.shared_head.SharedHead`"""
    settings: PlacetoSettings
    """sizes of its network, and settings with which it continues to learn on one problem"""
    card: PolicyCard

    def to_bytes(self) -> bytes:
        """The file's content."""
        return pack_tensors(self.weights, self.texts())

    def texts(self) -> dict[str, Json]:
        """The file's JSON beside the weights."""
        return {
            "version": POLICY_VERSION,
            "settings": dataclasses.asdict(self.settings),
            "card": self.card.to_json(),
        }

    @staticmethod
    def from_bytes(blob: bytes, where: str) -> "TrainedPolicy":
        """The inverse of `to_bytes`; `where` names the file in errors. Raises SettingsError if it is no policy."""
        if len(blob) > MOST_POLICY_BYTES:
            raise _refused("the file is too large", where, f"at most {bytes_words(MOST_POLICY_BYTES)}")
        return TrainedPolicy.from_parts(*unpack_tensors(blob, where), where)

    @staticmethod
    def from_parts(
        weights: Mapping[str, NDArray[np.generic]], texts: Mapping[str, Json], where: str
    ) -> "TrainedPolicy":
        """The policy of `weights` and `texts`, both checked like a file's. Raises SettingsError."""
        if texts.get("version") != POLICY_VERSION:
            raise _refused(f"its version is {shown(texts.get('version'))}", where, f"version {POLICY_VERSION}")
        settings = _settings(texts.get("settings"), where)
        _check_weights(weights, settings, where)
        return TrainedPolicy(weights, settings, PolicyCard.from_json(texts.get("card"), where))


def _settings(value: Json, where: str) -> PlacetoSettings:
    if not isinstance(value, dict):
        raise _refused(f"its settings are {shown(value)}", where, "a JSON object")
    try:
        settings = make_settings(value)
    except SettingsError as error:
        raise _refused(f"its settings: {error.where}: {shortened(error.what)}", where, error.allowed) from None
    for name, wanted in OF_A_TRAINING.items():
        if getattr(settings, name) != wanted:
            raise _refused(f"its {name} is {getattr(settings, name)}", where, str(wanted))
    if settings.batch_episodes > MOST_BATCH_EPISODES:
        raise _refused(f"its batch_episodes is {settings.batch_episodes}", where, f"at most {MOST_BATCH_EPISODES}")
    return settings


def _check_weights(weights: Mapping[str, NDArray[np.generic]], settings: PlacetoSettings, where: str) -> None:
    """Raise SettingsError unless `weights` fit the network of `settings` and are numbers that a training can give."""
    wanted = weight_shapes(settings)
    for name in sorted(wanted.keys() | weights.keys()):
        called = f"the weights {shortened(name)!r}"
        if name not in weights:
            raise _refused(f"{called} are missing", where, f"float32 {list(wanted[name])}")
        if name not in wanted:
            raise _refused(f"{called} are not known", where, f"the {len(wanted)} that its settings ask for")
        array = weights[name]
        if array.dtype != np.float32 or array.shape != wanted[name]:
            found = f"{array.dtype} {list(array.shape)}"
            raise _refused(f"{called} are {shortened(found)}", where, f"float32 {list(wanted[name])}")
        if not np.isfinite(array).all():
            raise _refused(f"{called} are not all finite", where, "finite numbers")
        largest = float(array.flat[np.argmax(np.abs(array))])
        if abs(largest) > LARGEST_WEIGHT:
            allowed = f"numbers from {-LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
            raise _refused(f"{called} reach {largest:g}", where, allowed)


def _refused(what: str, where: str, allowed: str) -> SettingsError:
    return SettingsError(what, where=where, allowed=allowed, field="policy")
