"""The files of a placement by modules: suffix → what it holds; and the placements that such files hold."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.events import Json
from engine.formats.modules.device_map import device_map_of, devices_of_map, is_device_map
from engine.formats.modules.paths import TORCH
from engine.formats.modules.stages import devices_of_split, is_split, split_spec_of
from engine.prepared import PreparedGraph


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A row of `MODULE_FILES`."""

    words: str
    """the file, for people"""
    make: Callable[[PreparedGraph, Cluster, NDArray[np.integer]], dict[str, Json]]
    """its content for the devices of all ops; raises GraphError, PlacementError"""


MODULE_FILES: Mapping[str, ModuleFile] = {
    ".device_map.json": ModuleFile("device_map for PyTorch", device_map_of),
    ".split_spec.json": ModuleFile("split_spec for pipeline stages", split_spec_of),
}
"""suffix → file; offered for recordings of PyTorch models"""


def module_file_of(name: str) -> ModuleFile | None:
    """The row to whose suffix a file's name ends."""
    return next((row for suffix, row in MODULE_FILES.items() if name.endswith(suffix)), None)


def module_file_text(row: ModuleFile, prepared: PreparedGraph, cluster: Cluster, placement: Mapping[str, str]) -> str:
    """The file's text for a placement {op: device} of all ops. Raises GraphError, PlacementError."""
    index_of_name = {device.name: index for index, device in enumerate(cluster.devices)}
    device_of_op = np.array([index_of_name[placement[op]] for op in prepared.graph.op_names], dtype=np.int32)
    return json.dumps(row.make(prepared, cluster, device_of_op), indent=1) + "\n"


def devices_of_modules(prepared: PreparedGraph, cluster: Cluster, placement: Json) -> NDArray[np.int32] | None:
    """[ops] the devices of a device map, split points or layers a stage; None where the JSON is none of these,
    or the graph is no recording of a PyTorch model.

    Raises PlacementError.
    """
    if prepared.origin.framework != TORCH or not isinstance(placement, dict):
        return None
    if is_split(placement):
        return devices_of_split(prepared, cluster, placement)
    return devices_of_map(prepared, cluster, placement) if is_device_map(placement) else None
