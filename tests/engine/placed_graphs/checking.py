"""Builds samples, opens them as the engine does, and tries random placements of each. Used in a child alone."""

import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from engine.child import Limits, ReportProgress, Results, no_progress
from engine.events import Json
from engine.experiments.placed_checks import Found, PlacedGraph, definition_of, try_random_placements
from engine.experiments.placed_step import Step
from engine.graphs.inlining import inline_in_child
from engine.graphs.opening import OPENED_FILE
from engine.graphs.unpacking import unpack_in_child
from tests.engine.placed_graphs.samples import SAMPLES, Sample

DEVICES = 3


def check_samples_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """What was found, by the sample's name; what went wrong, as a text."""
    found: dict[str, Json] = {}
    names = cast(list[str], order["names"])
    for index, name in enumerate(names):
        report_progress(name, index, len(names))
        found[name] = _checked(SAMPLES[name], folder / str(index), range(cast(int, order["placements"])))
    return {}, found


def _checked(build: Callable[[Path], Sample], folder: Path, seeds: Sequence[int]) -> Json:
    folder.mkdir()
    started = time.monotonic()
    sample = build(folder)
    source, fetches = opened_here(sample.path, sample.signature, folder / "opened")
    step = sample.step
    if not step.fetches:
        step = Step(fetches, step.starts, step.shapes)
    built = time.monotonic()
    placed = PlacedGraph(source, step, DEVICES, folder, unplaced(sample.path))
    found: Found = try_random_placements(placed, DEVICES, seeds)
    return found.to_json() | {"seconds": [built - started, time.monotonic() - built]}


def unplaced(path: Path) -> Any:
    """The GraphDef of a file, whatever contains it, as TensorFlow's own readers give it."""
    if path.suffix == ".meta":
        return meta_graph_pb2.MetaGraphDef.FromString(path.read_bytes()).graph_def
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            content = archive.read("saved_model.pb")
        return saved_model_pb2.SavedModel.FromString(content).meta_graphs[0].graph_def
    return definition_of(path)


def opened_here(path: Path, signature: str, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """What `opening.opened` does with children, in this process: the plain GraphDef's file, and the fetches' names."""
    unpacked, inlined = folder / "unpacked", folder / "inlined"
    unpacked.mkdir(parents=True)
    inlined.mkdir()
    order: dict[str, Json] = {"path": str(path), "suffix": path.suffix, "signature": signature}
    _, said = unpack_in_child(order | {"most_bytes": Limits().file_bytes}, unpacked, no_progress)
    source = unpacked / OPENED_FILE if said["written"] else path
    if said["calls"]:
        order = {"path": str(source), "suffix": source.suffix, "fetches": said["fetches"]}
        inline_in_child(order, inlined, no_progress)
        source = inlined / OPENED_FILE
    return source, tuple(cast(list[str], said["fetches"]))
