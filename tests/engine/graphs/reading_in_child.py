"""Reads many files, or one damaged in many ways, in one child: what the reader says to each."""

from pathlib import Path
from typing import cast

import numpy as np

from engine.child import ReportProgress, Results
from engine.errors import GraphError
from engine.events import Json
from engine.graphs.graphdef_messages import read_messages
from engine.graphs.graphdef_nodes import graph_of_messages
from engine.graphs.tensorflow_messages import load_messages

DAMAGES = 3000


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
