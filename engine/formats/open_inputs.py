"""Finds the inputs whose lengths a file leaves open, by a quick look at its messages without TensorFlow."""

from dataclasses import dataclass
from typing import cast

from engine.events import Json
from engine.graphs.reading_options import OPEN_LENGTH, ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.op_types import INPUTS

MOST_LISTED = 50
HANDLES = (20, 21)
"""DT_RESOURCE and DT_VARIANT: their shapes are not those of data"""


@dataclass(frozen=True, slots=True)
class OpenInput:
    """An input of which some lengths are open."""

    name: str
    shape: tuple[int, ...]
    """`OPEN_LENGTH` for each open one"""
    dimensions: tuple[str, ...] = ()
    """the names that the file gives to its lengths, empty for one without; or (): it names none"""

    def name_of(self, axis: int) -> str:
        """The name of an open length; empty where it has none."""
        return self.dimensions[axis] if self.dimensions and self.shape[axis] == OPEN_LENGTH else ""

    @property
    def needs_batch_size(self) -> bool:
        """Whether its first length is open, so that a batch size gives it."""
        return self.shape[0] == OPEN_LENGTH and not self.name_of(0)

    @property
    def needs_lengths(self) -> bool:
        """Whether more than a batch size is open."""
        return OPEN_LENGTH in self.shape[1:]

    def to_json(self) -> dict[str, Json]:
        """For a child's result, and for a row."""
        named: dict[str, Json] = {"dimensions": list(self.dimensions)} if self.dimensions else {}
        return {"name": self.name, "shape": list(self.shape), **named}

    @staticmethod
    def from_json(stored: Json) -> "OpenInput":
        """The inverse of `to_json`."""
        row = cast(dict[str, Json], stored)
        dimensions = tuple(cast(list[str], row.get("dimensions", [])))
        return OpenInput(cast(str, row["name"]), tuple(cast(list[int], row["shape"])), dimensions)


def open_inputs_of(messages: GraphMessages, options: ReadingOptions) -> tuple[OpenInput, ...]:
    """The first `MOST_LISTED` whose lengths the options leave open too. One of unknown rank is left out."""
    found: list[OpenInput] = []
    for node in messages.nodes:
        if node.op not in INPUTS or node.name in options.input_shapes or "shape" not in node.attr:
            continue
        shape = node.attr["shape"].shape
        if node.attr["dtype"].type in HANDLES or shape.unknown_rank:
            continue
        lengths = [max(int(dimension.size), OPEN_LENGTH) for dimension in shape.dim]
        if options.batch_size is not None and lengths and lengths[0] == OPEN_LENGTH:
            lengths[0] = options.batch_size
        if OPEN_LENGTH in lengths:
            found.append(OpenInput(node.name, tuple(lengths)))
        if len(found) == MOST_LISTED:
            break
    return tuple(found)
