"""Reads and writes a plain GraphDef (`.pb`, `.pbtxt`), and the opened graph of every TensorFlow format.

TensorFlow itself inlines the functions that a graph calls, since a placement of the calls alone would place nothing.
Runs in a child.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from engine.child.parent import ReportProgress
from engine.costs.cost_model import GraphWithShapes
from engine.costs.estimated import EstimatedCosts
from engine.errors import GraphError, LimitError, SettingsError, shortened
from engine.formats.format import PLACED_FILE, Placing, ReadFile, SourceFile
from engine.graphs.origin import Origin
from engine.graphs.tensorflow.function_calls import calls_of, require_callable
from engine.graphs.tensorflow.graphdef_messages import MOST_OPS, GraphMessages, read_messages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages
from engine.graphs.tensorflow.graphdef_writer import with_devices
from engine.graphs.tensorflow.messages import load_messages, load_tensorflow
from engine.number_words import bytes_words

OPENING = "opening the file"
READING = "reading the graph"
INLINING = "inlining the functions"


@dataclass(frozen=True, slots=True)
class OpenedGraph:
    """The GraphDef of a file, and the data on it in its container."""

    messages: GraphMessages
    origin: Origin = field(default_factory=Origin)
    """`feeds`, `fetches`, `signatures`, `notes`, `variables_stored`"""
    content: bytes = b""
    """as in `ReadFile`"""


def check(source: SourceFile, report_progress: ReportProgress) -> None:
    """Read the whole graph without its functions. Raises GraphError."""
    report_progress(READING, 0, 0)
    messages = read_messages(source.path.read_bytes(), source.suffix, with_tensorflow=False)
    check_messages(messages, source)


def check_messages(messages: GraphMessages, source: SourceFile) -> None:
    """Check a graph that was in any container, as `check` does. Raises GraphError."""
    graph_of_messages(messages, source.path.stem)


def opened(source: SourceFile, report_progress: ReportProgress) -> OpenedGraph:
    """The file's messages. Raises GraphError; SettingsError for a signature, since a GraphDef has none."""
    if source.options.signature:
        what = f"a GraphDef has no signature {shortened(source.options.signature)}"
        raise SettingsError(what, where="signature", allowed="none", field="signature")
    report_progress(READING, 0, 0)
    content = source.path.read_bytes()
    return OpenedGraph(read_messages(content, source.suffix), content=content)


def read(source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """The graph and its estimated costs. Raises GraphError, LimitError, SettingsError."""
    return read_opened(opened(source, report_progress), source, report_progress)


def read_opened(graph: OpenedGraph, source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """Read a graph that was in any container, as `read` does. Raises GraphError, LimitError, SettingsError."""
    graph = inlined(graph, source, report_progress)
    report_progress(READING, 0, 0)
    read_graph = graph_of_messages(graph.messages, source.path.stem)
    origin = replace(graph.origin, format=source.suffix, options=source.options.to_json())
    with_shapes = GraphWithShapes(read_graph, graph.messages, source.options)
    return ReadFile(with_shapes, EstimatedCosts(), origin, graph.content)


def inlined(graph: OpenedGraph, source: SourceFile, report_progress: ReportProgress) -> OpenedGraph:
    """The graph with its calls replaced by the ops of their functions; unchanged where it calls none.

    Raises GraphError, LimitError.
    """
    if not calls_of(graph.messages):
        return graph
    require_inlinable(graph.messages)
    report_progress(INLINING, 0, 0)
    load_tensorflow()
    from engine.graphs.tensorflow.inlining import inline

    messages, notes = inline(graph.messages, graph.origin.fetches)
    _require_bounded(messages, source)
    return OpenedGraph(messages, replace(graph.origin, notes=(*graph.origin.notes, *notes)))


def require_inlinable(messages: GraphMessages) -> None:
    """Check the graph before TensorFlow gets it, whose errors name no op.

    Raises GraphError, LimitError.
    """
    graph_of_messages(messages, "graph")
    require_callable(messages)


def _require_bounded(messages: GraphMessages, source: SourceFile) -> None:
    """Raise GraphError or LimitError if the inlined graph is larger than a file may be."""
    if len(messages.nodes) > MOST_OPS:
        raise GraphError(f"more than {MOST_OPS} ops", allowed=f"at most {MOST_OPS} ops", field="file")
    size = messages.rest.ByteSize() + sum(node.ByteSize() for node in messages.nodes)
    if size > source.most_bytes:
        what = f"with its functions inlined the graph has {bytes_words(size)}"
        raise LimitError(what, allowed=f"at most {bytes_words(source.most_bytes)}", field="file")


def write(source: SourceFile, placing: Placing, folder: Path, report_progress: ReportProgress) -> None:
    """Write the graph with its devices. Raises PlacementError, GraphError, LimitError."""
    (folder / PLACED_FILE).write_bytes(placed(read(source, report_progress), source.suffix, placing))


def placed(file: ReadFile, suffix: str, placing: Placing) -> bytes:
    """The GraphDef that was read, with its devices, in the format of `placing.suffix`. Raises PlacementError."""
    content, content_suffix = (file.content, suffix) if file.content else (serialized(file), ".pb")
    return with_devices(
        file.graph.graph,
        content,
        content_suffix,
        placing.device_of_op,
        placing.suffix,
        placing.short,
        placing.keep_pins,
    )


def serialized(file: ReadFile) -> bytes:
    """The read graph as a binary GraphDef; the same file and options give the same bytes."""
    messages = file.graph.messages
    assert messages is not None
    graph = load_messages("tensorflow.core.framework.graph_pb2").GraphDef()
    graph.CopyFrom(messages.rest)
    graph.node.extend(messages.nodes)
    return cast(bytes, graph.SerializeToString(deterministic=True))
