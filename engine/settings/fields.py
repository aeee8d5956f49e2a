"""The fields of settings dataclasses: each declares a setting's default, range, sentence and presets in one place.

    @dataclass(frozen=True, slots=True)
    class OvenSettings:
        loaves: int = whole(16, 1, 4096, "loaves in the oven at once", paper=8)

        def __post_init__(self) -> None:
            require_allowed(self, "oven")

Errors, `--set`, `settings`, forms and JSON schemas read these declarations. A keyword after the sentence gives the
value in the preset of that name, if it is not the default; the presets are the choices of the setting `preset`.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from engine.errors import SettingsError, shortened
from engine.events import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Value = TypeVar("Value")
KEY = "setting"
"""key of the declaration in a field's metadata"""


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of a setting in its field."""

    sentence: str
    allowed: str
    """the allowed values in words, as in errors"""
    not_allowed: Callable[[object], str | None]
    """takes a value; returns the allowed values in words, or None if the value is allowed"""
    schema: Mapping[str, Json]
    """the allowed values as JSON Schema"""
    presets: Mapping[str, Json]
    """preset → value in it, if that is not the default"""
    choices: tuple[str, ...] = ()
    """the allowed texts, if there are only a few"""
    read: Callable[[str, str], object] | None = None
    """for a text: takes the setting's name and the text, and raises SettingsError if it cannot be read"""


def whole(default: int, lowest: int, highest: int, sentence: str, *, multiple_of: int = 1, **presets: int) -> int:
    """A setting that takes the integers from `lowest` to `highest` that are multiples of `multiple_of`."""
    allowed = f"an integer from {lowest} to {highest}"
    schema: dict[str, Json] = {"type": "integer", "minimum": lowest, "maximum": highest}

    def not_allowed(value: object) -> str | None:
        if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
            return allowed
        return f"a multiple of {multiple_of}" if value % multiple_of else None

    schema |= {"multipleOf": multiple_of} if multiple_of > 1 else {}
    return _field(default, Declaration(sentence, allowed, not_allowed, schema, presets))


def number(default: float, lowest: float, highest: float, sentence: str, **presets: float) -> float:
    """A setting that takes the numbers from `lowest` to `highest`."""
    allowed = f"a number from {lowest:g} to {highest:g}"
    schema: dict[str, Json] = {"type": "number", "minimum": lowest, "maximum": highest}

    def not_allowed(value: object) -> str | None:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and lowest <= value <= highest
        return None if fits else allowed

    return _field(default, Declaration(sentence, allowed, not_allowed, schema, presets))


def share(default: float, sentence: str, **presets: float) -> float:
    """A setting that takes the numbers from 0 up to, and not including, 1."""
    allowed = "a number from 0, below 1"
    schema: dict[str, Json] = {"type": "number", "minimum": 0.0, "exclusiveMaximum": 1.0}

    def not_allowed(value: object) -> str | None:
        return None if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 else allowed

    return _field(default, Declaration(sentence, allowed, not_allowed, schema, presets))


def switch(default: bool, sentence: str, **presets: bool) -> bool:
    """A setting that is true or false."""
    allowed = "true, false"

    def not_allowed(value: object) -> str | None:
        return None if isinstance(value, bool) else allowed

    return _field(default, Declaration(sentence, allowed, not_allowed, {"type": "boolean"}, presets))


def choice(known: Sequence[str], sentence: str, **presets: str) -> str:
    """A setting that is one of the `known` texts; the first is the default."""
    allowed = ", ".join(known)

    def not_allowed(value: object) -> str | None:
        return None if value in known else allowed

    schema: dict[str, Json] = {"type": "string", "enum": list(known)}
    return _field(known[0], Declaration(sentence, allowed, not_allowed, schema, presets, choices=tuple(known)))


def text(default: str, sentence: str, allowed: str = "a text", read: Callable[[str, str], object] | None = None) -> str:
    """A setting that is a text; if `read` is given, one that `read` accepts: see `Declaration`."""

    def not_allowed(value: object) -> str | None:
        return None if isinstance(value, str) else allowed

    return _field(default, Declaration(sentence, allowed, not_allowed, {"type": "string"}, {}, read=read))


def mapping(allowed: str, sentence: str) -> dict[str, Any]:
    """A setting that is a JSON object, empty by default; its dataclass checks the content, `allowed` describes it."""

    def not_allowed(value: object) -> str | None:
        return None if isinstance(value, dict) else allowed

    declaration = Declaration(sentence, allowed, not_allowed, {"type": "object"}, {})
    return dataclasses.field(default_factory=dict, metadata={KEY: declaration})


def declarations(settings: "DataclassInstance | type[DataclassInstance]") -> dict[str, Declaration]:
    """Setting → its declaration, in the order of the fields."""
    return {field.name: field.metadata[KEY] for field in dataclasses.fields(settings)}


def require_allowed(settings: "DataclassInstance", method: str = "") -> None:
    """Raise SettingsError unless each setting has an allowed value.

    With a `method` the error names it and belongs to the form's field for all its settings, not to a setting's field.
    """
    for name, declaration in declarations(settings).items():
        value = getattr(settings, name)
        allowed = declaration.not_allowed(value)
        if allowed is not None:
            raise refused(name, value, allowed, method)
        if declaration.read is not None:
            declaration.read(name, value)


def refused(name: str, value: object, allowed: str, method: str = "") -> SettingsError:
    """The error for a `value` of setting `name` that is not allowed."""
    where = f"{method} {name}" if method else name
    return SettingsError(shortened(repr(value)), where=where, allowed=allowed, field="settings" if method else name)


def _field(default: Value, declaration: Declaration) -> Value:
    return dataclasses.field(default=default, metadata={KEY: declaration})
