"""The files of a placement by modules or scopes: suffix → what it holds; and the placements that they hold."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.errors import GraphError
from engine.events import Json
from engine.formats.modules.device_map import device_map_of, devices_of_map, is_device_map
from engine.formats.modules.paths import require_modules
from engine.formats.modules.stages import devices_of_split, is_split, split_spec_of
from engine.formats.onnx.named_layers import devices_of_assignment, is_assignment, named_layers_of
from engine.graphs.onnx.own_types import SUFFIX as ONNX
from engine.graphs.origin import Origin
from engine.prepared import PreparedGraph


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A row of `MODULE_FILES`."""

    words: str
    """the file, for people"""
    make: Callable[[PreparedGraph, Cluster, NDArray[np.integer]], dict[str, Json]]
    """its content for the devices of all ops; raises GraphError, PlacementError"""
    is_of_onnx: bool = False
    """whether ONNX models have it, in place of recordings of PyTorch models"""


def is_onnx(origin: Origin) -> bool:
    """Whether the graph is an ONNX model."""
    return origin.format == ONNX


MODULE_FILES: Mapping[str, ModuleFile] = {
    ".device_map.json": ModuleFile("device_map for PyTorch", device_map_of),
    ".split_spec.json": ModuleFile("split_spec for pipeline stages", split_spec_of),
    ".layers.json": ModuleFile("Session option for ONNX Runtime", named_layers_of, is_of_onnx=True),
}
"""suffix → file"""


def module_file_of(name: str) -> ModuleFile | None:
    """The row to whose suffix a file's name ends."""
    return next((row for suffix, row in MODULE_FILES.items() if name.endswith(suffix)), None)


def require_module_file(row: ModuleFile, origin: Origin) -> None:
    """Raise GraphError for a graph that has no file of `row`."""
    if not row.is_of_onnx:
        require_modules(origin)
    elif not is_onnx(origin):
        raise GraphError("ONNX Runtime runs no such graph", where="the graph", allowed="an ONNX model", field="file")


def module_file_text(row: ModuleFile, prepared: PreparedGraph, cluster: Cluster, placement: Mapping[str, str]) -> str:
    """The file's text for a placement {op: device} of all ops. Raises GraphError, PlacementError."""
    index_of_name = {device.name: index for index, device in enumerate(cluster.devices)}
    device_of_op = np.array([index_of_name[placement[op]] for op in prepared.graph.op_names], dtype=np.int32)
    return json.dumps(row.make(prepared, cluster, device_of_op), indent=1) + "\n"


def devices_of_modules(prepared: PreparedGraph, cluster: Cluster, placement: Json) -> NDArray[np.int32] | None:
    """[ops] the devices of a device map, split points or layers a stage of a recording, or of a session's option for an
    ONNX model; None where the JSON is none of these.

    Raises PlacementError.
    """
    if not isinstance(placement, dict):
        return None
    if is_onnx(prepared.origin) and is_assignment(placement):
        return devices_of_assignment(prepared, cluster, placement)
    if not prepared.origin.is_recording:
        return None
    if is_split(placement):
        return devices_of_split(prepared, cluster, placement)
    return devices_of_map(prepared, cluster, placement) if is_device_map(placement) else None
