"""What a graph's page tells of the reading: made of the engine's summary, in the words and order of the page.

A summary that was stored by an earlier version lacks the newer keys; what it cannot tell is left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine import api
from webapp.graphs.format_words import format_words
from webapp.graphs.graph_options import groups_text
from webapp.graphs.models import Graph
from webapp.graphs.open_counts import loops_in_order, shortened_in_the_middle, sizes_in_order

Summary = Mapping[str, Any]
"""PreparedGraph.summary(): our own engine's, so that its fields have the types that its docstring says"""

MOST_SHAPES = 8
"""input shapes, trips and sizes that are written out"""
ROWS_SHOWN = 20
"""of a table; the others are folded away"""
MOST_ROWS = 500
"""of a table, folded ones included"""
SOURCES = (
    ("measured", "Measured", "in steps that were traced"),
    ("estimated", "Estimated", "by TensorFlow's cost model"),
    ("given", "Given", "in the file"),
    ("bounded", "Bounded", "estimated for the largest sizes that the data can have"),
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
    flops_percent: float | None = None
    """of the floating-point operations of a step; None where none is known"""

    @property
    def words(self) -> str:
        """`12 %`."""
        return percent_words(self.percent)

    @property
    def flops_words(self) -> str:
        """The same of the operations; empty where none is known."""
        return percent_words(self.flops_percent) if self.flops_percent else ""


@dataclass(frozen=True, slots=True)
class Cell:
    """What a table says of a loop, a branch or a size, beside its name."""

    head: str
    """of its column"""
    value: str | int | None
    is_number: bool = False
    """a count, or None where there is none"""
    speaks_for_itself: bool = False
    """whether a phone, which has no columns, needs no head before it"""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table of loops, branches or sizes: name first."""

    name: str
    cells: tuple[Cell, ...]
    link: str = ""
    """the id of the field where a person may say what is not known; empty where it is known"""

    @property
    def label(self) -> str:
        """The name as far as there is room."""
        return shortened_in_the_middle(self.name)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one kind."""

    part: str
    title: str
    what: str
    """one of them is"""
    rows: list[TableRow]
    meaning: str = ""

    @property
    def shown(self) -> list[TableRow]:
        """The first of them."""
        return self.rows[:ROWS_SHOWN]

    @property
    def folded(self) -> list[TableRow]:
        """Those after them."""
        return self.rows[ROWS_SHOWN:MOST_ROWS]

    @property
    def left_out(self) -> int:
        """How many more there are."""
        return max(0, len(self.rows) - MOST_ROWS)


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
    flops: Mapping[str, float] = summary.get("flops_by_source") or {}
    all_flops = sum(flops.values())
    shares: list[Share] = []
    start = 0.0
    for source, label, meaning in SOURCES:
        if ops := counts.get(source, 0):
            percent = 100.0 * ops / total
            flops_percent = 100.0 * flops[source] / all_flops if flops.get(source) else None
            shares.append(Share(source, label, meaning, ops, start, percent, flops_percent))
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


def tables_of(summary: Summary, id_for_trips: Callable[[str], str]) -> list[Table]:
    """Loops, branches and sizes that depend on data, as far as there are any.

    `id_for_trips`: of the field at which the trips of a loop can be said.
    """
    tables = [
        Table("loops", "Loops", "Loop", [_loop_row(loop, id_for_trips) for loop in loops_in_order(summary)]),
        Table(
            "branches",
            "Branches",
            "Branch",
            [_branch_row(branch) for branch in summary.get("branches") or []],
            meaning="One side of each branch counts: the one that the file picks, or else the costlier one.",
        ),
        Table("sizes", "Sizes that depend on data", "Op", [_size_row(size) for size in sizes_in_order(summary)]),
    ]
    return [table for table in tables if table.rows]


def percent_words(percent: float) -> str:
    """`12 %`; never 0 or 100 % for what is not quite."""
    if 0 < percent < 1:
        return "< 1 %"
    return "> 99 %" if 99 < percent < 100 else f"{percent:.0f} %"


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
        facts.append(("Input shapes", _listed({name: shape_words(shape) for name, shape in shapes.items()})))
    if trips := options.get("trips"):
        facts.append(("Loop trips", _listed(trips)))
    if sizes := options.get("sizes"):
        facts.append(("Sizes", _listed(sizes)))
    return facts


def row_facts(graph: Graph) -> list[tuple[str, str]]:
    """What else it was made with, from its row."""
    options = graph.own_options
    facts = [("Groups requested", groups_text(options.groups))]
    if graph.has_times:
        on = f", for {options.profile_kind} alone" if options.profile_kind else ""
        facts.append(("Measured times", f"{graph.times_name}{on}"))
    return facts


def _loop_row(loop: Mapping[str, Any], id_for_trips: Callable[[str], str]) -> TableRow:
    cells = (
        Cell("Trips", loop["trips"], is_number=True),
        Cell("Source", api.TRIPS_FROM[loop["source"]], speaks_for_itself=True),
        Cell("Ops", loop["ops"], is_number=True),
    )
    return TableRow(loop["name"], cells, id_for_trips(loop["name"]) if loop["source"] == "assumed" else "")


def _branch_row(branch: Mapping[str, Any]) -> TableRow:
    not_counted = f"{branch['ops_not_taken']} of {branch['ops']}"
    return TableRow(branch["name"], (Cell("Counted side", branch["taken"]), Cell("Ops not counted", not_counted)))


def _size_row(size: Mapping[str, Any]) -> TableRow:
    cells = (
        Cell("Type", size["type"], speaks_for_itself=True),
        Cell("Counted length", size["length"], is_number=True),
        Cell("Source", api.SIZES_FROM[size["source"]], speaks_for_itself=True),
    )
    return TableRow(size["name"], cells)


def _listed(values: Mapping[str, object]) -> str:
    """The first few, and how many more; long names are shortened, the tables have them whole."""
    words = [f"{shortened_in_the_middle(name)} = {value}" for name, value in list(values.items())[:MOST_SHAPES]]
    more = [f"{len(values) - MOST_SHAPES} more"] if len(values) > MOST_SHAPES else []
    return ", ".join([*words, *more])


def shape_words(shape: list[int]) -> str:
    """`64 × 224 × 3`."""
    return " × ".join(map(str, shape)) or "scalar"
