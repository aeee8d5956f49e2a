"""Settings made of names and values as users give them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.settings.fields import declarations, refused

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")
PRESET = "preset"
"""the setting that names one, where there are some"""


def make_settings(owner: str, kind: type[Settings], given: Mapping[str, Json]) -> Settings:
    """`given` over the preset that it names, over the defaults of `kind`, which errors call the `owner`'s.

    Raises SettingsError.
    """
    require_known(owner, kind, given)
    return kind(**(_preset_values(kind, given) | dict(given)))


def presets_of(kind: "type[DataclassInstance]") -> tuple[str, ...]:
    """Names for the setting `preset`, the default first; none where there is no such setting."""
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
    """What the preset that `given` names changes. Raises SettingsError where there is none of that name."""
    known = declarations(kind)
    if PRESET not in given or PRESET not in known:
        return {}
    preset = given[PRESET]
    allowed = known[PRESET].not_allowed(preset)
    if allowed is not None or not isinstance(preset, str):
        raise refused(PRESET, preset, allowed or "")
    return {name: each.presets[preset] for name, each in known.items() if preset in each.presets}
