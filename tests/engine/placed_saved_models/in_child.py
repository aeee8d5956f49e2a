"""Saves samples and writes them placed, in one child."""

from pathlib import Path
from typing import cast

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from experiments.exact_numbers import ask_for_exact_numbers


def write_samples_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Leave `NAME.zip` and `NAME-placed.zip` of each sample in the folder; whether the last is the same once more."""
    ask_for_exact_numbers()
    import tensorflow as tf

    from experiments.placed.samples import write_placed_saved_model_here, zipped
    from tests.engine.placed_saved_models.samples import SAMPLES

    names, target = cast(list[str], order["names"]), Path(cast(str, order["folder"]))
    devices = cast(int, order["devices"])
    for index, name in enumerate(names):
        report_progress(name, index, len(names))
        tf.keras.utils.set_random_seed(index)
        save, signature = SAMPLES[name]
        saved = folder / str(index) / "model"
        saved.parent.mkdir()
        save(saved)
        source = zipped(target, name, saved)
        placed = target / f"{name}-placed.zip"
        write_placed_saved_model_here(source, placed, folder / f"{index}-placed", devices, index, signature)
    again = folder / "again.zip"
    write_placed_saved_model_here(source, again, folder / "again", devices, index, signature)
    return {}, {"same": again.read_bytes() == placed.read_bytes()}


def save_sample_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Leave `NAME.zip`, a sample as it was saved, in the folder that the order names."""
    from experiments.placed.samples import zipped
    from tests.engine.placed_saved_models.samples import SAMPLES

    name = cast(str, order["name"])
    SAMPLES[name][0](folder / "model")
    zipped(Path(cast(str, order["folder"])), name, folder / "model")
    return {}, {}
