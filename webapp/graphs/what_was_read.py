"""What a graph's page tells of the reading: made of the engine's summary, in the words and order of the page.

A summary that was stored by an earlier version lacks the newer keys; what it cannot tell is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webapp.graphs.format_words import format_words
from webapp.graphs.graph_options import groups_text
from webapp.graphs.models import Graph

Summary = Mapping[str, Any]
"""PreparedGraph.summary(): our own engine's, so that its fields have the types that its docstring says"""

MOST_SHAPES = 8
"""input shapes that are written out"""
SOURCES = (
    ("measured", "Measured", "in steps that were traced"),
    ("estimated", "Estimated", "by TensorFlow's cost model"),
    ("given", "Given", "in the file"),
    ("unknown", "Unknown", "counted as nothing"),
)
"""the engine's name of a source → its word, and what it means; in the order of the bar"""


@dataclass(frozen=True, slots=True)
class Share:
    """The ops whose time comes from one source."""

    source: str
    label: str
    meaning: str
    ops: int
    start_percent: float
    """where its part of the bar begins"""
    percent: float

    @property
    def words(self) -> str:
        """`12 %`; never 0 or 100 % for what is not quite."""
        if 0 < self.percent < 1:
            return "< 1 %"
        if 99 < self.percent < 100:
            return "> 99 %"
        return f"{self.percent:.0f} %"


@dataclass(frozen=True, slots=True)
class UnknownOps:
    """Ops without a known time."""

    ops: int
    types: list[tuple[str, int]]
    listed: list[tuple[str, str, str]]
    """the first of them: name, type, why"""


@dataclass(frozen=True, slots=True)
class CpuOps:
    """Ops that no GPU can run."""

    ops: int
    reasons: list[tuple[str, int, list[str]]]
    """why, how many, the names of the first of them"""


def shares_of(summary: Summary) -> list[Share]:
    """Where the ops' times come from, without the sources that none has."""
    counts: Mapping[str, int] = summary.get("sources", {})
    total = sum(counts.values())
    shares: list[Share] = []
    start = 0.0
    for source, label, meaning in SOURCES:
        if ops := counts.get(source, 0):
            percent = 100.0 * ops / total
            shares.append(Share(source, label, meaning, ops, start, percent))
            start += percent
    return shares


def unknown_ops_of(summary: Summary) -> UnknownOps | None:
    """None where every op has a time."""
    if not summary.get("unknown_ops"):
        return None
    return UnknownOps(
        summary["unknown_ops"],
        [(op_type, count) for op_type, count in summary.get("unknown_types", [])],
        [(name, op_type, why) for name, op_type, why in summary.get("unknown", [])],
    )


def cpu_ops_of(summary: Summary) -> CpuOps | None:
    """None where every op can run on a GPU."""
    found = summary.get("cpu_ops")
    if not found or not found["ops"]:
        return None
    return CpuOps(found["ops"], [(reason, count, names) for reason, count, names in found["reasons"]])


def reading_facts(summary: Summary) -> list[tuple[str, str]]:
    """The format, and the options that were other than the usual ones: term and value."""
    facts: list[tuple[str, str]] = []
    if summary.get("format"):
        facts.append(("Format", format_words(summary["format"])))
    options: Mapping[str, Any] = summary.get("options") or {}
    if options.get("signature"):
        facts.append(("Signature", options["signature"]))
    if options.get("batch_size") is not None:
        facts.append(("Batch size", str(options["batch_size"])))
    if shapes := options.get("input_shapes"):
        facts.append(("Input shapes", _shapes_words(shapes)))
    return facts


def row_facts(graph: Graph) -> list[tuple[str, str]]:
    """What else it was made with, from its row."""
    options = graph.own_options
    facts = [("Groups asked for", groups_text(options.groups))]
    if graph.has_times:
        on = f", for {options.profile_kind} alone" if options.profile_kind else ""
        facts.append(("Measured times", f"{graph.times_name}{on}"))
    return facts


def _shapes_words(shapes: Mapping[str, list[int]]) -> str:
    """The first few, and how many more."""
    words = [f"{name} = {shape_words(shape)}" for name, shape in list(shapes.items())[:MOST_SHAPES]]
    more = [f"{len(shapes) - MOST_SHAPES} more"] if len(shapes) > MOST_SHAPES else []
    return ", ".join([*words, *more])


def shape_words(shape: list[int]) -> str:
    """`64 × 224 × 3`."""
    return " × ".join(map(str, shape)) or "scalar"
