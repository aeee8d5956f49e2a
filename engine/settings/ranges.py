"""What settings may be, checked alike wherever there are some: names, ranges of numbers, choices, switches."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from engine.errors import SettingsError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WholeRanges = Mapping[str, tuple[int, int]]
"""field → the smallest and the largest whole number that it takes"""
NumberRanges = Mapping[str, tuple[float, float]]
"""the same for any numbers"""


def require_ranges(settings: object, whole: WholeRanges, numbers: NumberRanges, method: str = "") -> None:
    """Raise SettingsError unless the fields `whole` and `numbers` of `settings` lie in their ranges.

    With a `method` the error names it and stands at its settings as a whole, not at a field of a form.
    """
    for name, (lowest, highest) in whole.items():
        _require(name, getattr(settings, name), not_whole(getattr(settings, name), lowest, highest), method)
    for name, (least, most) in numbers.items():
        _require(name, getattr(settings, name), not_number(getattr(settings, name), least, most), method)


def require_choices(settings: object, choices: Mapping[str, tuple[str, ...]], method: str = "") -> None:
    """Raise SettingsError unless each field of `choices` is one of them."""
    for name, known in choices.items():
        value = getattr(settings, name)
        _require(name, value, None if value in known else ", ".join(known), method)


def require_switches(settings: object, names: Iterable[str], method: str = "") -> None:
    """Raise SettingsError unless each field of `names` is true or false."""
    for name in names:
        value = getattr(settings, name)
        _require(name, value, None if isinstance(value, bool) else "true, false", method)


def require_texts(settings: object, names: Iterable[str], method: str = "") -> None:
    """Raise SettingsError unless each field of `names` is a text."""
    for name in names:
        value = getattr(settings, name)
        _require(name, value, None if isinstance(value, str) else "a text", method)


def require_fields(method: str, kind: "DataclassInstance | type[DataclassInstance]", given: Iterable[str]) -> None:
    """Raise SettingsError unless all names in `given` are fields of the dataclass `kind`."""
    names = [field.name for field in dataclasses.fields(kind)]
    for name in given:
        if name not in names:
            allowed = ", ".join(names) or "none"
            raise SettingsError(
                f"{method} has no setting {name!r}", where="settings", allowed=allowed, field="settings"
            )


def not_whole(value: object, lowest: int, highest: int) -> str | None:
    """What is allowed, where `value` is no whole number from `lowest` to `highest`; None where it is one."""
    fits = isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest
    return None if fits else f"a whole number from {lowest} to {highest}"


def not_number(value: object, lowest: float, highest: float) -> str | None:
    """The same for any number."""
    fits = isinstance(value, int | float) and not isinstance(value, bool) and lowest <= value <= highest
    return None if fits else f"a number from {lowest:g} to {highest:g}"


def refused(name: str, value: object, allowed: str, method: str = "") -> SettingsError:
    """The error for setting `name`."""
    where = f"{method} {name}" if method else name
    return SettingsError(f"{value!r}", where=where, allowed=allowed, field="settings" if method else name)


def _require(name: str, value: object, allowed: str | None, method: str) -> None:
    if allowed is not None:
        raise refused(name, value, allowed, method)
