"""Writes a placed ONNX model: each node says its device, for ONNX Runtime's layer assignment. Runs in a child.

Source: docs/annotated_partitioning of the ONNX Runtime repository
"""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from onnx import ModelProto, NodeProto

from engine.child.parent import ReportProgress
from engine.costs.onnx.walk import walked
from engine.errors import GraphError, PlacementError, shortened
from engine.events import Json
from engine.formats.format import PLACED_FILE, Placing, SourceFile
from engine.formats.graphdef import READING
from engine.formats.onnx.functions import with_functions_inlined
from engine.formats.onnx.layers import CPU, layers_of, session_settings
from engine.formats.onnx.reader import computation_graph
from engine.formats.onnx.scripts import CHECK_PLACEMENT, RUN_STAGES
from engine.formats.onnx.stages import ModelStage, stages_of
from engine.formats.saved_model.archive import new_entry
from engine.graphs.colocation import colocation_classes
from engine.graphs.device_string import parse_device_string
from engine.graphs.graph import ComputationGraph
from engine.graphs.onnx.model_messages import read_model
from engine.graphs.onnx.onnx_graph import OnnxGraph, onnx_graph

ANNOTATION = "layer_ann"
"""the key of a node's metadata that ONNX Runtime reads"""
STAGES_SUFFIX = ".zip"
SUFFIXES = (".onnx", STAGES_SUFFIX)
"""of the files that are written"""
SETTINGS_KEY = "placeto.layer_assignment_settings"
"""the key of the model's metadata with the option of the session"""


def write(source: SourceFile, placing: Placing, folder: Path, report_progress: ReportProgress) -> None:
    """Write the model with its devices; to `.zip` its stages too. Raises PlacementError, GraphError, SettingsError."""
    write_content(source.path.read_bytes(), source, placing, folder, report_progress)


def write_content(
    content: bytes, source: SourceFile, placing: Placing, folder: Path, report_progress: ReportProgress
) -> None:
    """Write a model that was in any container, as `write` does."""
    if placing.suffix not in SUFFIXES:
        what = f"an ONNX model holds no GraphDef, so no {placing.suffix} can be written"
        raise GraphError(what, allowed=", ".join(SUFFIXES), field="file")
    report_progress(READING, 0, 0)
    model = with_functions_inlined(read_model(content))
    onnx = onnx_graph(model)
    walk = walked(onnx, source.options)
    require_placement(computation_graph(onnx, walk, source.path.stem), placing.device_of_op)
    layers = layers_of(placing.device_of_op.values())
    annotate(model, onnx, placing.device_of_op, layers)
    if placing.suffix == STAGES_SUFFIX:
        _write_stages(folder / PLACED_FILE, model, stages_of(model, onnx, walk, placing.device_of_op), layers)
    else:
        (folder / PLACED_FILE).write_bytes(_content(model))


def _content(model: ModelProto) -> bytes:
    return bytes(model.SerializeToString(deterministic=True))


def _write_stages(path: Path, model: ModelProto, stages: Sequence[ModelStage], layers: Mapping[str, str]) -> None:
    """Write an archive of the model, its stages, the session's options and two scripts."""
    rows: list[Json] = []
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(new_entry("model.onnx"), _content(model))
        for index, stage in enumerate(stages):
            name = f"stage_{index}.onnx"
            archive.writestr(new_entry(name), _content(stage.model))
            parts = parse_device_string(stage.device, "")
            rows.append(
                {
                    "file": name,
                    "device": stage.device,
                    "class": parts.type or CPU,
                    "index": int(parts.index or 0),
                    "level": stage.level,
                    "inputs": list(stage.inputs),
                    "outputs": list(stage.outputs),
                }
            )
        outputs: list[Json] = [each.name for each in model.graph.output]
        archive.writestr(new_entry("stages.json"), json.dumps({"stages": rows, "outputs": outputs}, indent=1))
        options = {"session.layer_assignment_settings": session_settings(layers)}
        archive.writestr(new_entry("session.json"), json.dumps(options, indent=1))
        archive.writestr(new_entry("run_stages.py"), RUN_STAGES)
        archive.writestr(new_entry("check_placement.py"), CHECK_PLACEMENT)


def require_placement(graph: ComputationGraph, device_of_op: Mapping[str, str]) -> None:
    """Raise PlacementError unless each op has a device, and those that must share one do."""
    known = set(graph.op_names)
    for name in device_of_op:
        if name not in known:
            what = "no such op in the graph"
            raise PlacementError(what, where=shortened(name), allowed=f"{len(known)} ops", field="file")
    for name in graph.op_names:
        if name not in device_of_op:
            allowed = "a device for every op of the graph"
            raise PlacementError("it is not placed", where=shortened(name), allowed=allowed, field="file")
        parse_device_string(device_of_op[name], name)
    first: dict[int, str] = {}
    for name, together in zip(graph.op_names, colocation_classes(graph).tolist(), strict=True):
        other = first.setdefault(together, name)
        if device_of_op[other] != device_of_op[name]:
            what = f"it is on {device_of_op[name]}, and {shortened(other)}, which must share its device, on another"
            raise PlacementError(what, where=shortened(name), allowed=device_of_op[other], field="file")


def annotate(model: ModelProto, onnx: OnnxGraph, device_of_op: Mapping[str, str], layers: Mapping[str, str]) -> None:
    """Give each node of `model`, of which `onnx` was made, the layer of its device."""
    for op in onnx.ops:
        if op.node is not None:
            set_metadata(op.node, ANNOTATION, layers[device_of_op[op.name]])
    set_metadata(model, SETTINGS_KEY, session_settings(layers))


def set_metadata(message: ModelProto | NodeProto, key: str, value: str) -> None:
    """Set an entry of a message's metadata."""
    for each in message.metadata_props:
        if each.key == key:
            each.value = value
            return
    message.metadata_props.add(key=key, value=value)
