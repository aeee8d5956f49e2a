"""The counts that a user may give: trips of loops and sizes that depend on data, found by reading the graph.

Summaries of earlier versions lack them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine import api

GraphSummary = Mapping[str, Any]
"""PreparedGraph.summary(): trusted, with the types of its docstring; older ones lack keys"""

LONGEST_NAME = 44
"""characters of a name to show"""
TRIPS_ORDER = ("assumed", "at most", "given", "length", "constant")
"""sources of trips, the least certain first"""
SIZES_ORDER = ("unknown", "bound", "given")
"""sources of sizes that depend on data, likewise"""


@dataclass(frozen=True, slots=True)
class OpenCount:
    """A number that a user may give before the graph is read again."""

    kind: str
    """`trips` or `sizes`: the name of the option"""
    key: str
    """the name of its form field"""
    name: str
    """the loop or op"""
    counted: int | None
    """used when the graph was read; None if unknown"""
    words: str
    """the source of `counted`"""
    shown_as: str
    """the name for people"""

    @property
    def label(self) -> str:
        """The name for people, cut to fit."""
        return shortened_in_the_middle(self.shown_as)


def short_name(summary: GraphSummary, name: str) -> str:
    """The name of an op or scope as people are shown it."""
    return str((summary.get("short_names") or {}).get(name, name))


def loops_in_order(summary: GraphSummary) -> list[Mapping[str, Any]]:
    """The loops, those with unknown trips first."""
    return sorted(summary.get("loops") or [], key=lambda loop: TRIPS_ORDER.index(loop["source"]))


def sizes_in_order(summary: GraphSummary) -> list[Mapping[str, Any]]:
    """The sizes that depend on data, those not given first."""
    return sorted(summary.get("sizes") or [], key=lambda size: SIZES_ORDER.index(size["source"]))


def open_counts(summary: GraphSummary) -> dict[str, list[OpenCount] | None]:
    """Kind → counts that a user may give, each name once, in the order of the page; None in an older summary."""
    loops = [loop for loop in loops_in_order(summary) if loop["source"] in api.OPEN_TRIPS]
    trips = {loop["name"]: (loop["trips"], api.TRIPS_FROM[loop["source"]]) for loop in loops}
    sizes = {size["name"]: (size["length"], api.SIZES_FROM[size["source"]]) for size in sizes_in_order(summary)}
    return {
        "trips": None if summary.get("loops") is None else _numbered("trips", trips, summary),
        "sizes": None if summary.get("sizes") is None else _numbered("sizes", sizes, summary),
    }


def _numbered(kind: str, found: Mapping[str, tuple[int | None, str]], summary: GraphSummary) -> list[OpenCount]:
    return [
        OpenCount(kind, f"{kind}_{index}", name, counted, words, short_name(summary, name))
        for index, (name, (counted, words)) in enumerate(found.items())
    ]


def shortened_in_the_middle(name: str, longest: int = LONGEST_NAME) -> str:
    """The name, cut in its middle to `longest` characters."""
    if len(name) <= longest:
        return name
    half = (longest - 1) // 2
    return f"{name[: longest - 1 - half]}…{name[-half:]}"


def batch_hint(summary: GraphSummary) -> tuple[int, int] | None:
    """(ops to which a batch size gives a cost, ops without one); None where a batch size helps none."""
    helps = summary.get("batch_helps")
    return (helps[0], helps[1]) if helps and helps[0] and summary.get("unknown_ops") else None


def named_shape_words(of: api.OpenInput) -> str:
    """`batch × 224 × ?`: open lengths by the names that the file gives them."""
    lengths = [of.name_of(axis) or shape_words([length]) for axis, length in enumerate(of.shape)]
    return " × ".join(map(shortened_in_the_middle, lengths)) or "scalar"


def shape_words(shape: Sequence[int]) -> str:
    """`64 × 224 × 3`."""
    return " × ".join("?" if length == api.OPEN_LENGTH else str(length) for length in shape) or "scalar"
