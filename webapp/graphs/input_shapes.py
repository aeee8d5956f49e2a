"""Input shapes as text: one `name=1,224,224,3` a line."""

from collections.abc import Mapping

from engine import api

ALLOWED = "one input a line as name=1,224,224,3, with ? for an open length"
MOST_LINES = 1000
FIELD = "input_shapes"


def parse_input_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Name → shape; nothing after the `=` is a scalar. Raises SettingsError that names the line."""
    shapes: dict[str, tuple[int, ...]] = {}
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if len(lines) > MOST_LINES:
        raise api.SettingsError(f"{len(lines)} input shapes", allowed=f"at most {MOST_LINES}", field=FIELD)
    for number, line in lines:
        name, equals, numbers = (part.strip() for part in line.rpartition("="))
        if not equals or not name:
            raise _wrong(number, f"{line[:80]!r} names no input", ALLOWED)
        if name in shapes:
            raise _wrong(number, f"{name[:80]!r} has a shape already", "each input once")
        shapes[name] = tuple(_length(number, part) for part in numbers.split(",")) if numbers else ()
    return shapes


def input_shapes_text(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """The inverse of `parse_input_shapes`."""
    return "\n".join(f"{name}={api.shape_words(shape)}" for name, shape in shapes.items())


def _length(number: int, text: str) -> int:
    digits = text.strip()
    if digits == "?":
        return api.OPEN_LENGTH
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10):
        raise _wrong(
            number, f"{digits[:40]!r} is not a length", "integers, or ? for an open length, with commas between"
        )
    return int(digits)


def _wrong(number: int, what: str, allowed: str) -> api.SettingsError:
    return api.SettingsError(what, where=f"line {number}", allowed=allowed, field=FIELD)
