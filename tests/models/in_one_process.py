"""Makes all rows of one model in one process, since each process loads TensorFlow and Keras anew.

Reading a file starts children, and so does every other step. Here their functions run in this process, which is a child
already.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from engine.child.parent import ReportProgress, Results, run_in_child
from engine.events import Json
from engine.formats import reading
from experiments.children_here import children_here
from experiments.exact_numbers import ask_for_exact_numbers
from tests.models.making import LIMITS, file_of, make_in_child
from tests.models.model import SAVED_MODEL, ModelRow
from tests.models.reading import figures
from tests.models.registry import MODELS

DEVICES = (2, 3)
"""numbers of devices, a placement for each"""
TOLERANCE, HALF_TOLERANCE = 1e-5, 1e-2
"""of numbers, and of numbers in half precision"""
KEYS = (
    "executed",
    "placements",
    "compared",
    "mismatches",
    "numbers",
    "not_finite",
    "unequal",
    "moved",
    "far",
    "changed",
)
"""the counts of `placed.checks.PlacementChecks` that a row keeps"""


def counts_of(name: str, path: Path, folder: Path) -> dict[str, Json]:
    """The counts over the placements of one model; runs in this process, which is a child."""
    from experiments.placed.checks import PlacedGraph, try_random_placements
    from experiments.placed.samples import opened_here, unplaced
    from experiments.placed.step import PlacedStep

    model = MODELS[name]
    source, fetches = opened_here(path, folder / "opened")
    step = PlacedStep(fetches, feeds=model.fed())
    tolerance = HALF_TOLERANCE if model.half else TOLERANCE
    placed = PlacedGraph(source, step, max(DEVICES), folder, unplaced(path), tolerance)
    for devices in DEVICES:
        try_random_placements(placed, devices, [devices])
    found = placed.found.to_json()
    return {**{key: found[key] for key in KEYS}, "examples": found["examples"]}


def rows_of(name: str, forms: Sequence[str], places: bool, folder: Path) -> dict[str, ModelRow]:
    """Form → the figures of the model's file, which stays in `folder`, and of its placed file."""
    folder.mkdir(parents=True, exist_ok=True)
    order: dict[str, Json] = {"name": name, "forms": list(forms), "folder": str(folder.absolute()), "places": places}
    _, texts = run_in_child(f"{__name__}:rows_in_child", order, LIMITS, task=f"reading the files of {name}")
    return cast(dict[str, ModelRow], texts)


def rows_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """`rows_of` in the child."""
    if order["places"]:
        ask_for_exact_numbers()
    files, name = Path(cast(str, order["folder"])), cast(str, order["name"])
    forms = cast(list[str], order["forms"])
    return {}, cast(dict[str, Json], rows_here(name, forms, bool(order["places"]), files, folder, report_progress))


def rows_here(
    name: str, forms: Sequence[str], places: bool, files: Path, folder: Path, report_progress: ReportProgress
) -> dict[str, dict[str, Json]]:
    """`rows_of` in this process; the files go to `files`, all else to `folder`."""
    wanted: dict[str, Json] = {"name": name, "forms": list(forms), "folder": str(files)}
    _, closed = make_in_child(wanted, folder, report_progress)
    rows: dict[str, dict[str, Json]] = {}
    for form in forms:
        path, work = file_of(name, form, files), folder / f"{name}-{form}"
        work.mkdir()
        with children_here(reading, work):
            rows[form] = figures(path, form, MODELS[name], closed)
        if places and form == SAVED_MODEL and "refused" not in rows[form]:
            rows[form]["placed"] = counts_of(name, path, work)
    return rows
