"""Numbers by name, one `while=40` a line: trips of loops, lengths of ops' outputs."""

from collections.abc import Mapping

from engine import api

MOST_LINES = 1000
MOST_DIGITS = 19


def parse_named_numbers(text: str, field: str, example: str) -> dict[str, int]:
    """Name → number; the engine checks the range. Raises SettingsError for `field`, naming the line."""
    numbers: dict[str, int] = {}
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if len(lines) > MOST_LINES:
        raise api.SettingsError(f"{len(lines)} lines", allowed=f"at most {MOST_LINES}", field=field)
    for number, line in lines:
        name, equals, digits = (part.strip() for part in line.rpartition("="))
        if not equals or not name:
            raise _wrong(field, number, f"{line[:80]!r} names nothing", f"one name a line as {example}")
        if name in numbers:
            raise _wrong(field, number, f"{name[:80]!r} has a number already", "each name once")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS):
            allowed = f"an integer of at most {MOST_DIGITS} digits"
            raise _wrong(field, number, f"{digits[:40]!r}", allowed)
        numbers[name] = int(digits)
    return numbers


def named_numbers_text(numbers: Mapping[str, int]) -> str:
    """The inverse of `parse_named_numbers`."""
    return "\n".join(f"{name}={number}" for name, number in numbers.items())


def _wrong(field: str, number: int, what: str, allowed: str) -> api.SettingsError:
    return api.SettingsError(what, where=f"line {number}", allowed=allowed, field=field)
