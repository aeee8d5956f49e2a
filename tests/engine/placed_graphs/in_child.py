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


def build_by_hand_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Leave the files of `loops_by_hand` in the folder that the order names.

    Returns by builder the file's name, and for the loops by hand what TensorFlow does with a random placement: one that
    keeps the file's devices, and one that drops them.
    """
    ask_for_exact_numbers()
    from tests.engine.placed_graphs.loops_by_hand import BUILDERS, BY_HAND

    found: dict[str, Json] = {}
    for index, (name, build) in enumerate(BUILDERS.items()):
        own = folder / str(index)
        own.mkdir()
        path = build(own)
        publish(path, target := Path(cast(str, order["folder"])) / f"{index}{path.suffix}")
        ran: list[Json] = [
            _ran_by_hand(path, own / keeps, keeps == "kept") for keeps in ("kept", "dropped") if name in BY_HAND
        ]
        found[name] = {"file": target.name, "ran": ran}
    return {}, found


def _ran_by_hand(path: Path, folder: Path, keeps_pins: bool) -> Json:
    """Place each co-location class on a random one of two GPUs and run that on `/device:CPU:i` for `/device:GPU:i`."""
    import numpy as np

    from engine.graphs.colocation import colocation_classes
    from engine.graphs.tensorflow.graphdef_writer import with_devices
    from experiments.placed.checks import graph_of, random_devices
    from experiments.placed.samples import opened_here
    from experiments.placed.step import PlacedStep, mismatches, run_step, unequal_numbers, v1

    source, fetches = opened_here(path, folder)
    graph, classes = graph_of(source), colocation_classes(graph_of(source))
    rng = np.random.default_rng(0)
    devices = random_devices(graph, classes, 2, rng) if keeps_pins else rng.integers(0, 2, classes.max() + 1)[classes]
    of_op = {name: f"/device:GPU:{device}" for name, device in zip(graph.op_names, devices.tolist(), strict=True)}
    content = with_devices(graph, None, source.read_bytes(), ".pb", of_op, ".pb", short=True, keep_pins=keeps_pins)
    placed, unplaced = v1.GraphDef.FromString(content), v1.GraphDef.FromString(content)
    for node, plain in zip(placed.node, unplaced.node, strict=True):
        node.device, plain.device = node.device.replace("GPU", "CPU"), ""
    step = PlacedStep(fetches)
    ran = run_step(placed, step, 2)
    return {
        "devices": {name: on[0] for name, on in ran.executed.items() if name.endswith(("/below", "/above"))},
        "mismatches": [list(each) for each in mismatches(placed, ran)],
        "unequal": list(unequal_numbers(run_step(unplaced, step, 2).numbers, ran.numbers)),
        "executed": len(ran.executed),
    }
