"""Reads and writes one signature of a zipped SavedModel (`.zip`). Runs in a child."""

from dataclasses import replace
from pathlib import Path

from engine.child.parent import ReportProgress
from engine.errors import GraphError
from engine.formats import graphdef
from engine.formats.format import PLACED_FILE, Placing, ReadFile, SourceFile
from engine.formats.graphdef import OPENING, OpenedGraph
from engine.formats.meta_graph import MetaGraph, meta_graph_of_saved_model, of_step, step_of_signature
from engine.formats.saved_model.archive import VARIABLES_INDEX, opened_archive
from engine.graphs.origin import NO_VARIABLES
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.messages import load_tensorflow
from engine.graphs.tensorflow.op_types import VARIABLES

SUFFIX = ".zip"


def check(source: SourceFile, report_progress: ReportProgress) -> None:
    """Read the whole graph, not just one signature's part. Raises GraphError, LimitError."""
    report_progress(OPENING, 0, 0)
    meta_graph, _, _ = _meta_graph(source)
    graphdef.check_messages(read_messages(meta_graph.graph, ".pb"), source)


def opened(source: SourceFile, report_progress: ReportProgress) -> OpenedGraph:
    """The signature's part of the graph. Raises GraphError, LimitError, SettingsError."""
    report_progress(OPENING, 0, 0)
    meta_graph, has_variables, choice = _meta_graph(source)
    graph = of_step(meta_graph, step_of_signature(meta_graph, source.options.signature))
    stored = has_variables or not any(node.op in VARIABLES for node in graph.messages.nodes)
    lacks = () if stored else (f"{NO_VARIABLES[0].upper()}{NO_VARIABLES[1:]}.",)
    origin = replace(graph.origin, notes=(*choice, *graph.origin.notes, *lacks), variables_stored=stored)
    return OpenedGraph(graph.messages, origin)


def read(source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """The signature's graph and its estimated costs. Raises GraphError, LimitError, SettingsError."""
    return graphdef.read_opened(opened(source, report_progress), source, report_progress)


def write(source: SourceFile, placing: Placing, folder: Path, report_progress: ReportProgress) -> None:
    """Write the signature's GraphDef with its devices, or a SavedModel of it with the upload's variables.

    Raises GraphError for an upload without its variables, and as `read` does; PlacementError, LimitError.
    """
    file = read(source, report_progress)
    if placing.suffix != SUFFIX:
        (folder / PLACED_FILE).write_bytes(graphdef.placed(file, source.suffix, placing))
        return
    if file.origin.variables_stored is False:
        raise GraphError(NO_VARIABLES, field="file")
    content = graphdef.placed(file, source.suffix, replace(placing, suffix=".pb"))
    load_tensorflow()
    from engine.formats.saved_model.making import write_placed_saved_model

    write_placed_saved_model(
        source.path, content, source.options.signature, source.most_bytes, folder / PLACED_FILE, report_progress
    )


def require_writable(source: SourceFile, folder: Path, report_progress: ReportProgress) -> None:
    """Raise GraphError or LimitError where no placed SavedModel can be written, whatever the placement."""
    graph = graphdef.inlined(opened(source, report_progress), source, report_progress)
    if graph.origin.variables_stored is False:
        raise GraphError(NO_VARIABLES, field="file")
    for node in graph.messages.nodes:
        node.device = ""
    load_tensorflow()
    from engine.formats.saved_model import making

    signature = source.options.signature
    making.require_writable(source.path, graph.messages, signature, source.most_bytes, folder, report_progress)


def _meta_graph(source: SourceFile) -> tuple[MetaGraph, bool, tuple[str, ...]]:
    """The file's graph, whether the files of variables are beside it, and a sentence if one of several was chosen."""
    with opened_archive(source.path) as archive:
        content, has_variables = archive.saved_model_bytes(source.most_bytes), VARIABLES_INDEX in archive.names
    meta_graph, note = meta_graph_of_saved_model(content)
    return meta_graph, has_variables, (note,) if note else ()
