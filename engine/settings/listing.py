"""All that can be set of something: for people a line each, for a programme JSON and a JSON Schema."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.events import Json
from engine.settings.fields import declarations

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MakeSettings = Callable[[Mapping[str, Json]], "DataclassInstance"]
"""from names and values as users give them; raises SettingsError"""
DIALECT = "https://json-schema.org/draft/2020-12/schema"


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
    return [
        Setting(name, getattr(made, name), declaration.allowed, declaration.sentence)
        for name, declaration in declarations(made).items()
    ]


def settings_schema(title: str, make: MakeSettings, given: Mapping[str, Json]) -> dict[str, Json]:
    """The same as a JSON Schema of the object that `make` takes, draft 2020-12. Raises SettingsError.

    It holds each setting alone: what two of them may not be together is refused when they are made.
    """
    made = make(given)
    properties: dict[str, Json] = {
        name: {"description": each.sentence, **each.schema, "default": getattr(made, name)}
        for name, each in declarations(made).items()
    }
    return {
        "$schema": DIALECT,
        "title": title,
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
