"""From a file in any of TensorFlow's formats to the one GraphDef that is read, costed, placed and written."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.child import Limits, ReportProgress, no_progress, require_size
from engine.errors import SettingsError, shortened
from engine.graphs.graphdef_messages import require_suffix
from engine.graphs.reading_options import ReadingOptions


@dataclass(frozen=True, slots=True)
class OpenedGraph:
    """A GraphDef in a file of its own, and what its container said of it."""

    path: Path
    suffix: str
    """`.pb` or `.pbtxt`"""
    feeds: tuple[str, ...] = ()
    """names of the ops that take a step's inputs, where the container names them"""
    fetches: tuple[str, ...] = ()
    """names of the ops that a step is run for, where the container names them"""
    signatures: tuple[str, ...] = ()
    """that the file offers (SavedModel)"""
    notes: tuple[str, ...] = ()
    """a sentence each, for people: what had to be done to it, such as which functions were inlined"""


@contextmanager
def opened(
    path: Path, suffix: str, options: ReadingOptions, limits: Limits, report_progress: ReportProgress = no_progress
) -> Iterator[OpenedGraph]:
    """The GraphDef of `path`, there until the context ends; the same file and options give the same bytes.

    Raises GraphError, LimitError; SettingsError for options that the file cannot meet.
    """
    require_suffix(suffix, path)
    require_size(path, limits)
    if options.signature:
        what = f"a GraphDef has no signature {shortened(options.signature)}"
        raise SettingsError(what, where="signature", allowed="none", field="signature")
    report_progress("opening the file", 0, 0)
    yield OpenedGraph(path, suffix)
