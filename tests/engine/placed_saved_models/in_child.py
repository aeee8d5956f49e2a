"""Saves samples and writes them placed, in one child."""

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

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


class OrderedSet(set[Any]):
    """A set of ops in an order of their names, in place of the order of their addresses; handles first, or last."""

    seed = 0

    def __iter__(self) -> Iterator[Any]:
        def place(op: Any) -> tuple[bool, bytes]:
            gives_handle = any(output.dtype.name == "resource" for output in op.outputs)
            return gives_handle is bool(self.seed % 2), hashlib.sha256(f"{self.seed} {op.name}".encode()).digest()

        return iter(sorted(super().__iter__(), key=place))


def load_in_orders_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """By name, in how many of the orders the placed SavedModel loads; a file written with shared handles among them."""
    from experiments.placed.samples import write_placed_saved_model_here

    source, names = Path(cast(str, order["folder"])), cast(list[str], order["names"])
    shared = folder / "shared handles.zip"
    with patch("engine.formats.saved_model.making.give_own_handles", return_value=[]):
        write_placed_saved_model_here(source / f"{names[0]}.zip", shared, folder / "writing", 1, 0)
    loads: dict[str, Json] = {}
    for path in [shared, *(source / f"{name}-placed.zip" for name in names)]:
        report_progress(path.stem, len(loads), len(names) + 1)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder / path.stem)
        name = path.stem.removesuffix("-placed")
        loads[name] = sum(_loads(folder / path.stem, seed) for seed in range(cast(int, order["orders"])))
    return {}, loads


def _loads(model: Path, seed: int) -> bool:
    """Whether it loads if TensorFlow breaks cycles in the order of this seed."""
    import tensorflow as tf
    from tensorflow.python.eager import lift_to_graph

    OrderedSet.seed = seed
    with patch.object(lift_to_graph, "set", OrderedSet, create=True):
        try:
            tf.saved_model.load(str(model))
        except ValueError:
            return False
    return True
