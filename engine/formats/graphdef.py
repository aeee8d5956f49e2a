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
from engine.formats.open_inputs import OpenInput, open_inputs_of
from engine.formats.step import StepPart, step_of
from engine.graphs.origin import Origin
from engine.graphs.tensorflow.fetching import ops_of_fetches
from engine.graphs.tensorflow.function_calls import calls_of, require_callable
from engine.graphs.tensorflow.graphdef_messages import GraphMessages, read_messages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages
from engine.graphs.tensorflow.graphdef_writer import with_devices
from engine.graphs.tensorflow.messages import load_messages, load_tensorflow
from engine.graphs.tensorflow.text_messages import MOST_OPS
from engine.number_words import bytes_words

OPENING = "opening the file"
READING = "reading the graph"
INLINING = "inlining the functions"
FETCHES = "what the step fetches"
"""a person's fetches, in a note"""


@dataclass(frozen=True, slots=True)
class OpenedGraph:
    """The GraphDef of a file, and the data on it in its container."""

    messages: GraphMessages
    origin: Origin = field(default_factory=Origin)
    """`feeds`, `fetches`, `signatures`, `notes`, `variables_stored`"""
    content: bytes = b""
    """as in `ReadFile`"""
    is_whole: bool = False
    """whether `messages` are all ops of the file, so that the step is still to be found among them"""
    fetched_by: str = FETCHES
    """what names `origin.fetches`, for people"""


def check(source: SourceFile, report_progress: ReportProgress) -> tuple[OpenInput, ...]:
    """Read the whole graph without its functions; its open inputs. Raises GraphError."""
    report_progress(READING, 0, 0)
    _require_no_container(source)
    messages = read_messages(source.path.read_bytes(), source.suffix, with_tensorflow=False)
    return check_messages(messages, source)


def check_messages(messages: GraphMessages, source: SourceFile) -> tuple[OpenInput, ...]:
    """Check a graph that was in any container, as `check` does. Raises GraphError; SettingsError for wrong fetches."""
    graph_of_messages(messages, source.path.stem)
    ops_of_fetches(messages, source.options.fetches)
    return open_inputs_of(messages, source.options)


def opened(source: SourceFile, report_progress: ReportProgress) -> OpenedGraph:
    """The file's messages. Raises GraphError, SettingsError."""
    _require_no_container(source)
    report_progress(READING, 0, 0)
    content = source.path.read_bytes()
    messages = read_messages(content, source.suffix)
    origin = Origin(fetches=ops_of_fetches(messages, source.options.fetches))
    return OpenedGraph(messages, origin, content, is_whole=True)


def _require_no_container(source: SourceFile) -> None:
    """Raise SettingsError for options that choose a part of a container."""
    if source.options.signature:
        what = f"a GraphDef has no signature {shortened(source.options.signature)}"
        raise SettingsError(what, where="signature", allowed="none", field="signature")
    if source.options.tags is not None:
        raise SettingsError("a GraphDef has no tags", where="tags", allowed="none", field="tags")


def read(source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """The graph and its estimated costs. Raises GraphError, LimitError, SettingsError."""
    return read_opened(opened(source, report_progress), source, report_progress)


def read_opened(graph: OpenedGraph, source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """Read a graph that was in any container, as `read` does. Raises GraphError, LimitError, SettingsError."""
    graph = inlined(graph, source, report_progress)
    report_progress(READING, 0, 0)
    step = _step_of(graph, source)
    notes = (*graph.origin.notes, *step.notes)
    origin = replace(graph.origin, notes=notes, format=source.suffix, options=source.options.to_json())
    with_shapes = GraphWithShapes(step.graph, step.messages, source.options)
    return ReadFile(with_shapes, EstimatedCosts(), origin, graph.content, step.whole)


def _step_of(graph: OpenedGraph, source: SourceFile) -> StepPart:
    """The ops that the step runs. Raises GraphError."""
    if graph.is_whole:
        return step_of(graph.messages, source.path.stem, graph.origin.fetches, graph.fetched_by)
    return StepPart(graph.messages, graph_of_messages(graph.messages, source.path.stem))


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

    messages, notes = inline(graph.messages, graph.origin.fetches, keeps_all=graph.is_whole)
    _require_bounded(messages, source)
    origin = replace(graph.origin, notes=(*graph.origin.notes, *notes))
    return replace(graph, messages=messages, origin=origin, content=b"")


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
    messages = file.graph.messages if file.whole is None else file.whole.messages
    assert messages is not None
    content, content_suffix = (file.content, suffix) if file.content else (_serialized(messages), ".pb")
    return with_devices(
        file.graph.graph,
        None if file.whole is None else file.whole.graph,
        content,
        content_suffix,
        placing.device_of_op,
        placing.suffix,
        placing.short,
        placing.keep_pins,
    )


def serialized(file: ReadFile) -> bytes:
    """The read graph as a binary GraphDef; the same file and options give the same bytes."""
    assert file.graph.messages is not None
    return _serialized(file.graph.messages)


def _serialized(messages: GraphMessages) -> bytes:
    graph = load_messages("tensorflow.core.framework.graph_pb2").GraphDef()
    graph.CopyFrom(messages.rest)
    graph.node.extend(messages.nodes)
    return cast(bytes, graph.SerializeToString(deterministic=True))
