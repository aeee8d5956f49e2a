"""Writes docs/models.md: a table for each form, and the checks of placed files."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, cast

from engine import VERSION
from engine.events import Json
from experiments.models.model import FORMS, SAVED_MODEL, ModelRow
from experiments.models.registry import MODELS
from experiments.pages import table_line

ModelRows: TypeAlias = Mapping[str, Mapping[str, ModelRow]]
"""model → form → figures"""
COMMAND = "python -m experiments models"


def page(rows: ModelRows) -> str:
    """The whole page."""
    parts = [HEAD.format(command=COMMAND, version=VERSION, models=len(MODELS)), _models(), "", SUMMARY, _summary(rows)]
    for form, words in FORMS.items():
        parts += [f"\n## {words}\n", _table(READING, _of_form(rows, form))]
    placed = [(name, cast(ModelRow, row["placed"])) for name, row in _of_form(rows, SAVED_MODEL) if "placed" in row]
    if {LOOPED, UNROLLED} <= {name for name, _ in _of_form(rows, SAVED_MODEL)}:
        parts += ["\n## A loop beside the same, unrolled\n", _unrolled(rows)]
    parts += ["\n## Placed files in TensorFlow\n", PLACED_WORDS, _table(PLACED, placed)]
    served = [(name, cast(ModelRow, row["served"])) for name, row in _of_form(rows, SAVED_MODEL) if "served" in row]
    parts += ["\n## Placed SavedModels\n", SERVED_WORDS, _table(SERVED, served)]
    timed = [(name, row) for name, row in _of_form(rows, SAVED_MODEL) if "seconds_today" in row]
    if timed:
        parts += ["\n## Reading times beside an earlier version's\n", TIMES_WORDS, _table(TIMES, timed)]
    return "\n".join(parts) + "\n"


def _unrolled(rows: ModelRows) -> str:
    """The simulated step times of the LSTM in its two forms."""
    looped, unrolled = (cast(float, rows[name][SAVED_MODEL]["one_device_ms"]) for name in (LOOPED, UNROLLED))
    return (
        f"On one V100 a step of {LOOPED} takes {looped} ms in the simulation and one of {UNROLLED}, the same layers "
        f"without a loop, {unrolled} ms: a ratio of {looped / unrolled:.3f}."
    )


def _models() -> str:
    lines = ["| model | what it is | step | batch size |", "|---|---|---|---:|"]
    lines += [
        f"| {name} | {model.sentence} | {'training' if model.trains else 'inference'} | {model.batch_size} |"
        for name, model in MODELS.items()
    ]
    return "\n".join(lines)


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


def _count(key: str) -> Callable[[ModelRow], str]:
    return lambda row: str(len(cast("list[Json] | None", row.get(key)) or []))


def _ratio(row: ModelRow) -> str:
    """The ratio of the seconds; none if the earlier version refused the file."""
    if row.get("refused_today"):
        return "–"
    return f"{cast(float, row['seconds_alone']) / cast(float, row['seconds_today']):.2f}"


READING: Mapping[str, Callable[[ModelRow], str]] = {
    "ops": _number("ops"),
    "unknown": _number("unknown_ops"),
    "heavy": _number("heavy_ops"),
    "heavy unknown": _number("heavy_unknown"),
    "bounded": _number("bounded_ops"),
    "MFLOP read": _mega("flops"),
    "MFLOP of the layers": _mega("closed_flops"),
    "difference": _percent,
    "bytes held": _number("persistent_bytes"),
    "bytes of its variables": _number("closed_persistent_bytes"),
    "trips of loops": _loops,
    "branches": _count("branches"),
    "ms on a V100": _number("one_device_ms"),
    "s": _number("seconds"),
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
TIMES: Mapping[str, Callable[[ModelRow], str]] = {
    "s": _number("seconds_alone"),
    "earlier, s": _number("seconds_today"),
    "ratio": _ratio,
    "refused earlier": _number("refused_today"),
}
MOST_DIFFERENCE = 0.02
LOOPED, UNROLLED = "lstm_40", "lstm_unrolled"
HEAD = """# Real models

For those who ask whether their model will be read: 49 models in each form, beside closed forms.

    {command}      # writes this page; Placeto Explorer {version}

{models} models, built from Keras layers and TensorFlow as people build theirs, in small sizes, exported in each usual
form, and read like an upload, with a batch size given. Beside the figures of the reading are closed forms, computed
without a graph: the floating-point operations of convolutions and matrix products, added up layer by layer from
configurations and lengths (a multiply-add counts as two; a loop's body once a step; in a training step each product's
gradients too), and the bytes of the variables that a step holds, including an optimizer's slots. "Heavy" ops are
convolutions and matrix products and their gradients. "Bounded" ops have sizes that depend on data, and count with the
largest possible sizes. "ms on a V100" is the simulated step time of the whole graph on one V100; "s" are processor
seconds of the reading, without loading TensorFlow. Variables frozen into constants do not count as held. A concrete
function's GraphDef does not name the outputs of a step, so all of it counts, including unused gradients and Keras's
trial of a first step: its figures may lie above those of the layers.

`python -m experiments.models NAME --out FOLDER` writes the file of one of them.
"""
SUMMARY = "\n## In short\n"
PLACED_WORDS = """The placed GraphDef of each SavedModel runs with every co-location class on a random device of two
and of three virtual CPU devices, soft placement off, and fixed numbers in variables and inputs. Executed devices are
compared with written ones, and all outputs and variables with those of the unplaced graph. "Farther than the
tolerance": by more than 1e-5, relative to numbers above 1 (1e-2 for models in half precision). "Moved by placing"
compares bit by bit with the same GraphDef on one device.
"""
SERVED_WORDS = """The placed SavedModel of an upload, on three virtual CPU devices: loaded in a fresh process by
`tf.saved_model.load` and in a session, soft placement off, and called with the same numbers as the uploaded one.
"""
TIMES_WORDS = """Processor seconds of all processes of a reading, each of which loads TensorFlow: the least of up to
three turns.
"""
