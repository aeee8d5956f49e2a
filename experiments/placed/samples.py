"""Files to try placements on, opened like an upload and compared with the original. For child processes only."""

import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from engine.child.parent import Limits, no_progress
from engine.events import Json
from engine.formats.format import PLACED_FILE, Placing, SourceFile
from engine.formats.graphdef import serialized
from engine.formats.reading import read_file
from engine.formats.saved_model import saved_model
from engine.graphs.colocation import colocation_classes
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.messages import Message
from experiments.placed.checks import (
    PlacedGraph,
    definition_of,
    random_devices,
    try_random_placements,
)
from experiments.placed.step import PlacedStep

DEVICES = 3
ALL = PlacedStep()
"""the outputs of the file's signature or collections, or all ops without a consumer"""


@dataclass(frozen=True, slots=True)
class Sample:
    """A file, and how its step is run."""

    path: Path
    step: PlacedStep = ALL


def check(build: Callable[[Path], Sample], folder: Path, seeds: Sequence[int]) -> dict[str, Json]:
    """The counts over one random placement for each seed, as JSON; `build` writes the file into `folder`."""
    folder.mkdir()
    sample = build(folder)
    source, fetches = opened_here(sample.path, folder / "opened")
    step = sample.step
    if not step.fetches:
        step = PlacedStep(fetches, step.starts, step.shapes)
    placed = PlacedGraph(source, step, DEVICES, folder, unplaced(sample.path))
    return try_random_placements(placed, DEVICES, seeds).to_json()


def zipped(folder: Path, name: str, model: Path) -> Path:
    """A SavedModel's folder as one file."""
    path = folder / f"{name}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(model.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(model))
    return path


def unplaced(path: Path) -> Message:
    """The GraphDef in a file of any format, from TensorFlow's own readers."""
    if path.suffix == ".meta":
        return meta_graph_pb2.MetaGraphDef.FromString(path.read_bytes()).graph_def
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            content = archive.read("saved_model.pb")
        return saved_model_pb2.SavedModel.FromString(content).meta_graphs[0].graph_def
    return definition_of(path)


def write_placed_saved_model_here(
    path: Path, target: Path, folder: Path, devices: int, seed: int, signature: str = ""
) -> None:
    """Write the zipped SavedModel in `path`, every co-location class of a signature on a random CPU device."""
    folder.mkdir()
    source = SourceFile(path, path.suffix, Limits().file_bytes, ReadingOptions(signature))
    graph = read_file(source, no_progress).graph.graph
    chosen = random_devices(graph, colocation_classes(graph), devices, np.random.default_rng(seed)).tolist()
    names = [f"/device:CPU:{device}" for device in chosen]
    placing = Placing(dict(zip(graph.op_names, names, strict=True)), ".zip", short=False, keep_pins=True)
    saved_model.write(source, placing, folder, no_progress)
    (folder / PLACED_FILE).rename(target)


def opened_here(path: Path, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """(a file with the plain GraphDef that the engine reads, the fetches' names)"""
    file = read_file(SourceFile(path, path.suffix, Limits().file_bytes), no_progress)
    if file.content:
        return path, file.origin.fetches
    folder.mkdir(parents=True)
    (folder / "graph.pb").write_bytes(serialized(file))
    return folder / "graph.pb", file.origin.fetches
