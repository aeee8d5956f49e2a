"""From a file in any of TensorFlow's formats to the one GraphDef that is read, costed, placed and written.

A plain GraphDef is taken as it is. Of a MetaGraphDef or a SavedModel the part that a step runs is cut out. What calls
functions has them inlined (`inlining.py`), since a placement of the calls alone would place nothing. `unpacking.py` is
the child's side.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from engine.child.parent import Limits, ReportProgress, child_results, no_progress, require_size, run_in_child
from engine.errors import GraphError, SettingsError, shortened
from engine.events import Json
from engine.graphs.file_suffixes import PLAIN_SUFFIXES, SUFFIXES
from engine.graphs.reading_options import ReadingOptions

OPENING = "opening the file"
INLINING = "inlining the functions"
OPENED_FILE = "graph.pb"
"""what a child leaves in its folder"""


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
    """that the file offers (SavedModel, MetaGraphDef)"""
    notes: tuple[str, ...] = ()
    """a sentence each, for people: what had to be done to it, such as which functions were inlined"""
    variables_stored: bool | None = None
    """`Origin.variables_stored`"""


@contextmanager
def opened(
    path: Path, suffix: str, options: ReadingOptions, limits: Limits, report_progress: ReportProgress = no_progress
) -> Iterator[OpenedGraph]:
    """The GraphDef of `path`, there until the context ends; the same file and options give the same bytes.

    Raises GraphError, LimitError; SettingsError for options that the file cannot meet.
    """
    require_container(suffix, path)
    require_size(path, limits)
    if suffix in PLAIN_SUFFIXES and options.signature:
        what = f"a GraphDef has no signature {shortened(options.signature)}"
        raise SettingsError(what, where="signature", allowed="none", field="signature")
    with ExitStack() as stack:
        order: dict[str, Json] = {"path": str(path.absolute()), "suffix": suffix, "signature": options.signature}
        order["most_bytes"] = limits.file_bytes
        (_, said), folder = stack.enter_context(
            child_results(
                "engine.graphs.unpacking:unpack_in_child", order, limits, task=OPENING, report_progress=report_progress
            )
        )
        names = {key: tuple(cast(list[str], said[key])) for key in ("feeds", "fetches", "signatures", "notes")}
        stored = cast(bool | None, said["variables_stored"])
        written = OpenedGraph(folder / OPENED_FILE, ".pb", **names, variables_stored=stored)
        graph = written if said["written"] else OpenedGraph(path, suffix)
        if said["calls"]:
            order = {"path": str(graph.path.absolute()), "suffix": graph.suffix, "fetches": list(graph.fetches)}
            (_, said), folder = stack.enter_context(
                child_results(
                    "engine.graphs.inlining:inline_in_child",
                    order,
                    limits,
                    task=INLINING,
                    report_progress=report_progress,
                )
            )
            names["notes"] += tuple(cast(list[str], said["notes"]))
            graph = OpenedGraph(folder / OPENED_FILE, ".pb", **names, variables_stored=stored)
        yield graph


def check_container(path: Path, suffix: str, limits: Limits) -> None:
    """Raise GraphError or LimitError unless the graph that is in `path` can be read. No TensorFlow is loaded."""
    require_container(suffix, path)
    require_size(path, limits)
    order: dict[str, Json] = {"path": str(path.absolute()), "suffix": suffix, "most_bytes": limits.file_bytes}
    run_in_child("engine.graphs.unpacking:check_in_child", order, limits, task=OPENING)


def require_container(suffix: str, path: Path) -> None:
    """Raise GraphError for a format that is not one of these."""
    if suffix not in SUFFIXES:
        where = shortened(path.name)
        raise GraphError(f"no reader for {suffix!r}", where=where, allowed=", ".join(SUFFIXES), field="file")
