"""Reads and writes one signature of a SavedModel: zipped (`.zip`), or its text alone (`.pbtxt`). Runs in a child."""

from dataclasses import replace
from pathlib import Path

from engine.child.parent import ReportProgress
from engine.errors import GraphError
from engine.formats import graphdef
from engine.formats.format import PLACED_FILE, Placing, ReadFile, SourceFile
from engine.formats.graphdef import FETCHES, OPENING, OpenedGraph
from engine.formats.meta_graph import (
    MetaGraph,
    StepSignature,
    meta_graph_of_saved_model,
    of_step,
    step_of_signature,
)
from engine.formats.open_inputs import OpenInput
from engine.formats.saved_model.archive import VARIABLES_INDEX, opened_archive
from engine.formats.text_containers import saved_model_of_text
from engine.graphs.origin import NO_SIGNATURE, NO_VARIABLES, TEXT_ALONE
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.fetching import ops_of_fetches
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.messages import load_tensorflow
from engine.graphs.tensorflow.op_types import VARIABLES

SUFFIX = ".zip"


def check(source: SourceFile, report_progress: ReportProgress) -> tuple[OpenInput, ...]:
    """Read the whole graph, not just one signature's part; its open inputs. Raises GraphError, LimitError."""
    report_progress(OPENING, 0, 0)
    meta_graph, _, _ = meta_graph_of(source, with_tensorflow=False)
    return graphdef.check_messages(read_messages(meta_graph.graph, ".pb"), source)


def opened(source: SourceFile, report_progress: ReportProgress) -> OpenedGraph:
    """The signature's part of the graph. Raises GraphError, LimitError, SettingsError."""
    report_progress(OPENING, 0, 0)
    meta_graph, has_variables, choice = meta_graph_of(source)
    graph = of_step(meta_graph, _step(meta_graph, source.options))
    stored = has_variables or not any(node.op in VARIABLES for node in graph.messages.nodes)
    reason = NO_VARIABLES if source.suffix == SUFFIX else TEXT_ALONE
    lacks = () if stored else (f"{reason[0].upper()}{reason[1:]}.",)
    origin = replace(graph.origin, notes=(*choice, *graph.origin.notes, *lacks), variables_stored=stored)
    return OpenedGraph(graph.messages, origin)


def _step(meta_graph: MetaGraph, options: ReadingOptions) -> StepSignature:
    """A person's fetches, else the signature in the options, or the usual one. Raises SettingsError."""
    if not options.fetches:
        return step_of_signature(meta_graph, options.signature)
    fetches = ops_of_fetches(read_messages(meta_graph.graph, ".pb"), options.fetches)
    return StepSignature((), fetches, FETCHES)


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
    if source.options.fetches:
        raise GraphError(NO_SIGNATURE, field="file")
    if file.origin.variables_stored is False:
        raise GraphError(NO_VARIABLES, field="file")
    content = graphdef.placed(file, source.suffix, replace(placing, suffix=".pb"))
    load_tensorflow()
    from engine.formats.saved_model.making import write_placed_saved_model

    meta_graph, _, _ = meta_graph_of(source)
    write_placed_saved_model(source, meta_graph, content, folder / PLACED_FILE, report_progress)


def require_writable(source: SourceFile, folder: Path, report_progress: ReportProgress) -> None:
    """Raise GraphError or LimitError where no placed SavedModel can be written, whatever the placement."""
    if source.options.fetches:
        raise GraphError(NO_SIGNATURE, field="file")
    graph = graphdef.inlined(opened(source, report_progress), source, report_progress)
    if graph.origin.variables_stored is False:
        raise GraphError(NO_VARIABLES, field="file")
    for node in graph.messages.nodes:
        node.device = ""
    load_tensorflow()
    from engine.formats.saved_model import making

    meta_graph, _, _ = meta_graph_of(source)
    making.require_writable(source, meta_graph, graph.messages, folder, report_progress)


def meta_graph_of(source: SourceFile, *, with_tensorflow: bool = True) -> tuple[MetaGraph, bool, tuple[str, ...]]:
    """The file's graph, whether the files of variables are beside it, and a sentence if one of several was chosen.

    The file is an archive, or the text of a SavedModel alone. Raises GraphError, LimitError, SettingsError.
    """
    has_variables, is_text = False, source.suffix != SUFFIX
    if is_text:
        content = source.path.read_bytes()
    else:
        with opened_archive(source.path) as archive:
            content, is_text = archive.saved_model_bytes(source.most_bytes), archive.is_text
            has_variables = VARIABLES_INDEX in archive.names
    if is_text:
        content = saved_model_of_text(content, with_tensorflow=with_tensorflow)
    meta_graph, note = meta_graph_of_saved_model(content, source.options.tags)
    return meta_graph, has_variables, (note,) if note else ()
