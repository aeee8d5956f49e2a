"""Placed graphs, written in one child."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from engine.child.parent import Limits, ReportProgress, Results, child_results, publish, require_size
from engine.errors import GraphError
from engine.events import Json
from engine.formats.format import PLACED_FILE, Placing
from engine.formats.reading import AS_IT_IS, order_of, source_of
from engine.formats.registry import FORMATS, format_of, function
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import require_suffix

SAVED_MODEL_SUFFIX = ".zip"
WRITING = "writing the placed graph"
NO_SAVED_MODEL = "only of a SavedModel a placed SavedModel can be written"


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
    GraphError where it has none. `options` are those with which it was prepared. Full device strings say job, replica
    and task where the placement does, and where it does not what the file says of them; `short` ones say
    `/device:TYPE:N` alone. Raises PlacementError for an op without a device, an op that is not in the graph, a device
    that is none, ops that must share a device and do not, and with `keep_pins` for an op on another device than the
    file fixes; GraphError and LimitError as reading does.
    """
    row = format_of(suffix)
    if not row.write:
        what = f"{row.words} holds no GraphDef"
        raise GraphError(what, where=suffix, allowed="the placement as JSON", field="file")
    if destination.suffix == SAVED_MODEL_SUFFIX != suffix:
        raise GraphError(NO_SAVED_MODEL, where=suffix, allowed="a placed GraphDef: .pb, .pbtxt", field="file")
    if destination.suffix != SAVED_MODEL_SUFFIX:
        require_suffix(destination.suffix, destination)
    require_size(source, limits)
    placing = Placing(device_of_op, destination.suffix, short, keep_pins)
    order = order_of(source, suffix, options, limits) | {"placing": dataclasses.asdict(placing)}
    with child_results(f"{__name__}:write_in_child", order, limits, task=WRITING) as (_, folder):
        publish(folder / PLACED_FILE, destination)


def write_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Read, check the placement, write."""
    source = source_of(order)
    placing = Placing(**cast(dict[str, Json], order["placing"]))  # type: ignore[arg-type]  # as `asdict` made it
    function(FORMATS[source.suffix].write)(source, placing, folder, report_progress)
    return {}, {}
