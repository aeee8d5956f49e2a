"""Reads many files, or one damaged in many ways, in one child: what the reader says to each."""

from pathlib import Path
from typing import cast

import numpy as np

from engine.child.parent import ReportProgress, Results
from engine.errors import GraphError, LimitError, SettingsError
from engine.events import Json
from engine.formats import graphdef, meta_graph
from engine.formats.format import SourceFile
from engine.formats.graphdef import require_inlinable
from engine.formats.registry import FORMATS, function
from engine.formats.saved_model import saved_model
from engine.graphs.tensorflow.function_calls import calls_of
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages
from engine.graphs.tensorflow.messages import load_messages

DAMAGES = 3000
OPENERS = {
    ".pb": graphdef.opened,
    ".pbtxt": graphdef.opened,
    ".meta": meta_graph.opened,
    ".zip": saved_model.opened,
}


def read_all_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The message for each file of the order, {name: [path, suffix]}; empty for a file that can be read."""
    texts: dict[str, Json] = {}
    for name, file in order.items():
        path, suffix = cast(list[str], file)
        try:
            graph_of_messages(read_messages(Path(path).read_bytes(), suffix), "graph")
            texts[name] = ""
        except GraphError as error:
            assert error.field == "file", error
            texts[name] = str(error)
    return {}, texts


def damage_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Cut the file at every byte and change bytes of it at random: how many were refused, and errors of other types."""
    whole = Path(cast(str, order["path"])).read_bytes()
    rng = np.random.default_rng(0)
    files = [whole[:length] for length in range(len(whole))]
    for _ in range(DAMAGES):
        changed = bytearray(whole)
        for position in rng.integers(len(whole), size=rng.integers(1, 4)):
            changed[position] = rng.integers(256)
        files.append(bytes(changed))
    refused = 0
    others: list[Json] = []
    for content in files:
        try:
            graph_of_messages(read_messages(content, ".pb"), "graph")
        except GraphError:
            refused += 1
        except Exception as error:
            others.append(f"{type(error).__name__}: {error} for {content!r}")
    return {}, {"refused": refused, "others": others[:3]}


def text_to_binary_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Write the text graph `path` as binary `target`."""
    messages = read_messages(Path(cast(str, order["path"])).read_bytes(), ".pbtxt")
    graph = load_messages("tensorflow.core.framework.graph_pb2").GraphDef(node=messages.nodes)
    Path(cast(str, order["target"])).write_bytes(graph.SerializeToString())
    return {}, {}


def unpack_all_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """The message for each container of the order, {name: [path, suffix]}; empty for one that can be opened."""
    texts: dict[str, Json] = {}
    for name, file in order.items():
        path, suffix = cast(list[str], file)
        try:
            _open(Path(path), suffix, report_progress)
            texts[name] = ""
        except (GraphError, LimitError, SettingsError) as error:
            assert error.field in ("file", "signature", "tags"), error
            texts[name] = str(error)
    return {}, texts


def damage_containers_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Cut each file at every byte and change bytes of it at random: how many were refused, errors of other types."""
    rng = np.random.default_rng(0)
    refused = 0
    others: list[Json] = []
    for text in order.values():
        whole = Path(cast(str, text)).read_bytes()
        files = [whole[:length] for length in range(len(whole))]
        for _ in range(DAMAGES // 2):
            changed = bytearray(whole)
            for position in rng.integers(len(whole), size=rng.integers(1, 4)):
                changed[position] = rng.integers(256)
            files.append(bytes(changed))
        damaged = folder / f"damaged{Path(cast(str, text)).suffix}"
        for content in files:
            damaged.write_bytes(content)
            try:
                _open(damaged, damaged.suffix, report_progress)
            except (GraphError, LimitError, SettingsError):
                refused += 1
            except Exception as error:
                others.append(f"{type(error).__name__}: {error} for {content!r}")
    return {}, {"refused": refused, "others": others[:3]}


def _open(path: Path, suffix: str, report_progress: ReportProgress) -> None:
    """As an upload is checked and then opened."""
    source = SourceFile(path, suffix, 256 * 1024**2)
    row = FORMATS[suffix]
    if suffix in (".meta", ".zip"):
        function(row.check)(source, report_progress)
    opened = OPENERS[suffix](source, report_progress)
    if calls_of(opened.messages):
        require_inlinable(opened.messages)
