"""Options for reading a graph's file, given by a person where the file leaves them open."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from engine.errors import SettingsError, shortened
from engine.events import Json

MOST_DIMENSION = 2**31 - 1
MOST_DIMENSIONS = 16
MOST_TRIPS = 10**9
"""trips of a loop"""
NO_TAGS = '""'
"""the tags of a graph without tags, as a person writes them"""
OPEN_LENGTH = -1
"""a length of an input's shape that a person leaves open, as the file does"""


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """A person's options for a graph's file. Checks its values; the file's reader checks that the names exist.

    Raises SettingsError.
    """

    signature: str = ""
    """name of a SavedModel's signature; empty: `serving_default`, or the only one"""
    batch_size: int | None = None
    """length of each input's first dimension where it is unknown"""
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """name of an input op → its shape, `OPEN_LENGTH` for a length that stays as the file has it"""
    trips: Mapping[str, int] = field(default_factory=dict)
    """name of a loop → trips of its body in a step, where the file leaves them open"""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """name of an op whose output's length depends on data → that length"""
    fetches: tuple[str, ...] = ()
    """ops (`train`) or their outputs (`logits:0`) that a step fetches; empty: those that the file names, or its ends"""
    tags: tuple[str, ...] | None = None
    """tags of the graph to read of a SavedModel that holds several; None: the one with the tag `serve` alone"""
    offload: bool = False
    """whether weights may wait on another device than the ops that take them, which get a copy in each step"""

    def __post_init__(self) -> None:
        if self.batch_size is not None and not 1 <= self.batch_size <= MOST_DIMENSION:
            allowed = f"an integer from 1 to {MOST_DIMENSION}"
            raise SettingsError(f"{self.batch_size}", where="batch size", allowed=allowed, field="batch_size")
        for name, shape in self.input_shapes.items():
            if len(shape) > MOST_DIMENSIONS or not all(OPEN_LENGTH <= length <= MOST_DIMENSION for length in shape):
                raise SettingsError(
                    f"the shape [{shortened(shape_words(shape))}]",
                    where=shortened(name),
                    allowed=f"at most {MOST_DIMENSIONS} integers from 0 to {MOST_DIMENSION}, or ? for an open length",
                    field="input_shapes",
                )

        for name, trips in self.trips.items():
            if not 1 <= trips <= MOST_TRIPS:
                allowed = f"an integer from 1 to {MOST_TRIPS}"
                raise SettingsError(f"{trips} trips", where=shortened(name), allowed=allowed, field="trips")
        for name, length in self.sizes.items():
            if not 0 <= length <= MOST_DIMENSION:
                allowed = f"an integer from 0 to {MOST_DIMENSION}"
                raise SettingsError(f"the length {length}", where=shortened(name), allowed=allowed, field="sizes")
        if self.fetches and self.signature:
            what = f"both fetches and the signature {shortened(self.signature)} are given"
            allowed = "one of them: fetches take the place of a signature's outputs"
            raise SettingsError(what, where="fetches", allowed=allowed, field="fetches")

    def to_json(self) -> dict[str, Json]:
        """The options as JSON, for a database or a child process."""
        return {
            "signature": self.signature,
            "batch_size": self.batch_size,
            "input_shapes": {name: list(shape) for name, shape in self.input_shapes.items()},
            "trips": dict(self.trips),
            "sizes": dict(self.sizes),
            "fetches": list(self.fetches),
            "tags": None if self.tags is None else list(self.tags),
            "offload": self.offload,
        }

    @staticmethod
    def from_json(stored: Mapping[str, Json]) -> "ReadingOptions":
        """The inverse of `to_json`; not for JSON that people write."""
        shapes = cast(dict[str, list[int]], stored["input_shapes"])
        tags = cast(list[str] | None, stored.get("tags"))
        return ReadingOptions(
            cast(str, stored["signature"]),
            cast(int | None, stored["batch_size"]),
            {name: tuple(shape) for name, shape in shapes.items()},
            cast(dict[str, int], stored.get("trips", {})),
            cast(dict[str, int], stored.get("sizes", {})),
            tuple(cast(list[str], stored.get("fetches", []))),
            None if tags is None else tuple(tags),
            stored.get("offload") is True,
        )


def tags_of_text(text: str) -> tuple[str, ...]:
    """The tags that a person writes as `serve,gpu`; an empty text, or `""`, is the graph without tags."""
    parts = "" if text.strip() == NO_TAGS else text
    return tuple(sorted({tag.strip() for tag in parts.split(",") if tag.strip()}))


def tags_text(tags: Iterable[str]) -> str:
    """The inverse of `tags_of_text`."""
    return ",".join(tags) or NO_TAGS


def shape_words(shape: Sequence[int]) -> str:
    """A shape as a person gives it: `8,?,?,3`."""
    return ",".join("?" if length == OPEN_LENGTH else str(length) for length in shape)
