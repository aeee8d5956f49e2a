"""Files to try placements on: opened as the engine opens them, held against the file as it was. In a child alone."""

import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from engine.child.parent import Limits, no_progress
from engine.events import Json
from engine.graphs.colocation import colocation_classes
from engine.graphs.graphdef_writer import PLACED_FILE, write_in_child
from engine.graphs.inlining import inline_in_child
from engine.graphs.opening import OPENED_FILE
from engine.graphs.saved_model_making import write_in_child as write_saved_model_in_child
from engine.graphs.saved_model_writer import PLACED_FILE as PLACED_SAVED_MODEL
from engine.graphs.tensorflow_messages import Message
from engine.graphs.unpacking import unpack_in_child
from experiments.placed.checks import (
    PlacedGraph,
    definition_of,
    graph_of,
    random_devices,
    try_random_placements,
)
from experiments.placed.step import Step

DEVICES = 3
ALL = Step()
"""what the file's own signature or collections name, or all that nobody consumes"""


@dataclass(frozen=True, slots=True)
class Sample:
    """A file, and how its step is run."""

    path: Path
    step: Step = ALL


def check(build: Callable[[Path], Sample], folder: Path, seeds: Sequence[int]) -> dict[str, Json]:
    """What is found with a random placement a seed, as JSON; `build` leaves the file in `folder`."""
    folder.mkdir()
    sample = build(folder)
    source, fetches = opened_here(sample.path, folder / "opened")
    step = sample.step
    if not step.fetches:
        step = Step(fetches, step.starts, step.shapes)
    placed = PlacedGraph(source, step, DEVICES, folder, unplaced(sample.path))
    return try_random_placements(placed, DEVICES, seeds).to_json()


def zipped(folder: Path, name: str, saved_model: Path) -> Path:
    """A SavedModel's folder as one file."""
    path = folder / f"{name}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(saved_model.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(saved_model))
    return path


def unplaced(path: Path) -> Message:
    """The GraphDef of a file, whatever contains it, as TensorFlow's own readers give it."""
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
    source, _ = opened_here(path, folder, signature)
    graph = graph_of(source)
    chosen = random_devices(graph, colocation_classes(graph), devices, np.random.default_rng(seed)).tolist()
    names = [f"/device:CPU:{device}" for device in chosen]
    order: dict[str, Json] = {"source": str(source), "suffix": ".pb", "written_suffix": ".pb"}
    order |= {"device_of_op": dict(zip(graph.op_names, names, strict=True)), "short": False, "keep_pins": True}
    write_in_child(order, folder, no_progress)
    order = {"source": str(path), "placed": str(folder / PLACED_FILE), "signature": signature}
    write_saved_model_in_child(order | {"most_bytes": Limits().file_bytes}, folder, no_progress)
    (folder / PLACED_SAVED_MODEL).rename(target)


def opened_here(path: Path, folder: Path, signature: str = "") -> tuple[Path, tuple[str, ...]]:
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
