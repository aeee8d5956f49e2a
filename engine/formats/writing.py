"""Writes placed graphs, each in one child."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from engine.child.parent import (
    Limits,
    Pulse,
    ReportProgress,
    Results,
    child_results,
    no_progress,
    no_pulse,
    publish,
    require_size,
    run_in_child,
)
from engine.errors import GraphError, shortened
from engine.events import Json
from engine.formats.format import PLACED_FILE, Placing
from engine.formats.reading import AS_IT_IS, STEPS, order_of, source_of
from engine.formats.registry import FORMATS, format_of, function
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import require_suffix

SAVED_MODEL_SUFFIX = ".zip"
WRITING, CHECKING = "writing the placed graph", "checking that a SavedModel can be written"
NO_SAVED_MODEL = "a placed SavedModel can only be written from a SavedModel"


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
    """Write `source` with every node's device set and nothing else changed, in `destination`'s format (.pb, .pbtxt).

    To .zip, from a SavedModel alone: a SavedModel of the signature that was read, with the upload's variables; raises
    GraphError where it has none. `options` are those with which it was prepared. Full device strings hold the job,
    replica and task of the placement, or else of the file; `short` ones are `/device:TYPE:N` alone. Raises
    PlacementError for an op without a device, an op that is not in the graph, a text that is no device, ops that must
    share a device and do not, and with `keep_pins` for an op on another device than the file fixes; GraphError and
    LimitError as reading does.
    """
    row = format_of(suffix)
    if not row.write:
        what = f"{row.words} holds no GraphDef"
        raise GraphError(what, where=suffix, allowed="the placement as JSON", field="file")
    if row.is_tensorflow:
        _require_tensorflow_suffix(destination, suffix)
    elif destination.suffix not in row.placed:
        what = f"a placed {row.words} ends in {' or '.join(row.placed)}"
        raise GraphError(what, where=shortened(destination.name), allowed=", ".join(row.placed), field="file")
    require_size(source, limits)
    placing = Placing(device_of_op, destination.suffix, short, keep_pins)
    order = order_of(source, suffix, options, limits) | {"placing": dataclasses.asdict(placing)}
    limits = dataclasses.replace(limits, seconds=STEPS * limits.seconds)  # as reading, which is a part of it
    with child_results(f"{__name__}:write_in_child", order, limits, task=WRITING, reads=(source,)) as (_, folder):
        publish(folder / PLACED_FILE, destination)


def _require_tensorflow_suffix(destination: Path, suffix: str) -> None:
    """Raise GraphError unless `destination` is a GraphDef, or a SavedModel of a SavedModel."""
    if destination.suffix == SAVED_MODEL_SUFFIX != suffix:
        raise GraphError(NO_SAVED_MODEL, where=suffix, allowed="a placed GraphDef: .pb, .pbtxt", field="file")
    if destination.suffix not in format_of(suffix).placed:
        require_suffix(destination.suffix, destination)


def require_saved_model(
    source: Path,
    suffix: str,
    limits: Limits,
    options: ReadingOptions = AS_IT_IS,
    report_progress: ReportProgress = no_progress,
    pulse: Pulse = no_pulse,
) -> None:
    """Raise what `write_placed` to .zip would, whatever the placement: ask before a search, not after.

    Reads all of the file. Raises GraphError and LimitError.
    """
    if suffix != SAVED_MODEL_SUFFIX:
        raise GraphError(NO_SAVED_MODEL, where=suffix, allowed="a placed GraphDef: .pb, .pbtxt", field="file")
    require_size(source, limits)
    order = order_of(source, suffix, options, limits)
    limits = dataclasses.replace(limits, seconds=STEPS * limits.seconds)
    run_in_child(
        f"{__name__}:require_saved_model_in_child",
        order,
        limits,
        task=CHECKING,
        report_progress=report_progress,
        pulse=pulse,
        is_warm=True,
        reads=(source,),
    )


def require_saved_model_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Make all but the SavedModel itself."""
    function("engine.formats.zipped:require_writable")(source_of(order), folder, report_progress)
    return {}, {}


def write_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Read the source, check the placement, write."""
    source = source_of(order)
    placing = Placing(**cast(dict[str, Json], order["placing"]))  # type: ignore[arg-type]  # as `asdict` made it
    function(FORMATS[source.suffix].write)(source, placing, folder, report_progress)
    return {}, {}
