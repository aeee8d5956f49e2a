"""How a person wants a file to be read, where the file leaves it open."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from engine.errors import SettingsError, shortened
from engine.events import Json

MOST_DIMENSION = 2**31 - 1
MOST_DIMENSIONS = 16


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Choices beside a graph's file. Checks itself; whether the file has what is named here, its reader checks."""

    signature: str = ""
    """of a SavedModel; empty: `serving_default`, or the only one there is"""
    batch_size: int | None = None
    """for each input's first dimension where it is unknown"""
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """name of an input op → its whole shape"""

    def __post_init__(self) -> None:
        if self.batch_size is not None and not 1 <= self.batch_size <= MOST_DIMENSION:
            allowed = f"a whole number from 1 to {MOST_DIMENSION}"
            raise SettingsError(f"{self.batch_size}", where="batch size", allowed=allowed, field="batch_size")
        for name, shape in self.input_shapes.items():
            if len(shape) > MOST_DIMENSIONS or not all(0 <= length <= MOST_DIMENSION for length in shape):
                raise SettingsError(
                    f"the shape {shortened(str(list(shape)))}",
                    where=shortened(name),
                    allowed=f"at most {MOST_DIMENSIONS} whole numbers from 0 to {MOST_DIMENSION}",
                    field="input_shapes",
                )

    def to_json(self) -> dict[str, Json]:
        """For a database, or an order to a child process."""
        return {
            "signature": self.signature,
            "batch_size": self.batch_size,
            "input_shapes": {name: list(shape) for name, shape in self.input_shapes.items()},
        }

    @staticmethod
    def from_json(stored: Mapping[str, Json]) -> "ReadingOptions":
        """The inverse of `to_json`; not for what people write."""
        shapes = cast(dict[str, list[int]], stored["input_shapes"])
        return ReadingOptions(
            cast(str, stored["signature"]),
            cast(int | None, stored["batch_size"]),
            {name: tuple(shape) for name, shape in shapes.items()},
        )
