"""Tries random placements of a graph: writes each and compares it with TensorFlow. For child processes only."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Limits, no_progress
from engine.events import Json
from engine.formats import graphdef
from engine.formats.format import PLACED_FILE, Placing, SourceFile
from engine.graphs.colocation import colocation_classes, devices_of_classes
from engine.graphs.graph import ComputationGraph
from engine.graphs.tensorflow.graphdef_messages import NODE, read_messages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages
from engine.graphs.tensorflow.graphdef_writer import DEVICE
from engine.graphs.tensorflow.messages import Message, load_messages
from engine.graphs.tensorflow.must_colocate import SWITCHED_FEED
from engine.graphs.tensorflow.wire import fields
from experiments.placed.step import (
    VARIABLE,
    Numbers,
    PlacedStep,
    device_part,
    far_numbers,
    mismatches,
    run_step,
    unequal_numbers,
    v1,
)

TOLERANCE = 1e-5
SHOWN = 5
"""mismatches of each kind that are reported"""


@dataclass(slots=True)
class PlacementChecks:
    """Counts over the placements of one graph."""

    nodes: int
    """of the graph"""
    executed: int = 0
    """nodes that a step runs (the others are fed, or only feed those)"""
    placements: int = 0
    compared: int = 0
    """written devices beside executed ones, over all placements"""
    mismatches: int = 0
    """ops that TensorFlow had on another device than the written one: after import, in a partition, or at run time"""
    numbers: int = 0
    """arrays that a step returns"""
    not_finite: int = 0
    """of those, arrays of the original file that hold a NaN or an infinity"""
    unequal: int = 0
    """over all placements, arrays that differ from the original file's, run on one device"""
    moved: int = 0
    """over all placements, arrays that differ from the opened graph's, run on one device: changed by placing"""
    far: int = 0
    """over all placements, arrays farther from the original file's than the tolerance"""
    changed: int = 0
    """placements whose file differs from the source in more than devices"""
    examples: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """The counts as JSON, to return from the child."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self._items()}

    def _items(self) -> list[tuple[str, int | tuple[str, ...]]]:
        return [(name, getattr(self, name)) for name in self.__slots__]

    @property
    def holds(self) -> bool:
        return self.mismatches == self.unequal == self.moved == self.changed == 0


class PlacedGraph:
    """One graph's file (.pb, .pbtxt) and its step, to try placements on."""

    def __init__(
        self,
        source: Path,
        step: PlacedStep,
        devices: int,
        folder: Path,
        unplaced: Message | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        """`unplaced` is the GraphDef to compare numbers with, if that is not the source itself."""
        self._tolerance = tolerance
        self._source, self._step, self._devices, self._folder = source, step, devices, folder
        self.graph = graph_of(source)
        self._bytes = fields_but_devices(source.read_bytes(), source.suffix)
        self._numbers = self._opened_numbers = self._unplaced_numbers(definition_of(source))
        if unplaced is not None:
            self._numbers = self._unplaced_numbers(unplaced)
        not_finite = sum(value.dtype.kind in "fc" and not np.isfinite(value).all() for value in self._numbers.values())
        self.found = PlacementChecks(self.graph.op_count, numbers=len(self._numbers), not_finite=int(not_finite))

    def try_placement(self, device_of_op: NDArray[np.int64]) -> None:
        """Write, compare, run: `device_of_op` [ops]."""
        names = [f"/device:CPU:{device}" for device in device_of_op.tolist()]
        placed = self._written(dict(zip(self.graph.op_names, names, strict=True)))
        definition = definition_of(placed)
        ran = run_step(definition, self._step, self._devices)
        wrong = mismatches(definition, ran)
        wrong += [
            (node.name, device_part(node.device), f"{name}, which was asked for")
            for node, name in zip(definition.node, names, strict=True)
            if device_part(node.device) != name
        ]
        unequal = unequal_numbers(self._numbers, ran.numbers)
        found = self.found
        found.placements += 1
        found.executed = max(found.executed, len(ran.executed))
        found.compared += sum(map(len, ran.executed.values()))
        found.mismatches += len(wrong)
        found.unequal += len(unequal)
        found.far += len(far := far_numbers(self._numbers, ran.numbers, self._tolerance))
        found.moved += len(unequal_numbers(self._opened_numbers, ran.numbers))
        found.changed += fields_but_devices(placed.read_bytes(), placed.suffix) != self._bytes
        faults = [f"{name}: {written}, not {other}" for name, written, other in wrong[:SHOWN]]
        found.examples = (*found.examples, *faults, *(far or unequal)[:SHOWN])[: 2 * SHOWN]

    def _unplaced_numbers(self, definition: Message) -> Numbers:
        """The numbers of a step on one device, without the variables that the source lacks."""
        for node in definition.node:
            node.device = ""
        known = set(self.graph.op_names)
        variables = {VARIABLE + node.name for node in definition.node if node.name not in known}
        numbers = run_step(definition, self._step, self._devices).numbers
        return {name: value for name, value in numbers.items() if name not in variables}

    def _written(self, placement: dict[str, str]) -> Path:
        """The placed file, from the engine's writer."""
        suffix = self._source.suffix
        source = SourceFile(self._source, suffix, Limits().file_bytes)
        graphdef.write(source, Placing(placement, suffix, short=False, keep_pins=True), self._folder, no_progress)
        return (self._folder / PLACED_FILE).rename(self._folder / f"placed{suffix}")


def graph_of(source: Path) -> ComputationGraph:
    """The graph, as the reader reads it."""
    return graph_of_messages(read_messages(source.read_bytes(), source.suffix), source.stem)


def random_devices(
    graph: ComputationGraph, group_of_op: NDArray[np.int32], devices: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """[ops] a random device for each group; fixed groups keep theirs, and a Switch that is fed has the first device."""
    fixed = devices_of_classes(graph, group_of_op)
    chosen = rng.integers(0, devices, len(fixed))
    for group, device in enumerate(fixed):
        if device.index:
            chosen[group] = int(device.index)
    chosen[group_of_op[[reason == SWITCHED_FEED for reason in graph.cpu_reason]]] = 0
    return np.asarray(chosen[group_of_op])


def try_random_placements(placed: PlacedGraph, devices: int, seeds: Sequence[int]) -> PlacementChecks:
    """Try one placement for each seed, every co-location class on a random device: the finest placements possible."""
    classes = colocation_classes(placed.graph)
    for seed in seeds:
        placed.try_placement(random_devices(placed.graph, classes, devices, np.random.default_rng(seed)))
    return placed.found


def fields_but_devices(content: bytes, suffix: str) -> list[bytes]:
    """The file's fields one by one, those of nodes one level deeper, without the nodes' devices."""
    if suffix == ".pbtxt":
        content = _parsed_text(content).SerializeToString(deterministic=True)
    found: list[bytes] = []
    for outer in fields(content):
        if outer.number != NODE:
            found.append(content[outer.start : outer.end])
            continue
        found.append(b"node")
        found += (
            content[inner.start : inner.end]
            for inner in fields(content, outer.payload, outer.end)
            if inner.number != DEVICE
        )
    return found


def _parsed_text(content: bytes) -> Message:
    graph = v1.GraphDef()
    load_messages("google.protobuf.text_format").Parse(content.decode(), graph)
    return graph


def definition_of(path: Path) -> Message:
    """The GraphDef in a .pb or .pbtxt file."""
    content = path.read_bytes()
    return _parsed_text(content) if path.suffix == ".pbtxt" else v1.GraphDef.FromString(content)
