"""Writes docs/models.md and its pages: what is read of each model in each form, and the checks of placed files."""

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import TypeAlias, cast

from engine import VERSION
from engine.events import Json
from experiments.pages import table_line
from tests.models.model import FORMS, SAVED_MODEL, ModelRow
from tests.models.registry import MODELS

ModelRows: TypeAlias = Mapping[str, Mapping[str, ModelRow]]
"""model → form → figures"""
COMMAND = "python -m tests.models"


def pages(rows: ModelRows) -> dict[str, str]:
    """Name → text of each page; the first one leads to the others."""
    read = _of_form(rows, SAVED_MODEL)
    placed = [(name, cast(ModelRow, row["placed"])) for name, row in read if "placed" in row]
    served = [(name, cast(ModelRow, row["served"])) for name, row in read if "served" in row]
    findings = "\n".join([FINDINGS.format(command=COMMAND), *_unrolled(rows), *_reading_times(read)])
    differences = _table(FORM | DIFFERENT, _with_differences(rows))
    placed_tables = (_told_once(PLACED, placed), SERVED_HEAD, _told_once(SERVED, served))
    parts = {
        "models": [HEAD.format(models=len(MODELS), command=COMMAND, version=VERSION), _summary(rows), "", findings],
        "models/files": [FILES_HEAD.format(command=COMMAND), _described(read), FORMS_HEAD, differences],
        "models/placed": [PLACED_HEAD.format(command=COMMAND), *placed_tables],
    }
    return {name: "\n".join(lines).rstrip("\n") + "\n" for name, lines in parts.items()}


def _unrolled(rows: ModelRows) -> list[str]:
    """The simulated step times of the LSTM in its two forms."""
    if not {LOOPED, UNROLLED} <= {name for name, _ in _of_form(rows, SAVED_MODEL)}:
        return []
    looped, unrolled = (cast(float, rows[name][SAVED_MODEL]["one_device_ms"]) for name in (LOOPED, UNROLLED))
    return [
        f"- A loop costs what its unrolled form costs. On one V100 a simulated step of {LOOPED} takes {looped} ms,",
        f"  one of {UNROLLED}, the same layers without a loop, {unrolled} ms: a ratio of {looped / unrolled:.3f}.",
    ]


def _reading_times(read: list[tuple[str, ModelRow]]) -> list[str]:
    """How long a reading takes beside that of another checkout."""
    ratios = [
        cast(float, row["seconds_alone"]) / cast(float, row["seconds_today"])
        for _, row in read
        if "seconds_today" in row and not row.get("refused_today")
    ]
    if not ratios:
        return []
    seconds = [cast(float, row["seconds_alone"]) for _, row in read if "seconds_alone" in row]
    return [
        f"- Reading one takes {min(seconds):.1f} to {max(seconds):.1f} s of processor time with TensorFlow's start,",
        f"  {min(ratios):.2f} to {max(ratios):.2f} times as long as with an earlier version, the median "
        f"{median(ratios):.2f} (`--set today=FOLDER`).",
    ]


def _with_differences(rows: ModelRows) -> list[tuple[str, ModelRow]]:
    """The files that lack something, or whose figures differ from those of the layers."""
    found = ((name, {**row, "form": form}) for form in FORMS for name, row in _of_form(rows, form))
    return [(name, row) for name, row in found if not _is_whole(row)]


def _is_whole(row: ModelRow) -> bool:
    """Whether every cost is known and the figures are those of the layers."""
    if "refused" in row:
        return False
    complete = row["unknown_ops"] == 0 and row["bounded_ops"] == 0
    return complete and is_near(row) and row["persistent_bytes"] == row["closed_persistent_bytes"]


def _of_form(rows: ModelRows, form: str) -> list[tuple[str, ModelRow]]:
    return [(name, rows[name][form]) for name in MODELS if form in rows.get(name, {})]


def _summary(rows: ModelRows) -> str:
    """A line for each form: its files, and how many of them meet each criterion."""
    lines = ["| form | files | refused | no heavy op unknown | FLOPs within 2 % | variables exact |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for form, words in FORMS.items():
        found = [row for _, row in _of_form(rows, form)]
        read = [row for row in found if "refused" not in row]
        counts = (
            len(found),
            len(found) - len(read),
            sum(row["heavy_unknown"] == 0 for row in read),
            sum(is_near(row) for row in read),
            sum(row["persistent_bytes"] == row["closed_persistent_bytes"] for row in read),
        )
        lines.append(table_line([words, *map(str, counts)]))
    return "\n".join(lines)


def is_near(row: ModelRow) -> bool:
    """Whether the operations are within 2 % of the closed form."""
    difference = cast("float | None", row["flops_difference"])
    return difference is not None and abs(difference) <= MOST_DIFFERENCE


def _table(columns: Mapping[str, Callable[[ModelRow], str]], rows: list[tuple[str, ModelRow]]) -> str:
    head = ["model", *columns]
    lines = [table_line(head), f"|---|{'---:|' * len(columns)}"]
    for name, row in rows:
        cells = [f"refused: {row['refused']}"] if "refused" in row else [cell(row) for cell in columns.values()]
        lines.append(table_line([name, *cells]))
    return "\n".join(lines)


def _told_once(columns: Mapping[str, Callable[[ModelRow], str]], rows: list[tuple[str, ModelRow]]) -> str:
    """The table; a column that is the same in all rows is a sentence below it."""
    same = {words: {cell(row) for _, row in rows} for words, cell in columns.items()}
    table = _table({words: cell for words, cell in columns.items() if len(same[words]) != 1}, rows)
    constants = [f"{words}: {min(values)}" for words, values in same.items() if len(values) == 1]
    return f"{table}\n\nThe same in every row: {', '.join(constants)}." if constants else table


def _number(key: str) -> Callable[[ModelRow], str]:
    def cell(row: ModelRow) -> str:
        value = row.get(key)
        return "–" if value is None else f"{value:,}" if isinstance(value, int) else str(value)

    return cell


def _mega(key: str) -> Callable[[ModelRow], str]:
    def cell(row: ModelRow) -> str:
        value = cast("float | None", row.get(key))
        return "–" if value is None else f"{value / 1e6:,.3f}"

    return cell


def _percent(row: ModelRow) -> str:
    value = cast("float | None", row.get("flops_difference"))
    return "–" if value is None else f"{value:+.2%}"


def _loops(row: ModelRow) -> str:
    """`40, 40 (constant)`: trips and their source."""
    loops = cast("list[dict[str, Json]] | None", row.get("loops")) or []
    return "; ".join(_grouped((str(loop["source"]), str(loop["trips"])) for loop in loops))


def _grouped(pairs: Iterator[tuple[str, str]]) -> list[str]:
    grouped: dict[str, list[str]] = {}
    for source, trips in pairs:
        grouped.setdefault(source, []).append(trips)
    return [f"{', '.join(trips)} ({source})" for source, trips in grouped.items()]


def _described(rows: list[tuple[str, ModelRow]]) -> str:
    """The table of figures, with what each model is."""
    lines = [table_line(["model", "what it is", *READING]), f"|---|---|{'---:|' * len(READING)}"]
    for name, row in rows:
        cells = [f"refused: {row['refused']}"] if "refused" in row else [cell(row) for cell in READING.values()]
        lines.append(table_line([name, _sentence(name), *cells]))
    return "\n".join(lines)


def _form(row: ModelRow) -> str:
    return FORMS[str(row["form"])]


def _sentence(name: str) -> str:
    model = MODELS[name]
    return f"{model.sentence}; {'training' if model.trains else 'inference'}"


READING: Mapping[str, Callable[[ModelRow], str]] = {
    "ops": _number("ops"),
    "heavy": _number("heavy_ops"),
    "MFLOP read": _mega("flops"),
    "difference": _percent,
    "bytes held": _number("persistent_bytes"),
    "trips of loops": _loops,
    "ms on a V100": _number("one_device_ms"),
    "s": _number("seconds"),
}
FORM: dict[str, Callable[[ModelRow], str]] = {"form": _form}
DIFFERENT: dict[str, Callable[[ModelRow], str]] = {
    "ops": _number("ops"),
    "unknown": _number("unknown_ops"),
    "heavy unknown": _number("heavy_unknown"),
    "bounded": _number("bounded_ops"),
    "difference": _percent,
    "bytes held": _number("persistent_bytes"),
    "of its variables": _number("closed_persistent_bytes"),
}
PLACED: Mapping[str, Callable[[ModelRow], str]] = {
    "run by a step": _number("executed"),
    "placements": _number("placements"),
    "devices compared": _number("compared"),
    "mismatches": _number("mismatches"),
    "numbers": _number("numbers"),
    "not finite": _number("not_finite"),
    "farther than the tolerance": _number("far"),
    "not the same bits": _number("unequal"),
    "moved by placing": _number("moved"),
}
SERVED: Mapping[str, Callable[[ModelRow], str]] = {
    "run by a call": _number("executed"),
    "devices compared": _number("compared"),
    "mismatches": _number("mismatches"),
    "outputs": _number("outputs"),
    "farther than 1e-5": _number("unequal"),
    "largest difference": _number("largest_difference"),
}
MOST_DIFFERENCE = 0.02
LOOPED, UNROLLED = "lstm_40", "lstm_unrolled"
HEAD = """# Real models

For those who ask whether their model will be read: {models} models in each form, beside closed forms.

    {command}      # writes this page and those below; Placeto Explorer {version}

The models are built from Keras layers and TensorFlow as people build theirs, in small sizes, exported in each usual
form, and read like an upload, with a batch size given. What was read is compared with closed forms of the layers,
computed without a graph: the floating-point operations of convolutions and matrix products, and the bytes of the
variables.
"""
FINDINGS = """- **Export a SavedModel.** Every file of that form is read with all heavy ops known; its FLOPs and the
  bytes of its variables are those of its layers.
- The GraphDef of a concrete function has lost the shapes of its variables; write it with
  `as_graph_def(add_shapes=True)`. It does not name the outputs of a step either, so all of it counts, including
  unused gradients and Keras's trial of a first step: its FLOPs may lie above those of the layers.
- Every placed file runs: each op on its device, and the numbers are those of the unplaced graph
  ([placed files](models/placed.md)).
- [Every model with its figures](models/files.md), and what each form lacks. `{command} NAME --out FOLDER`
  writes the file of one. All figures stand in [models.json.gz](results/models.json.gz)."""
FILES_HEAD = """# The models, file by file

For those who look for a model like theirs.

    {command}

"Heavy" ops are convolutions and matrix products and their gradients. "MFLOP" counts a multiply-add as two, a loop's
body once a trip, and in a training step each product's gradients too; "difference" is that from the layers, added
up from configurations and lengths. "Bytes held" are those of variables, an optimizer's slots among them; frozen
ones do not count. "ms on a V100" is the simulated step time of the whole graph on one V100, "s" the processor
seconds of the reading, without loading TensorFlow.

## As a SavedModel
"""
FORMS_HEAD = """
## What a form lacks

Files with an op of unknown or bounded cost, more than 2 % from the layers' FLOPs, or other bytes than those of the
variables. All other files have the FLOPs and variables of their layers. "Bounded" ops have sizes that depend on data,
and count with the largest possible.
"""
PLACED_HEAD = """# Placed files in TensorFlow

For those who ask whether a placed file computes the same.

    {command}

## As a GraphDef

The placed GraphDef of each SavedModel runs with every co-location class on a random device of two and of three
virtual CPU devices, soft placement off, and fixed numbers in variables and inputs. Executed devices are compared
with written ones, and all outputs and variables with those of the unplaced graph. "Farther than the tolerance": by
more than 1e-5, relative to numbers above 1 (1e-2 for models in half precision). "Moved by placing" compares bit by
bit with the same GraphDef on one device.
"""
SERVED_HEAD = """
## As a SavedModel

The placed SavedModel of an upload, on three virtual CPU devices: loaded in a fresh process by `tf.saved_model.load`
and in a session, soft placement off, and called with the same numbers as the uploaded one.
"""
