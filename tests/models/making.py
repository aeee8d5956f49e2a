"""Writes model files in a child."""

import shutil
import tempfile
from pathlib import Path
from typing import cast

from engine.child.parent import Limits, ReportProgress, Results, no_progress, run_in_child
from engine.events import Json
from tests.models.model import SUFFIX_OF_FORM
from tests.models.registry import MODELS

LIMITS = Limits(memory_bytes=24 * 1024**3, file_bytes=2 * 1024**3, seconds=600.0)


def make(name: str, forms: list[str], folder: Path, report_progress: ReportProgress = no_progress) -> dict[str, Json]:
    """Write NAME-FORM files of one model into `folder`; return its closed forms: `flops`, `parameter_bytes`."""
    folder.mkdir(parents=True, exist_ok=True)
    order: dict[str, Json] = {"name": name, "forms": list(forms), "folder": str(folder.absolute())}
    function = f"{__name__}:make_in_child"
    _, texts = run_in_child(function, order, LIMITS, task=f"building {name}", report_progress=report_progress)
    return texts


def file_of(name: str, form: str, folder: Path) -> Path:
    """The file that `make` writes."""
    return folder / f"{name}-{form}{SUFFIX_OF_FORM.get(form, '.pb')}"


def make_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """`make` in the child."""
    from tests.models.writing import write

    name, folder = cast(str, order["name"]), Path(cast(str, order["folder"]))
    report_progress(f"building {name}", 0, 0)
    built = MODELS[name].build()
    for form in cast(list[str], order["forms"]):
        report_progress(f"writing {name}, {form}", 0, 0)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            path = file_of(name, form, Path(work))
            write(built, form, path, Path(work))
            shutil.move(path, file_of(name, form, folder))
    return {}, {"flops": built.flops, "parameter_bytes": built.parameter_bytes}
