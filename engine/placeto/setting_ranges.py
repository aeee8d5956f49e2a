"""Ranges of settings, checked alike wherever there are several of them."""

from collections.abc import Mapping

from engine.errors import SettingsError


def require_ranges(
    settings: object, whole: Mapping[str, tuple[int, int]], numbers: Mapping[str, tuple[float, float]]
) -> None:
    """Raise SettingsError unless the fields `whole` and `numbers` of `settings` are from the first to the second."""
    for name, (lowest, highest) in whole.items():
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            raise refused(name, value, f"a whole number from {lowest} to {highest}")
    for name, (lowest_number, highest_number) in numbers.items():
        value = getattr(settings, name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and lowest_number <= value <= highest_number):
            raise refused(name, value, f"a number from {lowest_number:g} to {highest_number:g}")


def refused(name: str, value: object, allowed: str) -> SettingsError:
    """The error for setting `name`."""
    return SettingsError(f"{value!r}", where=name, allowed=allowed, field=name)
