"""The table of formats: suffix → row. A new format is a file with its functions, and its row here."""

import importlib
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from engine.errors import GraphError, shortened
from engine.formats.format import OFFLOAD, Format

GRAPHDEFS = (".pb", ".pbtxt")
RUN_METADATA = "engine.costs.measured:step_stats_of"
PROFILER_TRACE = "engine.costs.pytorch.matching:profiler_trace_of"
OF_ANY_GRAPH = ("batch_size", "input_shapes", "trips", "sizes", "fetches")
OF_ONNX = ("batch_size", "input_shapes", "trips", "sizes")
OF_NODE_LINK = (OFFLOAD,)
WITH_SIGNATURE = ("signature", *OF_ANY_GRAPH)
WITH_TAGS = ("tags", *WITH_SIGNATURE)

FORMATS = {
    ".pb": Format(
        "GraphDef",
        "engine.formats.graphdef:check",
        "engine.formats.graphdef:read",
        "engine.formats.graphdef:write",
        GRAPHDEFS,
        OF_ANY_GRAPH,
        times=RUN_METADATA,
        is_tensorflow=True,
    ),
    ".pbtxt": Format(
        "TensorFlow graph as text",
        "engine.formats.text:check",
        "engine.formats.text:read",
        "engine.formats.text:write",
        GRAPHDEFS,
        WITH_TAGS,
        times=RUN_METADATA,
        is_tensorflow=True,
    ),
    ".meta": Format(
        "MetaGraphDef",
        "engine.formats.meta_graph:check",
        "engine.formats.meta_graph:read",
        "engine.formats.meta_graph:write",
        GRAPHDEFS,
        WITH_SIGNATURE,
        times=RUN_METADATA,
        is_tensorflow=True,
    ),
    ".zip": Format(
        "SavedModel",
        "engine.formats.zipped:check",
        "engine.formats.zipped:read",
        "engine.formats.zipped:write",
        (".zip", *GRAPHDEFS, ".onnx"),
        WITH_TAGS,
        times=RUN_METADATA,
        is_tensorflow=True,
    ),
    ".onnx": Format(
        "ONNX model",
        "engine.formats.onnx.reader:check",
        "engine.formats.onnx.reader:read",
        "engine.formats.onnx.writer:write",
        (".onnx", ".zip"),
        OF_ONNX,
        times="engine.costs.onnx.runtime_profile:stats_of_runtime",
    ),
    ".json": Format(
        "node-link JSON",
        "engine.formats.node_link.reader:check",
        "engine.formats.node_link.reader:read",
        times=PROFILER_TRACE,
        options=OF_NODE_LINK,
    ),
    ".json.gz": Format(
        "PyTorch recording",
        "engine.formats.node_link.reader:check",
        "engine.formats.node_link.reader:read",
        times=PROFILER_TRACE,
        options=OF_NODE_LINK,
    ),
}
"""suffix (at most 8 characters with the dot) → row, the usual format first"""

KERAS = "load it in TensorFlow with keras.models.load_model, write it with model.export(folder), and zip the folder"
PYTORCH = "record a step of the model in PyTorch with placeto.record, or python -m placeto record, and upload that file"
WEIGHTS = (
    "it holds weights without a graph: upload the SavedModel (.zip) or the MetaGraphDef (.meta) that belongs to it"
)
UNPACK = "unpack it and upload the graph in it; zip the folder of a SavedModel"
CONVERSIONS = {
    ".tflite": "upload the model that it was converted from: a SavedModel (.zip) or a GraphDef (.pb)",
    ".h5": KERAS,
    ".hdf5": KERAS,
    ".keras": KERAS,
    ".pt": PYTORCH,
    ".pth": PYTORCH,
    ".pt2": PYTORCH,
    ".ckpt": WEIGHTS,
    ".index": WEIGHTS,
    ".safetensors": WEIGHTS,
    ".gz": UNPACK,
    ".tgz": UNPACK,
    ".tar": UNPACK,
    ".7z": UNPACK,
}
"""suffix of a known file that is no format here → how to get one that is, for people"""


def suffix_of(name: str) -> str:
    """The suffix of a file's name in small letters, the longest that has a row; else what follows the last dot."""
    known = [suffix for suffix in FORMATS if name.lower().endswith(suffix)]
    return max(known, key=len) if known else PurePath(name).suffix.lower()


def format_of(suffix: str) -> Format:
    """The row of `suffix`. Raises GraphError where there is none."""
    if suffix not in FORMATS:
        raise unknown_suffix(suffix)
    return FORMATS[suffix]


def unknown_suffix(suffix: str, name: str = "") -> GraphError:
    """The error for a file whose `suffix` belongs to no format; `name`: the file's, for people."""
    return GraphError(
        f"a file ending in {shortened(suffix, 20) or 'nothing'}",
        where=shortened(name),
        advice=CONVERSIONS.get(suffix, ""),
        allowed=", ".join(FORMATS),
        field="file",
    )


def without_suffix(name: str) -> str:
    """A graph's name without the suffix of a format, if it has one."""
    for suffix in FORMATS:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


def function(path: str) -> Callable[..., Any]:
    """Import the function `module:name` of a row. Runs in a child."""
    module, _, name = path.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found
