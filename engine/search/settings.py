"""Settings of the searches: made from names and values as users give them; each dataclass checks its values."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from engine.events import Json
from engine.settings.ranges import require_fields

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")

CHECKPOINT_SECONDS = (0.0, 3600.0)


def make_settings(method: str, kind: type[Settings], given: Mapping[str, Json]) -> Settings:
    """`kind` with `given` over its defaults. Raises SettingsError for a name that it has not."""
    require_fields(method, kind, given)
    return kind(**given)
