"""The parts of a saved state that trainings share: their network and optimiser, and whether a state fits a training."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import nn

from engine.errors import SettingsError
from engine.events import Json
from engine.files.tensor_file import under
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.networks.weights import set_weights, weights_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

STATE = "the saved state"
"""how errors name it"""


def network_arrays(network: nn.Module, optimiser: Optimiser) -> dict[str, NDArray[np.generic]]:
    """The network's weights and the optimiser's moments, for `restore_network`."""
    arrays = {f"weights.{name}": array for name, array in weights_of(network).items()}
    return arrays | {f"optimiser.{name}": array for name, array in optimiser.arrays().items()}


def restore_network(arrays: Mapping[str, NDArray[np.generic]], network: nn.Module, optimiser: Optimiser) -> None:
    """Load what `network_arrays` returned. Raises SettingsError if the weights do not fit."""
    set_weights(network, under("weights.", arrays), STATE)
    optimiser.restore(under("optimiser.", arrays))


def require_same_settings(
    texts: Mapping[str, Json], version: int, settings: "DataclassInstance", **others: Json
) -> None:
    """Raise SettingsError unless a state's `texts` have the version, the settings and the `others` of the training."""
    own = {"version": version, "settings": dataclasses.asdict(settings), **others}
    if any(texts[name] != value for name, value in own.items()):
        raise SettingsError(
            "the saved state was made with other settings or by another version",
            where="settings",
            allowed=f"version {texts['version']} with {texts['settings']}",
            field="settings",
        )
