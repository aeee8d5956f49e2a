"""Settings of the searches: made from names and values as users give them, and checked."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from engine.errors import SettingsError
from engine.events import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")

CHECKPOINT_SECONDS = (0.0, 3600.0)


def make_settings(method: str, kind: type[Settings], given: Mapping[str, Json]) -> Settings:
    """`kind` with `given` over its defaults. Raises SettingsError for a name that it has not."""
    known = [field.name for field in dataclasses.fields(kind)]
    for name in given:
        if name not in known:
            raise SettingsError(
                f"{method} has no setting {name!r}", where="settings", allowed=", ".join(known), field="settings"
            )
    return kind(**given)


def require_number(method: str, name: str, value: object, lowest: float, highest: float) -> None:
    """Raise SettingsError unless `value` is a number from `lowest` to `highest`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not lowest <= value <= highest:
        allowed = f"a number from {lowest:g} to {highest:g}"
        raise SettingsError(f"{value!r}", where=f"{method} {name}", allowed=allowed, field="settings")


def require_whole(method: str, name: str, value: object, lowest: int, highest: int) -> None:
    """Raise SettingsError unless `value` is a whole number from `lowest` to `highest`."""
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        allowed = f"a whole number from {lowest} to {highest}"
        raise SettingsError(f"{value!r}", where=f"{method} {name}", allowed=allowed, field="settings")
