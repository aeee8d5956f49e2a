"""Writes placed SavedModels of the suite, loads each in a fresh process and calls it beside the uploaded one.

Random placements over the co-location classes, on three virtual CPU devices, soft placement off.
"""

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import cast

from engine.child.parent import ReportProgress, Results, run_in_child
from engine.events import Json
from experiments.placed.saved_model import check
from tests.models.making import LIMITS

DEVICES = 3
SEED = 0
SERVED = (
    *("gpt", "vit", "bert", "swin", "t5", "conformer", "lstm_40", "bidirectional", "translator", "transformer_xl"),
    *("mixture_of_experts", "compiled_by_xla", "retinanet", "fit_cnn"),
)
"""models whose placed SavedModels are called: transformers, recurrent networks and others"""


def served_counts(name: str, path: Path) -> dict[str, Json]:
    """The checks (`placed.saved_model.Checked`) of the placed SavedModel from the one in `path`."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "placed.zip"
        order: dict[str, Json] = {"path": str(path.absolute()), "target": str(target)}
        run_in_child(f"{__name__}:write_in_child", order, LIMITS, task=f"placing the SavedModel of {name}")
        found = asdict(check(path, target, DEVICES))
    return {**found, "examples": list(found["examples"])}


def write_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Write the placed SavedModel to the order's `target`."""
    from experiments.placed.samples import write_placed_saved_model_here

    path, target = Path(cast(str, order["path"])), Path(cast(str, order["target"]))
    write_placed_saved_model_here(path, target, folder / "placing", DEVICES, SEED)
    return {}, {}
