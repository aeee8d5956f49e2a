"""Compares placed graphs with TensorFlow: whole models, and many random placements of one training graph.

`python -m experiments placed_graphs` writes docs/results/placed_graphs.md; every figure in it comes from here.
"""

import time
from pathlib import Path
from typing import cast

from engine.child.parent import Limits, ReportProgress, Results, no_progress, run_in_child
from engine.events import Json
from experiments.exact_numbers import ask_for_exact_numbers
from experiments.pages import ReportLine, write_page

LIMITS = Limits(memory_bytes=24 * 1024**3, seconds=3600.0)
TRAINING = "tiny_cnn"
PLACEMENTS = 1000
DEVICES = 4
GROUPS = 32
"""half of the placements move whole groups, the others each co-location class by itself"""
OF_A_MODEL = 3
"""placements of each whole model"""
HEAD = (
    "| graph | nodes | run by a step | placements | devices compared | mismatches | files changed beside devices "
    "| numbers | moved by placing | not the file's |\n|---|---|---|---|---|---|---|---|---|---|\n"
)


def run(folder: Path, report: ReportLine) -> str:
    """Try them all, write `folder`/placed_graphs.md, and return the table."""
    rows = [_row(f"zoo: {TRAINING}, random placements", try_many(PLACEMENTS, report))]
    report(rows[-1])
    for name in _model_names():
        started = time.monotonic()
        rows.append(_row(name, _counts("check_model_in_child", {"name": name})))
        report(f"{rows[-1]} {time.monotonic() - started:.0f} s")
    table = HEAD + "\n".join(rows) + "\n"
    write_page(folder, "placed_graphs", _text(table))
    return table


def try_many(placements: int, report: ReportLine) -> dict[str, Json]:
    """The counts of `PlacementChecks` over random placements of the zoo's `TRAINING` on `DEVICES` virtual devices."""

    def report_progress(stage: str, done: int, total: int) -> None:
        report(f"{stage} {done}/{total}")

    return _counts("check_many_in_child", {"placements": placements}, report_progress)


def _counts(function: str, order: dict[str, Json], report_progress: ReportProgress = no_progress) -> dict[str, Json]:
    path = f"{__name__}:{function}"
    return run_in_child(path, order, LIMITS, task="running", report_progress=report_progress)[1]


def _model_names() -> list[str]:
    _, texts = run_in_child(f"{__name__}:names_in_child", {}, LIMITS, task="looking")
    return cast(list[str], texts["names"])


def names_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The models' names; their module loads TensorFlow."""
    from experiments.placed.models import MODELS, MORE_MODELS

    return {}, {"names": [*MODELS, *MORE_MODELS]}


def check_model_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """The counts over a few placements of one model."""
    ask_for_exact_numbers()
    from experiments.placed.models import MODELS, MORE_MODELS
    from experiments.placed.samples import check

    return {}, check((MODELS | MORE_MODELS)[cast(str, order["name"])], folder / "model", range(OF_A_MODEL))


def check_many_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """The counts over many placements of the training graph."""
    ask_for_exact_numbers()
    from experiments.placed.many import try_many_placements

    found = try_many_placements(TRAINING, cast(int, order["placements"]), DEVICES, GROUPS, folder, report_progress)
    return {}, found.to_json()


def _row(name: str, found: dict[str, Json]) -> str:
    keys = ("nodes", "executed", "placements", "compared", "mismatches", "changed", "numbers", "moved", "unequal")
    return f"| {name} | {' | '.join(str(found[key]) for key in keys)} |"


def _text(table: str) -> str:
    return f"""# Placed graphs in TensorFlow

`python -m experiments placed_graphs` writes random placements, imports them with soft placement off on virtual CPU
devices, and traces one step. A mismatch would be an op that TensorFlow had on another device than the written one:
after the import, in the partitions, or when it ran. Numbers are the step's outputs and the variables afterwards,
compared bit by bit: "moved by placing" counts those that differ from a step of the same GraphDef on one device, "not
the file's" those that differ from a step of the original file. TensorFlow inlines that file's functions only when it
runs them (the last bit of a few sums then differs, placed or not). oneDNN is off: it computes some pairs of ops
(MaxPool and its gradient) together if both are on one device, so that the last bit depends on the placement.

{table}"""
