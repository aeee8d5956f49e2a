"""Whether a saved state fits the training that is to continue from it."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.errors import SettingsError
from engine.events import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def require_same_settings(texts: Mapping[str, Json], version: int, settings: "DataclassInstance") -> None:
    """Raise SettingsError unless a state's `texts` have the version and settings of the training."""
    if texts["version"] != version or texts["settings"] != dataclasses.asdict(settings):
        raise SettingsError(
            "the saved state was made with other settings or by another version",
            where="settings",
            allowed=f"version {texts['version']} with {texts['settings']}",
            field="settings",
        )
