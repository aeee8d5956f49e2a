"""All that can be set of something, for people: name, default, what is allowed, and what it means."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import SettingsError
from engine.events import Json
from engine.settings.sentences import sentences_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MakeSettings = Callable[[Mapping[str, Json]], "DataclassInstance"]
"""from names and values as users give them; raises SettingsError"""


@dataclass(frozen=True, slots=True)
class Setting:
    """One of them."""

    name: str
    default: Json
    allowed: str
    """in the words of the error that any other value gets"""
    sentence: str

    def line(self) -> str:
        """For a console; it begins as `--set` takes it."""
        default = json.dumps(self.default, ensure_ascii=False)
        return f"{self.name}={default}; allowed: {self.allowed}; {self.sentence}"

    def to_json(self) -> dict[str, Json]:
        """The same for a programme."""
        return dataclasses.asdict(self)


def list_settings(make: MakeSettings, given: Mapping[str, Json]) -> list[Setting]:
    """The fields of what `make` makes, in their order; the defaults are those beside `given`. Raises SettingsError."""
    made = make(given)
    kind: type = type(made)
    sentences = sentences_of(kind)
    return [
        Setting(field.name, getattr(made, field.name), _allowed(make, given, field.name), sentences[field.name])
        for field in dataclasses.fields(made)
    ]


def _allowed(make: MakeSettings, given: Mapping[str, Json], name: str) -> str:
    """What the check itself says of a value that no setting takes: nothing."""
    try:
        make({**given, name: None})
    except SettingsError as refusal:
        assert name in refusal.where.split(), f"{name} is not what is refused: {refusal}"
        return refusal.allowed
    raise AssertionError(f"{name} is not checked")
