"""The files of a plan's replicas: where each one's ops or modules run, as the runtime of the graph reads it.

A replica on one device has nothing to split, and no file; nor has one whose devices take micro-batches in turn. Of a
recording of a PyTorch model a replica gets split points where its devices follow each other along the model, else a
device map; of TensorFlow's and ONNX files the placed file; of any other graph the placement by ops.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.child.parent import Limits
from engine.clusters.cluster import Cluster, part_of_cluster
from engine.errors import GraphError, PlacementError
from engine.formats.modules.files import MODULE_FILES, is_onnx, module_file_text
from engine.formats.registry import FORMATS
from engine.formats.writing import write_placed
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from engine.placement_files import devices_to_json
from engine.prepared import PreparedGraph

OF_MODULES = (".split_spec.json", ".device_map.json")
"""the files of a recording, the first that can be written"""
PLACEMENT = ".json"
SAVED_MODEL, STAGES, GRAPHDEF = ".zip", ".zip", ".pb"


@dataclass(frozen=True, slots=True)
class PlacedSource:
    """The file of a graph, of which placed ones are written."""

    path: Path
    suffix: str
    options: ReadingOptions
    limits: Limits
    placed: str
    """suffix of the placed files; empty where only placements are written"""
    why: str = ""
    """why no placed SavedModel can be written, where one might be"""

    def is_tensorflow(self, origin: Origin) -> bool:
        """Whether the graph, which was read from it, is one of TensorFlow."""
        return FORMATS[self.suffix].is_tensorflow and not is_onnx(origin)


def usual_placed(suffix: str) -> str:
    """The suffix of the placed file of a replica, of a graph in a file of `suffix`; empty where there is none."""
    row = FORMATS[suffix]
    if not row.write:
        return ""
    return GRAPHDEF if row.is_tensorflow and suffix != SAVED_MODEL else STAGES


def write_replica_files(
    plan: Mapping[str, Any], prepared: PreparedGraph, cluster: Cluster, source: PlacedSource, folder: Path
) -> list[str]:
    """Write the files of `plan`, a plan's JSON, to `folder`. Returns a line for people on each replica.

    Raises PlacementError, GraphError, LimitError as `write_placed`.
    """
    return [
        f"replica {number}, on {_devices_words(cluster, row)}: {_write(row, number, prepared, cluster, source, folder)}"
        for number, row in enumerate(plan["replicas"])
    ]


def replica_placement(prepared: PreparedGraph, cluster: Cluster, row: Mapping[str, Any]) -> dict[str, str]:
    """{op: device} of a replica, a row of a plan's JSON."""
    return devices_to_json(prepared, cluster, np.array(row["device_of_group"])[prepared.grouping.group_of_op])


def devices_of_row(row: Mapping[str, Any]) -> list[int]:
    """The devices that a replica uses."""
    in_turn = {device for devices in row["turns"] for device in devices}
    return sorted({*row["device_of_group"], *in_turn})


def _devices_words(cluster: Cluster, row: Mapping[str, Any]) -> str:
    return ", ".join(cluster.devices[device].short_name for device in devices_of_row(row))


def _write(
    row: Mapping[str, Any],
    number: int,
    prepared: PreparedGraph,
    cluster: Cluster,
    source: PlacedSource,
    folder: Path,
) -> str:
    """Write the file of one replica. Returns its name, perhaps with why it is no other, or why there is none."""
    if len(devices_of_row(row)) == 1:
        return "one device, nothing to split"
    if row["turns"]:
        return "devices take its micro-batches in turn, which no file of a placement says"
    placement, name = replica_placement(prepared, cluster, row), f"replica_{number}"
    if prepared.origin.is_recording:
        return _write_modules(prepared, part_of_cluster(cluster, np.array(row["devices"])), placement, folder / name)
    if source.placed:
        path = folder / f"{name}{source.placed}"
        write_placed(source.path, source.suffix, placement, path, source.limits, source.options)
        return f"{path.name}; {source.why}" if source.why else path.name
    return _write_placement(placement, folder / name)


def _write_modules(prepared: PreparedGraph, part: Cluster, placement: Mapping[str, str], path: Path) -> str:
    """Write the first of `OF_MODULES` that there is, or the placement by ops."""
    why = ""
    for suffix in OF_MODULES:
        try:
            text = module_file_text(MODULE_FILES[suffix], prepared, part, placement)
        except (GraphError, PlacementError) as error:
            why += f"; no {suffix}: {error}"
            continue
        path.with_name(path.name + suffix).write_text(text)
        return f"{path.name}{suffix}{why}"
    return _write_placement(placement, path) + why


def _write_placement(placement: Mapping[str, str], path: Path) -> str:
    path.with_name(path.name + PLACEMENT).write_text(json.dumps(placement, indent=1) + "\n")
    return path.name + PLACEMENT
