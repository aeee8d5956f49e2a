"""Checks files of graphs, and reads them with their costs, each in one child."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from engine.child import warm
from engine.child.parent import (
    Limits,
    Pulse,
    ReportProgress,
    Results,
    environment_of_children,
    no_pulse,
    require_size,
    run_in_child,
)
from engine.clusters.device_kinds import CATALOGUE, COSTED_KINDS
from engine.costs.cost_model import CostedGraph
from engine.costs.costs import Costs
from engine.costs.layers import HeldParameters, layers_of
from engine.costs.measured import MeasuredCosts, MeasuredTimes
from engine.errors import CostError, GraphError, SettingsError, TimeLimitError, shortened
from engine.events import Json
from engine.files.archive import fields_of, from_fields
from engine.files.gzip_text import MAGIC, unpacked
from engine.formats.format import ReadFile, SourceFile, require_offload
from engine.formats.notes_on_devices import notes_on_devices
from engine.formats.offloading.apart import with_weights_apart
from engine.formats.open_inputs import OpenInput
from engine.formats.registry import FORMATS, format_of, function
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping, group_ops
from engine.graphs.grouping.levels import GROUPS_WITHOUT_LEVELS, nearest, nested_groupings
from engine.graphs.grouping.nesting import Levels
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.parameters import elements_of_constants, elements_of_variables
from engine.prepared import PreparedGraph

AUTO_GROUPS: Final = "auto"
"""levels of groups, through which a search goes; people see the level of about GROUPS_WITHOUT_LEVELS groups"""
Groups: TypeAlias = int | Literal["auto"] | None
"""the most groups to merge into, `AUTO_GROUPS`, or None: no merging"""
AS_IT_IS = ReadingOptions()
LOADED_FIRST = (
    "engine.costs.tensorflow.estimating",
    "engine.graphs.tensorflow.inlining",
    "engine.formats.zipped",
    "engine.formats.onnx.reader",
    "engine.formats.node_link.reader",
    "engine.graphs.tensorflow.op_table:registered_ops",
)
"""modules that a reading loads, and functions that it calls once a process"""
READING_STATS = "reading the step stats"
GROUPING = "grouping the ops"
OPEN_INPUTS = "open_inputs"
"""the key of a check's result"""
CHECK_SECONDS = 5.0
"""for which a person waits before an upload is answered"""
STEPS = 4
"""opening, inlining, reading, costing: one child does them all, in the time limit of all together"""


def keep_warm() -> bool:
    """Keep a process from which `prepare` forks its child, so that no reading waits for TensorFlow to load.

    Use it in a process that reads many files: the warm process ends with the caller's thread. If it has ended, a later
    call starts it again and returns True; without it each reading starts a separate child, so no reading fails.
    """
    return warm.keep_warm(LOADED_FIRST, environment_of_children(Path("/")))


def check_upload(path: Path, suffix: str, limits: Limits, options: ReadingOptions = AS_IT_IS) -> tuple[OpenInput, ...]:
    """Refuse what is no graph, or has not what `options` choose: read it without functions, at most CHECK_SECONDS.

    Returns the inputs whose lengths are open. A larger graph passes, as if none were: `prepare` finds the errors in the
    rest of it. Loads TensorFlow's messages alone. Raises
    GraphError, LimitError, SettingsError.
    """
    format_of(suffix)
    require_size(path, limits)
    quick = dataclasses.replace(limits, seconds=min(limits.seconds, CHECK_SECONDS))
    try:
        order = order_of(path, suffix, options, limits)
        _, texts = run_in_child(f"{__name__}:check_in_child", order, quick, reads=(path,))
    except TimeLimitError:
        if quick.seconds == limits.seconds:
            raise
        return ()
    return tuple(OpenInput.from_json(row) for row in cast(list[Json], texts[OPEN_INPUTS]))


def check_run_metadata(path: Path, suffix: str, limits: Limits) -> None:
    """Raise GraphError or LimitError unless `path` holds measured times for a graph in a file of this suffix.

    `prepare` checks that they fit a graph. Fast.
    """
    require_size(path, limits)
    order: dict[str, Json] = {"run_metadata": str(path.absolute()), "suffix": suffix, "most_bytes": limits.file_bytes}
    run_in_child(f"{__name__}:check_run_metadata_in_child", order, limits, task=READING_STATS, reads=(path,))


def prepare(
    path: Path,
    suffix: str,
    report_progress: ReportProgress,
    limits: Limits,
    groups: Groups = AUTO_GROUPS,
    name: str | None = None,
    options: ReadingOptions = AS_IT_IS,
    run_metadata: Path | None = None,
    profile_kind: str | None = None,
    pulse: Pulse = no_pulse,
) -> PreparedGraph:
    """Read, cost and group the graph in `path`.

    `suffix` names its format, one of `FORMATS`; `name` is the graph's name, None: the file's name. The times and bytes
    in the step stats `run_metadata` replace estimates: on all kinds of the device class on which they were measured, or
    on `profile_kind` alone of its class. `pulse` is called several times a second; what it raises ends the child.
    Raises GraphError, CostError, LimitError, and SettingsError for options that the file cannot meet.
    """
    _require_options(path, suffix, options)
    _require_profiled(suffix, run_metadata, profile_kind)
    require_size(path, limits)
    order = order_of(path, suffix, options, limits)
    if run_metadata is not None:
        require_size(run_metadata, limits)
        order |= {"run_metadata": str(run_metadata.absolute()), "profile_kind": profile_kind}
    limits = dataclasses.replace(limits, seconds=STEPS * limits.seconds)
    arrays, texts = run_in_child(
        f"{__name__}:read_in_child",
        order,
        limits,
        report_progress=report_progress,
        pulse=pulse,
        is_warm=True,
        reads=[path] if run_metadata is None else [path, run_metadata],
    )
    graph, costs = from_fields(ComputationGraph, arrays, texts), from_fields(Costs, arrays, texts)
    report_progress(GROUPING, 0, 0)
    grouping, levels = grouped(graph, costs, groups)
    graph = graph if name is None else dataclasses.replace(graph, name=name)
    return PreparedGraph(graph, costs, grouping, from_fields(Origin, arrays, texts), levels)


def grouped(graph: ComputationGraph, costs: Costs, groups: Groups) -> tuple[Grouping, Levels]:
    """The groups that people see, and all levels, if `groups` is `AUTO_GROUPS`. Raises GraphError, SettingsError."""
    if groups != AUTO_GROUPS:
        return group_ops(graph, costs, groups), Levels()
    nested = nested_groupings(graph, costs)
    shown = nearest(nested, GROUPS_WITHOUT_LEVELS)
    return shown, Levels.of(graph, nested, shown)


def order_of(path: Path, suffix: str, options: ReadingOptions, limits: Limits) -> dict[str, Json]:
    """The arguments of a child, from which `source_of` makes a `SourceFile`."""
    return {
        "path": str(path.absolute()),
        "suffix": suffix,
        "options": options.to_json(),
        "most_bytes": limits.file_bytes,
    }


def _require_options(path: Path, suffix: str, options: ReadingOptions) -> None:
    """Raise SettingsError for options that a format does not have, where its reader does not say so itself."""
    row = format_of(suffix)
    require_offload(row, options)
    if row.is_closed:
        given, usual = options.to_json(), AS_IT_IS.to_json()
        others = [name for name in given if given[name] != usual[name] and name not in row.options]
        if others:
            names = ", ".join(name.replace("_", " ") for name in others)
            what = f"{row.words} is one step with its costs, so it takes no {names}"
            raise SettingsError(what, where=shortened(path.name), allowed="no such options", field="options")


def _require_profiled(suffix: str, run_metadata: Path | None, profile_kind: str | None) -> None:
    if run_metadata is not None and not FORMATS[suffix].times:
        what = f"{FORMATS[suffix].words} has its times in itself"
        raise GraphError(what, where=run_metadata.name, allowed="no RunMetadata", field="run_metadata")
    if run_metadata is None and profile_kind is not None:
        what = f"{shortened(profile_kind)} is given without measured times"
        raise SettingsError(what, where="profile kind", allowed="only beside RunMetadata", field="profile_kind")
    if profile_kind is not None and profile_kind not in CATALOGUE:
        allowed = ", ".join(CATALOGUE)
        raise CostError("no such device kind", where=shortened(profile_kind), allowed=allowed, field="profile_kind")


def source_of(order: Mapping[str, Json]) -> SourceFile:
    """The file that an order names. Runs in the child, as do all functions below."""
    options = ReadingOptions.from_json(cast(dict[str, Json], order["options"]))
    return SourceFile(
        Path(cast(str, order["path"])), cast(str, order["suffix"]), cast(int, order["most_bytes"]), options
    )


def read_file(source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """Read a file by the row of its format. Raises GraphError, CostError, LimitError, SettingsError."""
    file: ReadFile = function(FORMATS[source.suffix].read)(source, report_progress)
    return file


def check_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """Check a graph's file and return its open inputs. Raises GraphError, CostError, LimitError."""
    source = source_of(order)
    found: tuple[OpenInput, ...] = function(FORMATS[source.suffix].check)(source, report_progress)
    return {}, {OPEN_INPUTS: [each.to_json() for each in found]}


def check_run_metadata_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Check a file of measured times and return empty results. Raises GraphError."""
    _measured_times(order)
    return {}, {}


def read_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """The fields of the graph, its costs and its origin. Each file is parsed once."""
    times = None
    if "run_metadata" in order:
        report_progress(READING_STATS, 0, 0)
        times = _measured_times(order)
    file = read_file(source_of(order), report_progress)
    model = file.costs
    if times is not None:
        model = MeasuredCosts(model, times, cast(str | None, order["profile_kind"]))
    costed = model.costs_of(file.graph, COSTED_KINDS, report_progress)
    graph, held = file.graph.graph, file.held or held_by(file.graph.messages)
    if file.graph.options.offload:
        apart = with_weights_apart(graph, costed.costs, held, file.origin.framework)
        graph, held, costed = apart.graph, apart.held, dataclasses.replace(costed, costs=apart.costs)
    arrays: dict[str, NDArray[np.generic]] = {}
    texts: dict[str, Json] = {}
    origin = with_findings(file.origin, graph, costed, held)
    for part in (graph, costed.costs, origin):
        part_arrays, part_texts = fields_of(part)
        arrays, texts = arrays | part_arrays, texts | part_texts
    return arrays, texts


def _measured_times(order: Mapping[str, Json]) -> MeasuredTimes:
    """What the file `run_metadata` holds, by the row of the graph's format. Raises GraphError, LimitError."""
    content = Path(cast(str, order["run_metadata"])).read_bytes()
    if content.startswith(MAGIC):
        most_bytes = cast(int, order["most_bytes"])
        content = unpacked(content, most_bytes, allowed="gzip of measured times", field="run_metadata")
    times: MeasuredTimes = function(FORMATS[cast(str, order["suffix"])].times)(content)
    return times


def with_findings(origin: Origin, graph: ComputationGraph, costed: CostedGraph, held: HeldParameters | None) -> Origin:
    """`origin` with what is found when the costs are known: notes on devices, layers, what `costed` says."""
    with_layers = dataclasses.replace(
        origin,
        notes=(*origin.notes, *notes_on_devices(graph)),
        layers=layers_of(graph, costed.costs, held),
    )
    return costed.added_to(with_layers)


def held_by(messages: GraphMessages | None) -> HeldParameters | None:
    """The parameters that the ops hold; None where the file has no tensors."""
    if messages is None:
        return None
    return HeldParameters(elements_of_variables(messages.nodes), elements_of_constants(messages.nodes))
