"""Tries placements of samples. Loads TensorFlow late, once it is told to be exact."""

from pathlib import Path
from typing import cast

from engine.child.parent import ReportProgress, Results, publish
from engine.events import Json
from experiments.exact_numbers import ask_for_exact_numbers


def check_samples_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """What was found, by the sample's name."""
    ask_for_exact_numbers()
    from experiments.placed.models import MODELS
    from experiments.placed.samples import check
    from tests.engine.placed_graphs.samples import SAMPLES

    builders = SAMPLES | MODELS
    found: dict[str, Json] = {}
    names = cast(list[str], order["names"])
    for index, name in enumerate(names):
        report_progress(name, index, len(names))
        found[name] = check(builders[name], folder / str(index), range(cast(int, order["placements"])))
    return {}, found


def build_sample_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Leave the sample's file in the folder that the order names; says its name."""
    from tests.engine.placed_graphs.samples import SAMPLES

    path = SAMPLES[cast(str, order["name"])](folder).path
    publish(path, Path(cast(str, order["folder"])) / path.name)
    return {}, {"file": path.name}


def run_downloaded_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Run a placed file on `/device:CPU:i` for `/device:GPU:i`, beside the file that it was made from."""
    ask_for_exact_numbers()
    from experiments.placed.checks import definition_of
    from experiments.placed.samples import unplaced
    from experiments.placed.step import PlacedStep, mismatches, run_step, unequal_numbers

    placed = definition_of(Path(cast(str, order["placed"])))
    written: list[Json] = sorted({node.device for node in placed.node})
    for node in placed.node:
        node.device = node.device.replace("GPU", "CPU")
    step = PlacedStep(tuple(cast(list[str], order["fetches"])))
    ran, plain = run_step(placed, step, 2), run_step(unplaced(Path(cast(str, order["source"]))), step, 2)
    return {}, {
        "written": written,
        "mismatches": [list(each) for each in mismatches(placed, ran)],
        "unequal": list(unequal_numbers(plain.numbers, ran.numbers)),
        "executed": len(ran.executed),
    }


def scatter_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Put each op of a sample anywhere, whatever ties it to others; how many TensorFlow moves."""
    import numpy as np

    from experiments.placed.checks import definition_of
    from experiments.placed.step import mismatches, run_step
    from tests.engine.placed_graphs.samples import SAMPLES

    sample = SAMPLES[cast(str, order["name"])](folder)
    definition = definition_of(sample.path)
    rng = np.random.default_rng(0)
    for node in definition.node:
        node.device = f"/device:CPU:{rng.integers(3)}"
    return {}, {"moved": len(mismatches(definition, run_step(definition, sample.step, 3)))}


def add_rows_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """How many different sums several sessions make of the same rows, added to a variable after an eager op."""
    ask_for_exact_numbers()
    import numpy as np
    import tensorflow as tf

    from experiments.placed.step import session_settings

    tf.add(1.0, 2.0)
    rng = np.random.default_rng(0)
    feeds = {"rows:0": rng.integers(0, 5, 20_000), "updates:0": rng.standard_normal((20_000, 64)).astype(np.float32)}
    v1 = tf.compat.v1
    found = set()
    with tf.Graph().as_default() as graph:
        sums = v1.get_variable("sums", [5, 64], use_resource=True, initializer=v1.zeros_initializer())
        rows, updates = (
            v1.placeholder(dtype, name=name) for dtype, name in ((tf.int64, "rows"), (tf.float32, "updates"))
        )
        add = tf.raw_ops.ResourceScatterAdd(resource=sums.handle, indices=rows, updates=updates)
        for _ in range(20):
            with v1.Session(graph=graph, config=session_settings(1)) as session:
                session.run(sums.initializer)
                session.run(add, feeds)
                found.add(session.run(sums).tobytes())
    return {}, {"different": len(found)}
