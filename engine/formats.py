"""The formats of docs/formats.md by suffix: checking an upload, reading, costing and grouping it, writing it placed."""

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Limits, ReportProgress, Results, no_progress, require_size, run_in_child
from engine.clusters.catalogue import CATALOGUE
from engine.costs.costs import Costs
from engine.costs.estimated import estimate_costs
from engine.costs.measured import notes_on_measured, read_step_stats, with_measured
from engine.errors import CostError, GraphError, SettingsError, shortened
from engine.events import Json
from engine.files.archive import fields_of, from_fields
from engine.graphs import graphdef_writer
from engine.graphs.file_suffixes import FORMATS, NODE_LINK_FORMATS, PLAIN_SUFFIXES, SAVED_MODEL_SUFFIX, SUFFIXES
from engine.graphs.graph import ComputationGraph
from engine.graphs.graphdef_reader import READING, check_graph, read_graph
from engine.graphs.grouping import group_ops
from engine.graphs.opening import check_container, opened
from engine.graphs.origin import NO_VARIABLES, Origin
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.saved_model_writer import write_placed_saved_model
from engine.prepared import PreparedGraph

DEFAULT_GROUPS = 128
AS_IT_IS = ReadingOptions()
GROUPING = "grouping the ops"
NO_SAVED_MODEL = "only of a SavedModel a placed SavedModel can be written"


def check_upload(path: Path, suffix: str, limits: Limits) -> None:
    """Raise GraphError or LimitError unless `path` holds a graph that can be read.

    Fast: of TensorFlow only the messages are loaded, and its parser for a large text.
    """
    _require_format(suffix)
    if suffix in PLAIN_SUFFIXES:
        check_graph(path, suffix, limits)
    elif suffix in SUFFIXES:
        check_container(path, suffix, limits)
    else:
        _read_nodelink(path, limits, no_progress)


def check_run_metadata(path: Path, limits: Limits) -> None:
    """Raise GraphError or LimitError unless `path` holds step stats; whether of this graph, `prepare` says. Fast."""
    read_step_stats(path, limits)


def prepare(
    path: Path,
    suffix: str,
    report_progress: ReportProgress,
    limits: Limits,
    groups: int | None = DEFAULT_GROUPS,
    name: str | None = None,
    options: ReadingOptions = AS_IT_IS,
    run_metadata: Path | None = None,
    profile_kind: str | None = None,
) -> PreparedGraph:
    """Read, cost and group the graph in `path`.

    `suffix` names its format, one of `FORMATS`; `name` is what to call it, if not by the file's name. `groups` None: no
    merging. What the step stats in `run_metadata` measured replaces what is estimated: on all kinds of the device class
    that it was measured on, or on `profile_kind` alone of its class. Raises GraphError, CostError, LimitError, and
    SettingsError for options that the file cannot meet.
    """
    _require_format(suffix)
    _require_profiled(suffix, run_metadata, profile_kind)
    stats = None if run_metadata is None else read_step_stats(run_metadata, limits, report_progress)
    if suffix in SUFFIXES:
        with opened(path, suffix, options, limits, report_progress) as graphdef:
            graph = read_graph(graphdef.path, graphdef.suffix, limits, report_progress)
            estimates = estimate_costs(
                graphdef.path, graphdef.suffix, graph, list(CATALOGUE), limits, report_progress, options
            )
        graph, costs = dataclasses.replace(graph, name=path.stem), estimates.costs
        origin = Origin(
            suffix,
            options.to_json(),
            graphdef.feeds,
            graphdef.fetches,
            graphdef.signatures,
            (*graphdef.notes, *_notes_on_devices(graph)),
            variables_stored=graphdef.variables_stored,
        )
        origin = estimates.added_to(origin)
    else:
        if options != AS_IT_IS:
            what = "node-link JSON has neither signatures nor shapes"
            raise SettingsError(what, where=shortened(path.name), allowed="no options", field="options")
        graph, costs = _read_nodelink(path, limits, report_progress)
        origin = Origin(suffix)
    if stats is not None:
        notes = notes_on_measured(costs, graph, stats)
        costs = with_measured(costs, graph, stats, profile_kind)
        origin = dataclasses.replace(origin, notes=(*origin.notes, *notes))
    report_progress(GROUPING, 0, 0)
    grouping = group_ops(graph, costs, groups)
    return PreparedGraph(dataclasses.replace(graph, name=graph.name if name is None else name), costs, grouping, origin)


def _notes_on_devices(graph: ComputationGraph) -> Iterator[str]:
    """What people should know of the devices that the file fixes."""
    if graph.moved_ops:
        is_one = graph.moved_ops == 1
        what = "An op is fixed" if is_one else f"{graph.moved_ops} ops are fixed"
        uses = "variable that it uses" if is_one else "variables that they use"
        runs = "it with the variable" if is_one else "each with its variable"
        yield f"{what} to another device than the {uses}; TensorFlow runs {runs}."


def write_placed(
    source: Path,
    suffix: str,
    device_of_op: Mapping[str, str],
    destination: Path,
    limits: Limits,
    options: ReadingOptions = AS_IT_IS,
    *,
    short: bool = False,
    keep_pins: bool = False,
) -> None:
    """Write `source` with every node's device set, nothing else changed, in `destination`'s format (.pb, .pbtxt).

    To .zip, from a SavedModel alone: a SavedModel of the signature that was read, with the upload's variables; raises
    GraphError where it has none. `options` are those with which it was prepared. `short`: `/device:TYPE:N` alone,
    without job and task. `keep_pins`: raise PlacementError for an op on another device than the file fixes.
    """
    _require_format(suffix)
    if suffix not in SUFFIXES:
        raise GraphError(
            "a node-link file holds no GraphDef", where=suffix, allowed="the placement as JSON", field="file"
        )
    if destination.suffix == SAVED_MODEL_SUFFIX != suffix:
        raise GraphError(NO_SAVED_MODEL, where=suffix, allowed="a placed GraphDef: .pb, .pbtxt", field="file")
    with ExitStack() as stack:
        graphdef = stack.enter_context(opened(source, suffix, options, limits))
        if destination.suffix == SAVED_MODEL_SUFFIX and graphdef.variables_stored is False:
            raise GraphError(NO_VARIABLES, field="file")
        written = destination
        if destination.suffix == SAVED_MODEL_SUFFIX:
            written = Path(stack.enter_context(TemporaryDirectory(prefix="placeto-"))) / "placed.pb"
        graphdef_writer.write_placed(
            graphdef.path, graphdef.suffix, device_of_op, written, limits, short=short, keep_pins=keep_pins
        )
        if written != destination:
            write_placed_saved_model(source, written, options.signature, destination, limits)


def read_nodelink_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """The child's side of reading node-link JSON."""
    from engine.costs.nodelink import read_nodelink

    path = order["path"]
    assert isinstance(path, str)
    report_progress(READING, 0, 0)
    arrays: dict[str, NDArray[np.generic]] = {}
    texts: dict[str, Json] = {}
    for part in read_nodelink(Path(path).read_bytes()):
        part_arrays, part_texts = fields_of(part)
        arrays, texts = arrays | part_arrays, texts | part_texts
    return arrays, texts


def _read_nodelink(path: Path, limits: Limits, report_progress: ReportProgress) -> tuple[ComputationGraph, Costs]:
    require_size(path, limits)
    arrays, texts = run_in_child(
        f"{__name__}:read_nodelink_in_child",
        {"path": str(path.absolute())},
        limits,
        task=READING,
        report_progress=report_progress,
    )
    return from_fields(ComputationGraph, arrays, texts), from_fields(Costs, arrays, texts)


def _require_format(suffix: str) -> None:
    if suffix not in FORMATS:
        raise GraphError(f"no format is named {shortened(suffix)}", allowed=", ".join(FORMATS), field="file")


def _require_profiled(suffix: str, run_metadata: Path | None, profile_kind: str | None) -> None:
    if run_metadata is not None and suffix in NODE_LINK_FORMATS:
        what = "a node-link file has its times in itself"
        raise GraphError(what, where=run_metadata.name, allowed="no RunMetadata", field="run_metadata")
    if run_metadata is None and profile_kind is not None:
        what = f"{shortened(profile_kind)} is given without measured times"
        raise SettingsError(what, where="profile kind", allowed="it beside RunMetadata", field="profile_kind")
    if profile_kind is not None and profile_kind not in CATALOGUE:
        allowed = ", ".join(CATALOGUE)
        raise CostError("no such device kind", where=shortened(profile_kind), allowed=allowed, field="profile_kind")
