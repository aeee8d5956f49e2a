"""The child's side of running a downloaded graph: virtual CPUs stand in for the GPUs. Used in a child alone."""

from pathlib import Path
from typing import cast

import tensorflow as tf

from engine.child import ReportProgress, Results
from engine.events import Json
from tests.engine.graphs.tensorflow_samples import run_placed_in_child


def run_on_virtual_cpus_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Run the placed graph with /device:CPU:i for /device:GPU:i, soft placement off, beside the unplaced one.

    `devices` are the devices as they were written; for the rest see `run_placed_in_child`.
    """
    definition = tf.compat.v1.GraphDef.FromString(Path(cast(str, order["placed"])).read_bytes())
    written: list[Json] = sorted({node.device for node in definition.node})
    for node in definition.node:
        node.device = node.device.replace("/device:GPU:", "/device:CPU:")
    on_cpus = folder / "on_cpus.pb"
    on_cpus.write_bytes(definition.SerializeToString())
    job: dict[str, Json] = {"plain": order["plain"], "placed": [str(on_cpus)]}
    arrays, texts = run_placed_in_child({"jobs": {"placed": job}, "devices": 2}, folder, report_progress)
    return arrays, texts | {"devices": written}
