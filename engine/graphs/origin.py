"""Where a graph comes from: the file's format, how it was asked to be read, and what had to be done to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.events import Json


@dataclass(frozen=True, slots=True)
class Origin:
    """What a graph's file said beside its ops; empty where that is not known, as for graphs that nobody uploaded."""

    format: str = ""
    """the file's suffix"""
    options: Mapping[str, Json] = field(default_factory=dict)
    """`ReadingOptions.to_json()`"""
    feeds: tuple[str, ...] = ()
    """names of the ops that take a step's inputs, where the file names them"""
    fetches: tuple[str, ...] = ()
    """names of the ops that a step is run for, where the file names them"""
    signatures: tuple[str, ...] = ()
    """that the file offers"""
    notes: tuple[str, ...] = ()
    """a sentence each, for people: what had to be done to the file"""
