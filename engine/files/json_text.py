"""Reads JSON texts from users: depth and number of values are bounded first, and each fault is a typed error."""

import json
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlacetoError, shortened
from engine.events import Json

MOST_DEPTH = 32
"""levels of lists and objects; node-link JSON needs 5"""
_BLOCK_BYTES = 1 << 20
_OPENING, _CLOSING, _SEPARATOR, _QUOTE = b"[{", b"]}", b",", b'"'


class _DuplicateKeyError(ValueError):
    """One object has a key twice."""


def read_json(text: bytes, *, most_values: int, error: type[PlacetoError], field: str) -> Json:
    """The JSON value in `text` (UTF-8, with or without a byte order mark).

    Raises `error`, with the form's `field`, for a text that is no JSON, is nested deeper than `MOST_DEPTH`, holds more
    than `most_values` values, or has an object with one key twice.
    """
    depth, values = _measure(text)
    if depth > MOST_DEPTH:
        raise error(f"the JSON is nested {depth} levels deep", allowed=f"{MOST_DEPTH} levels", field=field)
    if values > most_values:
        raise error(f"the JSON holds about {values} values", allowed=f"{most_values} values", field=field)
    try:
        value: Json = json.loads(text.decode("utf-8-sig"), object_pairs_hook=_object_of)
    except UnicodeDecodeError as fault:
        raise error(
            "this is not UTF-8 text", where=f"byte {fault.start}", allowed="JSON in UTF-8", field=field
        ) from None
    except json.JSONDecodeError as fault:
        where = f"line {fault.lineno}, column {fault.colno}"
        raise error("this is not JSON", where=where, allowed="one JSON value", field=field) from None
    except _DuplicateKeyError as fault:
        raise error(
            "this key is there twice in one object", where=str(fault), allowed="each key once", field=field
        ) from None
    except ValueError:  # Python reads no integer of more than 4300 digits
        raise error("a number is too long", allowed="numbers of at most 4300 digits", field=field) from None
    return value


def shown(value: Json) -> str:
    """A wrong value, as an error shows it: shortened, and by its JSON name where it has one."""
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 10**30:
        return "a number of more than 30 digits"
    return shortened(repr(value) if isinstance(value, str) else str(value))


def _object_of(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKeyError(shortened(key))
            seen.add(key)
    return made


def _measure(text: bytes) -> tuple[int, int]:
    """The deepest nesting and an upper bound of the number of values, without making any value.

    A text that is no JSON gets arbitrary figures; it is refused afterwards.
    """
    depth, deepest, values = 0, 0, 1
    for structure in _structure(text):
        steps = _is_one_of(structure, _OPENING).astype(np.int64) - _is_one_of(structure, _CLOSING)
        depths = depth + np.cumsum(steps)
        depth, deepest = int(depths[-1]), max(deepest, int(depths.max()))
        values += int(np.count_nonzero((steps > 0) | _is_one_of(structure, _SEPARATOR)))
    return deepest, values


def _structure(text: bytes) -> Iterator[NDArray[np.uint8]]:
    """The bytes of `text` that are outside of strings, block by block, none empty."""
    # Backslashes are legal in strings only, in pairs from the left: with these two replaced each quote is a border.
    bare = text.replace(rb"\\", b"__").replace(rb"\"", b"__") if b"\\" in text else text
    inside = 0
    for start in range(0, len(bare), _BLOCK_BYTES):
        block = np.frombuffer(bare, np.uint8, min(_BLOCK_BYTES, len(bare) - start), start)
        quotes = inside + np.cumsum(_is_one_of(block, _QUOTE))
        inside = int(quotes[-1]) & 1
        structure = block[(quotes & 1) == 0]
        if len(structure):
            yield structure


def _is_one_of(block: NDArray[np.uint8], characters: bytes) -> NDArray[np.bool_]:
    found = np.zeros(len(block), dtype=bool)
    for character in characters:
        found |= block == character
    return found
