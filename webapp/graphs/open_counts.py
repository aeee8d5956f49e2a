"""What a person may count for the engine: trips of loops, sizes that depend on data, as a graph's reading found them.

A summary of an earlier version says nothing of them: then nobody knows their names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine import api

Summary = Mapping[str, Any]
"""PreparedGraph.summary(); older ones lack keys"""

LONGEST_NAME = 44
"""characters of a name that are shown"""
TRIPS_ORDER = ("assumed", "at most", "given", "length", "constant")
"""sources of trips, those first that a person should look at"""
SIZES_ORDER = ("unknown", "bound", "given")
"""of sizes that depend on data, likewise"""


@dataclass(frozen=True, slots=True)
class OpenCount:
    """A number that a person may give before the graph is read again."""

    kind: str
    """`trips` or `sizes`: the name of the option"""
    key: str
    """of its field"""
    name: str
    """of the loop or op"""
    counted: int | None
    """with which the graph was read; None where there is no number"""
    words: str
    """where that comes from"""

    @property
    def label(self) -> str:
        """The name as far as there is room."""
        return shortened_in_the_middle(self.name)


def loops_in_order(summary: Summary) -> list[Mapping[str, Any]]:
    """The loops, those first whose trips nobody knows."""
    return sorted(summary.get("loops") or [], key=lambda loop: TRIPS_ORDER.index(loop["source"]))


def sizes_in_order(summary: Summary) -> list[Mapping[str, Any]]:
    """The sizes that depend on data, those first that nobody has given."""
    return sorted(summary.get("sizes") or [], key=lambda size: SIZES_ORDER.index(size["source"]))


def open_counts(summary: Summary) -> dict[str, list[OpenCount] | None]:
    """What a person may say of each kind, each name once, in the order of the page; None where nobody has looked."""
    loops = [loop for loop in loops_in_order(summary) if loop["source"] in api.OPEN_TRIPS]
    trips = {loop["name"]: (loop["trips"], api.TRIPS_FROM[loop["source"]]) for loop in loops}
    sizes = {size["name"]: (size["length"], api.SIZES_FROM[size["source"]]) for size in sizes_in_order(summary)}
    return {
        "trips": None if summary.get("loops") is None else _numbered("trips", trips),
        "sizes": None if summary.get("sizes") is None else _numbered("sizes", sizes),
    }


def _numbered(kind: str, found: Mapping[str, tuple[int | None, str]]) -> list[OpenCount]:
    rows = enumerate(found.items())
    return [OpenCount(kind, f"{kind}_{index}", name, counted, words) for index, (name, (counted, words)) in rows]


def shortened_in_the_middle(name: str, longest: int = LONGEST_NAME) -> str:
    """A name of at most so many characters: its ends tell the most."""
    if len(name) <= longest:
        return name
    half = (longest - 1) // 2
    return f"{name[: longest - 1 - half]}…{name[-half:]}"


def batch_hint(summary: Summary) -> tuple[int, int] | None:
    """How many of the ops without a known cost a batch size makes known, and of how many; None where it does not."""
    helps = summary.get("batch_helps")
    return (helps[0], helps[1]) if helps and helps[0] and summary.get("unknown_ops") else None
