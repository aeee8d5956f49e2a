"""Mutators of JSON: they change a value at any depth and write the text anew."""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.fuzz.mutators.odd_values import odd_integer, odd_text

LEVELS = (5, 30, 33, 1000, 100_000)
RAW = ("NaN", "Infinity", "-Infinity", "1e400", "-1e-400", "0.1e", "9" * 400, "9" * 5000, "tru", '"\\ud800"', '"\\x"')
"""texts in the place of a value, some of which are no JSON"""


class Pairs(list[tuple[str, Any]]):
    """An object as its pairs, so that a key may be there twice."""


class Raw(str):
    """A value's text as it is to be written."""


def parsed(content: bytes) -> Any:
    """The value, with objects as `Pairs`. Raises ValueError, RecursionError."""
    return json.loads(content, object_pairs_hook=Pairs)


def written(value: Any) -> str:
    """The inverse of `parsed`."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Pairs):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(each)}" for key, each in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value)


Edit = Callable[[Any, Any, Random], Any]
"""(value, whole value, generator) → value"""


def mutator(edit: Edit) -> Callable[[bytes, bytes, Random], bytes]:
    """A mutator that applies `edit` to a value somewhere in the text."""

    def mutate(content: bytes, other: bytes, rng: Random) -> bytes:
        try:
            whole = parsed(content)
            source = parsed(content if rng.random() < 0.7 else other)
            return written(_edited(whole, source, edit, rng)).encode("utf-8", "surrogatepass")
        except (ValueError, RecursionError, OverflowError):  # no JSON, nested deep, or a number no float holds
            return content

    mutate.__name__ = edit.__name__
    return mutate


def _edited(value: Any, source: Any, edit: Edit, rng: Random) -> Any:
    inner = isinstance(value, list) and len(value) > 0
    if not inner or rng.random() < 0.2:
        return edit(value, source, rng)
    index = rng.randrange(len(value))
    if isinstance(value, Pairs):
        key, each = value[index]
        value[index] = (key, _edited(each, source, edit, rng))
    else:
        value[index] = _edited(value[index], source, edit, rng)
    return value


def other_value(_value: Any, _source: Any, rng: Random) -> Any:
    """Put a value of another type here."""
    empty: tuple[Any, ...] = (None, True, False, [], Pairs(), 0, -1, 0.5, 1e308, [[]], Pairs([("", None)]))
    return rng.choice((rng.choice(empty), odd_integer(rng), odd_text(rng)))


def raw_value(_value: Any, _source: Any, rng: Random) -> Any:
    """Put a text here that may be no JSON."""
    return Raw(rng.choice(RAW))


def borrowed_value(_value: Any, source: Any, rng: Random) -> Any:
    """Put a value from elsewhere here."""
    return rng.choice(list(values(source)))


def near_number(value: Any, source: Any, rng: Random) -> Any:
    """Put a number near to this one here, or at a border."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return borrowed_value(value, source, rng)
    return rng.choice((value + 1, -value, value * 1000, float(value), odd_integer(rng), str(value)))


def deep_value(value: Any, _source: Any, rng: Random) -> Any:
    """Nest this value deep."""
    levels = rng.choice(LEVELS)
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}")))
    return Raw(opening * levels + written(value) + closing * levels)


def change_entries(value: Any, source: Any, rng: Random) -> Any:
    """Take an entry of a list or an object away, repeat it, move it, or give it another key."""
    if not isinstance(value, list) or not value:
        return borrowed_value(value, source, rng)
    at = rng.randrange(len(value))
    entry = value.pop(at)
    action = rng.randrange(4)
    if action == 1:
        value[at:at] = [entry] * rng.choice((2, 2, 70, 1000))
    elif action == 2:
        value.insert(rng.randrange(len(value) + 1), entry)
    elif action == 3:
        value.insert(at, (_other_key(source, rng), entry[1]) if isinstance(value, Pairs) else other_value(0, 0, rng))
    return value


def _other_key(source: Any, rng: Random) -> str:
    keys = sorted({key for value in values(source) if isinstance(value, Pairs) for key, _ in value})
    return rng.choice(keys) if keys and rng.random() < 0.8 else odd_text(rng)


def values(value: Any) -> Iterator[Any]:
    """The value and all values in it."""
    yield value
    if isinstance(value, list):
        for each in value:
            yield from values(each[1] if isinstance(value, Pairs) else each)


EDITS: tuple[Edit, ...] = (other_value, raw_value, borrowed_value, near_number, deep_value, change_entries)
MUTATORS = tuple(map(mutator, EDITS))
