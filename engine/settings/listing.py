"""Lists of settings: one line each for people, JSON and a JSON Schema for programs."""

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
"""makes settings of names and values from a user; raises SettingsError"""
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as a list shows it."""

    name: str
    default: Json
    allowed: str
    """the allowed values, in the words of the error for any other value"""
    sentence: str

    def line(self) -> str:
        """The setting as one line for a console, which begins in the form that `--set` takes."""
        default = json.dumps(self.default, ensure_ascii=False)
        return f"{self.name}={default}; allowed: {self.allowed}; {self.sentence}"

    def to_json(self) -> dict[str, Json]:
        """The fields as JSON."""
        return dataclasses.asdict(self)


def list_settings(make: MakeSettings, given: Mapping[str, Json]) -> list[Setting]:
    """The settings that `make` makes, in order; defaults are those that hold with `given`. Raises SettingsError."""
    made = make(given)
    return [
        Setting(name, getattr(made, name), declaration.allowed, declaration.sentence)
        for name, declaration in declarations(made).items()
    ]


def settings_schema(title: str, make: MakeSettings, given: Mapping[str, Json]) -> dict[str, Json]:
    """The settings as a JSON Schema (draft 2020-12) of the object that `make` takes. Raises SettingsError.

    It checks each setting alone; combinations that are not allowed are refused when the settings are made.
    """
    made = make(given)
    properties: dict[str, Json] = {
        name: {"description": declaration.sentence, **declaration.schema, "default": getattr(made, name)}
        for name, declaration in declarations(made).items()
    }
    return {
        "$schema": DIALECT,
        "title": title,
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
