"""Reads and writes a file of text (`.pbtxt`): a GraphDef, a MetaGraphDef or a SavedModel. Runs in a child."""

from pathlib import Path
from types import ModuleType

from engine.child.parent import ReportProgress
from engine.formats import graphdef, meta_graph
from engine.formats.format import Placing, ReadFile, SourceFile
from engine.formats.open_inputs import OpenInput
from engine.formats.saved_model import saved_model
from engine.graphs.tensorflow.text_messages import META_GRAPH, SAVED_MODEL, TextForm, form_of_text

READERS: dict[TextForm, ModuleType] = {META_GRAPH: meta_graph, SAVED_MODEL: saved_model}
"""form of a text → its reader; any other text is read as a GraphDef, whose reader says what it is"""


def check(source: SourceFile, report_progress: ReportProgress) -> tuple[OpenInput, ...]:
    """Read the whole graph, not just the part that a step runs; its open inputs. Raises GraphError, SettingsError."""
    found: tuple[OpenInput, ...] = _reader(source).check(source, report_progress)
    return found


def read(source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """The step's graph and its estimated costs. Raises GraphError, LimitError, SettingsError."""
    file: ReadFile = _reader(source).read(source, report_progress)
    return file


def write(source: SourceFile, placing: Placing, folder: Path, report_progress: ReportProgress) -> None:
    """Write the graph with its devices. Raises PlacementError, GraphError, LimitError."""
    _reader(source).write(source, placing, folder, report_progress)


def _reader(source: SourceFile) -> ModuleType:
    """The module that reads the file's form."""
    form = form_of_text(source.path.read_bytes())
    return graphdef if form is None else READERS.get(form, graphdef)
