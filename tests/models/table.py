"""Real models as users export them, in each form: the engine's reading beside closed forms of their layers.

`python -m tests.models` writes docs/models.md and its pages, and each finished row to docs/results/models.json.gz:
a second call makes only missing rows. `--set only=gpt,lstm_40` and `--set forms=saved_model` choose some.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, cast

from engine.errors import SettingsError
from engine.events import Json
from experiments.folders import CACHE
from experiments.pages import ReportLine, read_json, write_json, write_page
from tests.models.in_one_process import rows_of
from tests.models.making import file_of, make
from tests.models.model import FORMS, SAVED_MODEL, ModelRow
from tests.models.page import pages
from tests.models.reading_times import reading_times
from tests.models.registry import MODELS
from tests.models.serving import SERVED, served_counts

KeptRows: TypeAlias = dict[str, dict[str, dict[str, Json]]]
"""model → form → figures"""
WORK = CACHE / "models"
RESULTS = Path("results/models.json")
SETTINGS = ("only", "forms", "work", "again", "placed", "today")
"""names of models, and of forms, with commas; the folder of files; whether rows are made again; whether placed files
run; the folder of another checkout to compare reading times with"""


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Make the rows that are missing, write `folder`/models.md and its pages, and return it. Raises SettingsError."""
    chosen = dict(settings or {})
    unknown = sorted(chosen.keys() - set(SETTINGS))
    if unknown:
        raise SettingsError(f"no setting {unknown[0]}", where="--set", allowed=", ".join(SETTINGS))
    names = _picked(chosen.get("only"), MODELS, "only")
    forms = _picked(chosen.get("forms"), FORMS, "forms")
    work = Path(str(chosen.get("work", WORK)))
    path = folder / RESULTS
    rows = read_rows(path)
    for name in names:
        kept = {} if chosen.get("again") else rows.get(name, {})
        for form, row in _whole(name, [form for form in MODELS[name].forms if form in forms], kept, work, chosen):
            report(f"{name}, {form}: {shown(row)}")
            rows.setdefault(name, {})[form] = row
            _keep(rows, path)
    texts = pages(rows)
    for name, text in texts.items():
        write_page(folder, name, text)
    return texts["models"]


def _whole(
    name: str, forms: Sequence[str], kept: Mapping[str, ModelRow], work: Path, chosen: Mapping[str, Json]
) -> Iterator[tuple[str, dict[str, Json]]]:
    """The rows of one model that are new, or incomplete in `kept`."""
    places = chosen.get("placed", True) is True
    made = _made(name, [form for form in forms if form not in kept], places, work)
    for form in forms:
        before = kept.get(form)
        row = {**(made[form] if before is None else before)}
        if form == SAVED_MODEL and "refused" not in row:
            row |= _beside(name, row, places, chosen.get("today"), work)
        if row != before:
            yield form, row


def _made(name: str, forms: list[str], places: bool, work: Path) -> Mapping[str, ModelRow]:
    """The rows of `forms`."""
    return rows_of(name, forms, places, work) if forms else {}


def _beside(name: str, row: ModelRow, places: bool, today: Json, work: Path) -> dict[str, Json]:
    """The missing extra parts of a SavedModel's row: it is served, and read by another checkout."""
    file, found = file_of(name, SAVED_MODEL, work), {}
    serves, reads = places and name in SERVED and "served" not in row, bool(today) and "seconds_today" not in row
    if (serves or reads) and not file.exists():
        make(name, [SAVED_MODEL], work)
    if serves:
        found["served"] = cast(Json, served_counts(name, file))
    if reads:
        found |= reading_times(file, SAVED_MODEL, MODELS[name], Path(str(today)))
    return found


def shown(row: ModelRow) -> str:
    """A row as one line."""
    if "refused" in row:
        return f"refused: {row['refused']}"
    keys = ("ops", "unknown_ops", "heavy_ops", "heavy_unknown", "bounded_ops", "flops_difference", "seconds")
    held = f"persistent {row['persistent_bytes']} of {row['closed_persistent_bytes']}"
    return ", ".join([*(f"{key} {row[key]}" for key in keys), held])


def read_rows(path: Path) -> KeptRows:
    """The rows in the file; none if it does not exist."""
    return cast(KeptRows, read_json(path) or {})


def _keep(rows: KeptRows, path: Path) -> None:
    ordered = {name: {form: rows[name][form] for form in FORMS if form in rows[name]} for name in rows}
    write_json(path, ordered, indent=1)


def _picked(wanted: Json, known: Iterable[str], where: str) -> list[str]:
    """The `wanted` names out of the `known` ones; all if `wanted` is None."""
    names = list(known)
    asked = names if wanted is None else str(wanted).split(",")
    for name in asked:
        if name not in names:
            raise SettingsError(f"{name!r}", where=where, allowed=", ".join(names), field=where)
    return asked
