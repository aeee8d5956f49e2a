"""Reads a TensorFlow GraphDef, binary (.pb) or text (.pbtxt), in a child process: the file is untrusted."""

from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Limits, ReportProgress, Results, no_progress, require_size, run_in_child
from engine.events import Json
from engine.graphs.graph import ComputationGraph
from engine.graphs.graphdef_messages import read_messages, require_suffix
from engine.graphs.graphdef_nodes import graph_of_messages

READING = "reading the graph"


def read_graph(
    path: Path, suffix: str, limits: Limits, report_progress: ReportProgress = no_progress
) -> ComputationGraph:
    """The graph in `path`; `suffix` (`.pb`, `.pbtxt`) names its format. Raises GraphError, LimitError."""
    require_suffix(suffix, path)
    require_size(path, limits)
    order: dict[str, Json] = {"path": str(path.absolute()), "suffix": suffix, "name": path.stem}
    arrays, texts = run_in_child(
        f"{__name__}:read_in_child", order, limits, task=READING, report_progress=report_progress
    )
    return _from_results(arrays, texts)


def check_graph(path: Path, suffix: str, limits: Limits) -> int:
    """How many ops the graph in `path` has, if it can be read. Raises GraphError, LimitError."""
    require_suffix(suffix, path)
    require_size(path, limits)
    order: dict[str, Json] = {"path": str(path.absolute()), "suffix": suffix, "name": path.stem}
    _, texts = run_in_child(f"{__name__}:check_in_child", order, limits, task=READING)
    return cast(int, texts["ops"])


def read_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """The whole graph as arrays and texts."""
    graph = _graph_of_order(order, report_progress)
    arrays: dict[str, NDArray[np.generic]] = {
        "edge_source": graph.edge_source,
        "edge_target": graph.edge_target,
        "edge_output": graph.edge_output,
        "back_edges": graph.back_edges,
        "must_colocate": graph.must_colocate,
    }
    texts: dict[str, Json] = {
        "name": graph.name,
        "op_names": list(graph.op_names),
        "op_types": list(graph.op_types),
        "devices": list(graph.devices),
        "colocation": [list(labels) for labels in graph.colocation],
        "cpu_reason": list(graph.cpu_reason),
        "moved_ops": graph.moved_ops,
    }
    return arrays, texts


def check_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """The number of ops alone."""
    return {}, {"ops": _graph_of_order(order, report_progress).op_count}


def _graph_of_order(order: dict[str, Json], report_progress: ReportProgress) -> ComputationGraph:
    report_progress(READING, 0, 0)
    messages = read_messages(Path(cast(str, order["path"])).read_bytes(), cast(str, order["suffix"]))
    return graph_of_messages(messages, cast(str, order["name"]))


def _from_results(arrays: dict[str, NDArray[np.generic]], texts: dict[str, Json]) -> ComputationGraph:
    """The inverse of `read_in_child`."""
    names = {key: tuple(cast(list[str], texts[key])) for key in ("op_names", "op_types", "devices", "cpu_reason")}
    numbers = {key: array.astype(np.int32, copy=False) for key, array in arrays.items()}
    return ComputationGraph(
        name=cast(str, texts["name"]),
        op_names=names["op_names"],
        op_types=names["op_types"],
        edge_source=numbers["edge_source"],
        edge_target=numbers["edge_target"],
        edge_output=numbers["edge_output"],
        devices=names["devices"],
        colocation=tuple(tuple(labels) for labels in cast(list[list[str]], texts["colocation"])),
        back_edges=numbers["back_edges"],
        must_colocate=numbers["must_colocate"],
        cpu_reason=names["cpu_reason"],
        moved_ops=cast(int, texts["moved_ops"]),
    )
