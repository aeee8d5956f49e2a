"""Files of graphs as tests read them: each step of a reading by itself, in a child."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from engine.child.parent import Limits, ReportProgress, Results, child_results, run_in_child
from engine.events import Json
from engine.files.archive import fields_of, from_fields
from engine.formats.graphdef import serialized
from engine.formats.reading import order_of, read_file, source_of
from engine.graphs.graph import ComputationGraph
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages

OPENED_FILE = "graph.pb"


@dataclass(frozen=True, slots=True)
class OpenedGraph:
    """The GraphDef that is read of a file, in a file of its own, and what the file said beside it."""

    path: Path
    origin: Origin


def read_graph(path: Path, suffix: str, limits: Limits) -> ComputationGraph:
    """The graph in the plain GraphDef `path`, whose functions stay as they are."""
    order: dict[str, Json] = {"path": str(path.absolute()), "suffix": suffix}
    arrays, texts = run_in_child(f"{__name__}:read_in_child", order, limits, is_warm=True)
    return from_fields(ComputationGraph, arrays, texts)


def read_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """The graph's fields."""
    report_progress("reading the graph", 0, 0)
    path = Path(cast(str, order["path"]))
    return fields_of(graph_of_messages(read_messages(path.read_bytes(), cast(str, order["suffix"])), path.stem))


@contextmanager
def opened(path: Path, options: ReadingOptions, limits: Limits) -> Iterator[OpenedGraph]:
    """What is read of `path`, whatever contains it; there until the context ends."""
    order = order_of(path, path.suffix, options, limits)
    with child_results(f"{__name__}:open_in_child", order, limits, is_warm=True) as ((arrays, texts), folder):
        yield OpenedGraph(folder / OPENED_FILE, from_fields(Origin, arrays, texts))


def open_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Leave the GraphDef in `folder`."""
    file = read_file(source_of(order), report_progress)
    (folder / OPENED_FILE).write_bytes(serialized(file))
    return fields_of(file.origin)
