"""Tries random placements of samples. Loads TensorFlow late, once it is told to be exact."""

from pathlib import Path
from typing import cast

from engine.child import ReportProgress, Results
from engine.events import Json
from engine.experiments.exact_numbers import ask_for_exact_numbers


def check_samples_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """What was found, by the sample's name."""
    ask_for_exact_numbers()
    from engine.experiments.placed_models import MODELS
    from engine.experiments.placed_samples import check
    from tests.engine.placed_graphs.samples import SAMPLES

    builders = SAMPLES | MODELS
    found: dict[str, Json] = {}
    names = cast(list[str], order["names"])
    for index, name in enumerate(names):
        report_progress(name, index, len(names))
        found[name] = check(builders[name], folder / str(index), range(cast(int, order["placements"])))
    return {}, found
