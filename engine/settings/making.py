"""Makes settings from names and values that users give."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.settings.fields import declarations, refused

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")
PRESET = "preset"
"""name of the setting that selects a preset, in dataclasses that have presets"""


def make_settings(owner: str, kind: type[Settings], given: Mapping[str, Json]) -> Settings:
    """Make a `kind` from the `given` values; the rest come from the preset that these name, else from the defaults.

    Errors call the settings those of `owner`. Raises SettingsError.
    """
    require_known(owner, kind, given)
    return kind(**(_preset_values(kind, given) | dict(given)))


def presets_of(kind: "type[DataclassInstance]") -> tuple[str, ...]:
    """The choices of the setting `preset`, the default first; empty if `kind` has no such setting."""
    preset = declarations(kind).get(PRESET)
    return () if preset is None else preset.choices


def require_known(owner: str, kind: "type[DataclassInstance]", given: Iterable[str]) -> None:
    """Raise SettingsError unless all names in `given` are settings of `kind`."""
    known = declarations(kind)
    for name in given:
        if name not in known:
            what = f"{owner} has no setting {shortened(repr(name))}"
            raise SettingsError(what, where="settings", allowed=", ".join(known) or "none", field="settings")


def _preset_values(kind: "type[DataclassInstance]", given: Mapping[str, Json]) -> dict[str, Json]:
    """The values of the preset that `given` names. Raises SettingsError if it does not exist."""
    known = declarations(kind)
    if PRESET not in given or PRESET not in known:
        return {}
    preset = given[PRESET]
    allowed = known[PRESET].not_allowed(preset)
    if allowed is not None or not isinstance(preset, str):
        raise refused(PRESET, preset, allowed or "")
    return {name: declaration.presets[preset] for name, declaration in known.items() if preset in declaration.presets}
