"""The reading of a graph in the words and order of its page, from the engine's summary.

Summaries of earlier versions lack newer keys; the page leaves those parts out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine import api
from webapp.graphs.format_words import format_words
from webapp.graphs.graph_options import groups_text
from webapp.graphs.models import Graph
from webapp.graphs.open_counts import (
    GraphSummary,
    loops_in_order,
    shape_words,
    short_name,
    shortened_in_the_middle,
    sizes_in_order,
)
from webapp.option_words import with_fields

MOST_SHAPES = 8
"""input shapes, trips and sizes shown in full"""
ROWS_SHOWN = 20
"""rows of a table that are not folded away"""
LONGEST_IN_LIST = 120
"""characters of an op's name in a list"""
MOST_ROWS = 500
"""rows of a table, folded ones included"""
SOURCES = (
    ("measured", "Measured", "in steps that were traced"),
    ("estimated", "Estimated", "from operations and bytes"),
    ("given", "Given", "in the file"),
    ("bounded", "Bounded", "estimated for the largest sizes that the data can have"),
    ("unknown", "Unknown", "counted as nothing"),
)
"""the engine's name of a source, its label and its meaning; in the order of the bar"""
OF_PEAKS = (
    "An earlier version read this graph, with all ops at the peaks of their device. “Read again” counts what ops of "
    "each type reach; on K80 and CPU nothing changes."
)


@dataclass(frozen=True, slots=True)
class Share:
    """The ops with times from one source."""

    source: str
    label: str
    meaning: str
    ops: int
    start_percent: float
    """start of its part of the bar"""
    percent: float
    flops_percent: float | None = None
    """share of the floating-point operations of a step; None if none is known, or not all are"""

    @property
    def words(self) -> str:
        """`12 %`."""
        return api.part_words(self.percent / 100)

    @property
    def flops_words(self) -> str:
        """The share of the operations, such as `12 %`; empty if none is known."""
        return api.part_words(self.flops_percent / 100) if self.flops_percent else ""


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a row, beside its name."""

    head: str
    """heading of its column"""
    value: str | int | None
    is_number: bool = False
    """a number of `unit`, or None without one"""
    speaks_for_itself: bool = False
    """whether a phone, which shows no columns, can leave out the heading"""
    unit: str = "count"
    """unit of a number: `count`, `flops` or `bytes`"""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A loop, a branch, a layer or a size."""

    name: str
    cells: tuple[TableCell, ...]
    link: str = ""
    """the id of the field for its unknown number; empty if the number is known"""
    shown_as: str = ""
    """another name for people; empty: its own"""

    @property
    def label(self) -> str:
        """The name for people, shortened."""
        return shortened_in_the_middle(self.shown_as or self.name)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of rows of one kind."""

    part: str
    title: str
    what: str
    """a row in words"""
    rows: list[TableRow]
    meaning: str = ""

    @property
    def is_asked(self) -> bool:
        """Whether some of its numbers are assumed, which a person can give."""
        return any(row.link for row in self.rows)

    @property
    def shown(self) -> list[TableRow]:
        """The first rows."""
        return self.rows[:ROWS_SHOWN]

    @property
    def folded(self) -> list[TableRow]:
        """The rows after those, folded away."""
        return self.rows[ROWS_SHOWN:MOST_ROWS]

    @property
    def left_out(self) -> int:
        """The number of rows left out."""
        return max(0, len(self.rows) - MOST_ROWS)


@dataclass(frozen=True, slots=True)
class OpName:
    """The name of an op in a list."""

    whole: str
    """in the file"""
    shown: str
    """for people, cut to fit"""


@dataclass(frozen=True, slots=True)
class UnknownOps:
    """Ops without a known time."""

    ops: int
    types: list[tuple[str, int]]
    listed: list[tuple[OpName, str, str]]
    """the first ones: name, type, reason"""
    heavy: int
    """the number of those that may be heavy"""
    open_inputs: list[str]
    """inputs whose lengths stay open, each as a line of the field for input shapes"""


@dataclass(frozen=True, slots=True)
class OpsByReason:
    """Ops that no GPU can run, or no CPU."""

    ops: int
    reasons: list[tuple[str, int, list[OpName]]]
    """reason, count, names of the first ones"""


@dataclass(frozen=True, slots=True)
class OneDevice:
    """The times of a step on one device of a kind."""

    kind: str
    ops_us: float
    """sum of the ops' times"""
    step_us: float | None
    """with the default rest after each op; None where an op cannot run, or where an earlier version read the graph"""
    is_counted: bool
    """whether `step_us` was computed"""

    @property
    def label(self) -> str:
        """The kind, for people."""
        return "any device" if self.kind == "*" else self.kind


def one_device_of(summary: GraphSummary) -> list[OneDevice]:
    """The times of a step by kind of device."""
    steps: Mapping[str, float | None] = summary.get("one_device_us") or {}
    return [
        OneDevice(kind, ops_us, steps.get(kind), kind in steps) for kind, ops_us in summary.get("time_us", {}).items()
    ]


def shares_of(summary: GraphSummary) -> list[Share]:
    """The sources of the ops' times, without empty ones."""
    counts: Mapping[str, int] = summary.get("sources", {})
    total = sum(counts.values())
    flops: Mapping[str, float] = summary.get("flops_by_source") or {}
    all_flops = 0.0 if summary.get("heavy_unknown") else sum(flops.values())
    shares: list[Share] = []
    start = 0.0
    for source, label, meaning in SOURCES:
        if ops := counts.get(source, 0):
            percent = 100.0 * ops / total
            flops_percent = 100.0 * flops[source] / all_flops if all_flops and flops.get(source) else None
            shares.append(Share(source, label, meaning, ops, start, percent, flops_percent))
            start += percent
    return shares


def unknown_ops_of(summary: GraphSummary) -> UnknownOps | None:
    """The ops without a known time; None if every op has one."""
    if not summary.get("unknown_ops"):
        return None
    return UnknownOps(
        summary["unknown_ops"],
        [(op_type, count) for op_type, count in summary.get("unknown_types", [])],
        [(_op_name(summary, name), op_type, why) for name, op_type, why in summary.get("unknown", [])],
        sum(count for _, count in summary.get("heavy_unknown") or []),
        [f"{row['name']}={row['shape'] or 'lengths'}" for row in summary.get("open_inputs") or []],
    )


def _op_name(summary: GraphSummary, name: str) -> OpName:
    return OpName(name, shortened_in_the_middle(short_name(summary, name), LONGEST_IN_LIST))


def ops_by_reason(summary: GraphSummary, key: str) -> OpsByReason | None:
    """The ops that no GPU (`cpu_ops`) or no CPU (`gpu_ops`) can run; None if there are none."""
    found = summary.get(key)
    if not found or not found["ops"]:
        return None
    reasons = [
        (reason, count, [_op_name(summary, name) for name in names]) for reason, count, names in found["reasons"]
    ]
    return OpsByReason(found["ops"], reasons)


def notes_of(summary: GraphSummary) -> list[str]:
    """Sentences on the reading, and on what cannot be written."""
    notes = [with_fields(note) for note in summary.get("notes", [])]
    if summary.get("at_peaks", True) and summary.get("sources", {}).get("estimated"):
        notes.append(OF_PEAKS)
    refusal = summary.get("saved_model_refusal")
    return [*notes, f"No placed SavedModel can be written of this file: {refusal}."] if refusal else notes


def tables_of(summary: GraphSummary, id_for_trips: Callable[[str], str]) -> list[Table]:
    """The tables of loops, branches, layers and sizes that depend on data, without empty ones.

    `id_for_trips`: name of a loop → id of the field for its trips.
    """
    tables = [
        Table("loops", "Loops", "Loop", [_loop_row(loop, id_for_trips, summary) for loop in loops_in_order(summary)]),
        Table(
            "branches",
            "Branches",
            "Branch",
            [_branch_row(branch, summary) for branch in summary.get("branches") or []],
            meaning="One side of each branch counts: the one that the file picks, or else the costlier one.",
        ),
        _layer_table(summary),
        Table(
            "sizes", "Sizes that depend on data", "Op", [_size_row(size, summary) for size in sizes_in_order(summary)]
        ),
    ]
    return [table for table in tables if table.rows]


def reading_facts(summary: GraphSummary) -> list[tuple[str, str]]:
    """The format, and the options that differ from the defaults: term and value."""
    facts: list[tuple[str, str]] = []
    if summary.get("format"):
        facts.append(("Format", format_words(summary["format"])))
    options: Mapping[str, Any] = summary.get("options") or {}
    if options.get("signature"):
        facts.append(("Signature", options["signature"]))
    if options.get("tags") is not None:
        facts.append(("Tags", api.tags_text(options["tags"])))
    if fetches := options.get("fetches"):
        more = [f"{len(fetches) - MOST_SHAPES} more"] if len(fetches) > MOST_SHAPES else []
        facts.append(("Fetches", ", ".join([*map(shortened_in_the_middle, fetches[:MOST_SHAPES]), *more])))
    if options.get("batch_size") is not None:
        facts.append(("Batch size", str(options["batch_size"])))
    if shapes := options.get("input_shapes"):
        facts.append(("Input shapes", _listed({name: shape_words(shape) for name, shape in shapes.items()})))
    if trips := options.get("trips"):
        facts.append(("Loop trips", _listed(trips)))
    if sizes := options.get("sizes"):
        facts.append(("Sizes", _listed(sizes)))
    if options.get("offload"):
        facts.append(("Weights", "may wait in CPU memory"))
    return facts


def row_facts(graph: Graph, summary: GraphSummary) -> list[tuple[str, str]]:
    """More options of the reading, from the graph's row, and what they made: term and value."""
    options = graph.own_options
    facts = [("Groups requested", groups_text(options.groups))]
    if levels := summary.get("levels"):
        facts.append(("Levels", ", ".join(f"{groups:,}" for groups in levels) + " groups"))
    if graph.has_times:
        on = f", for {options.profile_kind} alone" if options.profile_kind else ""
        facts.append(("Measured times", f"{graph.times_name}{on}"))
    return facts


def _loop_row(loop: Mapping[str, Any], id_for_trips: Callable[[str], str], summary: GraphSummary) -> TableRow:
    cells = (
        TableCell("Trips", loop["trips"], is_number=True),
        TableCell("Source", api.TRIPS_FROM[loop["source"]], speaks_for_itself=True),
        TableCell("Ops", loop["ops"], is_number=True),
    )
    name = loop["name"]
    link = id_for_trips(name) if loop["source"] == "assumed" else ""
    return TableRow(name, cells, link, shown_as=short_name(summary, name))


def _branch_row(branch: Mapping[str, Any], summary: GraphSummary) -> TableRow:
    not_counted = f"{branch['ops_not_taken']} of {branch['ops']}"
    cells = (TableCell("Counted side", branch["taken"]), TableCell("Ops not counted", not_counted))
    return TableRow(branch["name"], cells, shown_as=short_name(summary, branch["name"]))


def _layer_table(summary: GraphSummary) -> Table:
    """The layers; empty where there is only one."""
    layers: list[Mapping[str, Any]] = summary.get("layers") or []
    if len(layers) < 2:
        return Table("layers", "Layers", "Layer", [])
    meaning = "A layer is a name scope of ops."
    held = [key for key in PARAMETERS if any(layer[key] for layer in layers)]
    if "parameters" in held:
        in_all = sum(layer["parameters"] for layer in layers)
        meaning += f" Parameters are elements of variables, without an optimiser's own: {in_all:,} in all."
    if "constants" in held:
        in_all = sum(layer["constants"] for layer in layers)
        meaning += f" Constants, in which a frozen graph keeps its weights, have {in_all:,} elements."
    flops = "FLOPs, at least" if summary.get("heavy_unknown") else "FLOPs"
    return Table("layers", "Layers", "Layer", [_layer_row(layer, held, flops) for layer in layers], meaning)


PARAMETERS = {"parameters": "Parameters", "constants": "In constants"}
"""key of a layer → heading"""


def _layer_row(layer: Mapping[str, Any], held: Sequence[str], flops: str) -> TableRow:
    """`held`: the keys of PARAMETERS of which some layer has any; `flops`: the heading of that column."""
    cells = [TableCell(PARAMETERS[key], layer[key], is_number=True) for key in held]
    if layer["flops"] is not None:
        cells.insert(0, TableCell(flops, int(layer["flops"]), is_number=True, unit="flops"))
    cells.append(TableCell("Ops", layer["ops"], is_number=True))
    cells.append(TableCell("Outputs", layer["output_bytes"], is_number=True, unit="bytes"))
    return TableRow(layer["name"], tuple(cells), shown_as=layer["label"])


def _size_row(size: Mapping[str, Any], summary: GraphSummary) -> TableRow:
    cells = (
        TableCell("Type", size["type"], speaks_for_itself=True),
        TableCell("Counted length", size["length"], is_number=True),
        TableCell("Source", api.SIZES_FROM[size["source"]], speaks_for_itself=True),
    )
    return TableRow(size["name"], cells, shown_as=short_name(summary, size["name"]))


def _listed(values: Mapping[str, object]) -> str:
    """The first few, and the number of the others; long names are shortened."""
    words = [f"{shortened_in_the_middle(name)} = {value}" for name, value in list(values.items())[:MOST_SHAPES]]
    more = [f"{len(values) - MOST_SHAPES} more"] if len(values) > MOST_SHAPES else []
    return ", ".join([*words, *more])
