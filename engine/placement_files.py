"""Placements by name, {op: device}: made from a run's answer, simulated, and applied to a graph's file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Limits, ReportProgress, Results, require_size, run_in_child
from engine.clusters.cluster import Cluster
from engine.errors import PlacementError, shortened
from engine.events import Json
from engine.files.json_text import read_json, shown
from engine.formats.modules.files import devices_of_modules
from engine.formats.reading import AS_IT_IS
from engine.formats.writing import write_placed
from engine.graphs.constraints import Constraints
from engine.graphs.grouping.nesting import SplitPlacement
from engine.graphs.reading_options import ReadingOptions
from engine.prepared import PreparedGraph
from engine.problem.constrained import RunConstraints
from engine.simulator import Simulator
from engine.simulator.bound import lower_bound_us
from engine.simulator.streams.figures import fields_of_batch
from engine.simulator.streams.passes import require_stream
from engine.simulator.streams.stream import Stream
from engine.simulator.timeline import Timeline, timeline_to_trace

MOST_PLACEMENT_BYTES = 64 * 1024**2
UPLOAD_LIMITS = Limits(file_bytes=MOST_PLACEMENT_BYTES, memory_bytes=2 * 1024**3, seconds=60.0)
"""for a placement that anyone may upload"""


def placement_of_report(report: Mapping[str, Json]) -> SplitPlacement:
    """The placement from a run's report."""
    return SplitPlacement.from_json(report["device_of_group"], report.get("parts"))


def simplest_of_report(report: Mapping[str, Json]) -> SplitPlacement:
    """The simplest placement from the report of a run that found a placement which fits."""
    simplest = report["simplest"]
    assert isinstance(simplest, dict)
    return placement_of_report(simplest)


def placement_to_json(prepared: PreparedGraph, cluster: Cluster, placement: SplitPlacement) -> dict[str, str]:
    """{op name: device string} for `placement`."""
    return devices_to_json(prepared, cluster, prepared.device_of_op(placement))


def devices_to_json(prepared: PreparedGraph, cluster: Cluster, device_of_op: NDArray[np.integer]) -> dict[str, str]:
    """{op name: device string} for `device_of_op` [ops]."""
    names = [device.name for device in cluster.devices]
    return {op: names[device] for op, device in zip(prepared.graph.op_names, device_of_op.tolist(), strict=True)}


def simulate(
    prepared: PreparedGraph,
    cluster: Cluster,
    placements: list[Json],
    stream: Stream | None = None,
    constraints: Constraints | None = None,
) -> list[Json]:
    """A report (docs/formats.md) for each of `placements`, {op: device} of all ops. Raises PlacementError.

    With `stream` each says also what a batch takes; raises SettingsError where the graph lacks the stream's passes. One
    that breaks a rule of the graph's file or of `constraints` says which.
    """
    if not placements:
        raise PlacementError("an empty list", where="placement", allowed="at least one placement")
    device_of_op = np.stack([_device_of_op(prepared, cluster, placement) for placement in placements])
    evaluations = Simulator(prepared.graph, prepared.costs, cluster).evaluate(device_of_op)
    bound_us = lower_bound_us(prepared.graph, prepared.costs, cluster)
    rules = RunConstraints.of(prepared.graph, constraints or Constraints(), cluster)
    broken = [rules.broken_by(devices, cluster) for devices in device_of_op]
    nothing: list[dict[str, Json]] = [{} for _ in placements]
    of_streams = nothing if stream is None else _in_stream(prepared, cluster, device_of_op, stream)
    return [
        {
            "step_time_us": float(step_time_us),
            "peak_bytes": [int(peak) for peak in peaks],
            "lower_bound_us": bound_us,
            **of_stream,
            **({"breaks": sentence} if sentence else {}),
        }
        for step_time_us, peaks, of_stream, sentence in zip(
            evaluations.step_time_us, evaluations.peak_bytes, of_streams, broken, strict=True
        )
    ]


def _in_stream(
    prepared: PreparedGraph, cluster: Cluster, device_of_op: NDArray[np.int32], stream: Stream
) -> list[dict[str, Json]]:
    """The fields of a stream for each of `device_of_op` [placements, ops]; peaks are those of a batch."""
    require_stream(prepared.graph, stream)
    simulator = Simulator(prepared.graph, prepared.costs, cluster, stream=stream)
    found, samples = [], prepared.origin.samples
    for placement in device_of_op:
        batch = simulator.batch(placement)
        period_us = float(simulator.evaluate(placement[None, :]).step_time_us[0])
        peaks: dict[str, Json] = {"peak_bytes": batch.peak_bytes.tolist()}
        found.append(peaks | fields_of_batch(batch, stream, period_us, simulator.loads(placement), samples))
    return found


def apply(
    source: Path,
    suffix: str,
    placement: Json,
    destination: Path,
    limits: Limits,
    options: ReadingOptions = AS_IT_IS,
    *,
    short: bool = False,
    keep_pins: bool = True,
) -> None:
    """Write the graph in `source` with the devices of `placement`, JSON {op: device} of all its ops.

    See `formats.write_placed`. Raises PlacementError, GraphError and LimitError.
    """
    if not isinstance(placement, dict):
        raise PlacementError(f"it is {shown(placement)}", where="placement", allowed="JSON {op: device}")
    device_of_op: dict[str, str] = {}
    for op, device in placement.items():
        if not isinstance(device, str):
            what = f"its device is {shown(device)}"
            raise PlacementError(what, where=shortened(op), allowed="a text, such as /device:GPU:0")
        device_of_op[op] = device
    write_placed(source, suffix, device_of_op, destination, limits, options, short=short, keep_pins=keep_pins)


def simulated_step(prepared: PreparedGraph, cluster: Cluster, placement: Json) -> Timeline:
    """The timeline of one placement {op: device} of all ops. Raises PlacementError."""
    return Simulator(prepared.graph, prepared.costs, cluster).timeline(_device_of_op(prepared, cluster, placement))


def trace(prepared: PreparedGraph, cluster: Cluster, placement: Json) -> Json:
    """The timeline of one placement {op: device} as a Chrome trace."""
    timeline = simulated_step(prepared, cluster, placement)
    return timeline_to_trace(timeline, prepared.graph, prepared.costs, cluster, prepared.short_names().of_op)


def read_placement(
    prepared: PreparedGraph, cluster: Cluster, path: Path, limits: Limits = UPLOAD_LIMITS
) -> NDArray[np.int32]:
    """[ops] the devices of the placement JSON in `path`, which a child reads, since the file may hold anything.

    Raises PlacementError for a file that is no JSON {op: device} of all ops of the graph with devices of the cluster,
    and no device map or split of its modules; LimitError for one that exceeds the limits.
    """
    require_size(path, limits)
    arguments: dict[str, Json] = {"path": str(path.absolute()), "most_values": 2 * prepared.graph.op_count + 1000}
    _, texts = run_in_child(f"{__name__}:read_in_child", arguments, limits, task="reading the placement", reads=(path,))
    return _device_of_op(prepared, cluster, texts["placement"])


def read_in_child(arguments: Mapping[str, Any], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Read the JSON of a placement in the child process."""
    text = Path(arguments["path"]).read_bytes()
    return {}, {"placement": read_json(text, most_values=arguments["most_values"], error=PlacementError, field="file")}


def placement_of_names(prepared: PreparedGraph, cluster: Cluster, placement: Json) -> SplitPlacement:
    """`placement`, JSON {op: device} of all ops, by groups and parts.

    Raises PlacementError as `simulate` does, and for a group on several devices that a run could not split so.
    """
    return prepared.by_groups(_device_of_op(prepared, cluster, placement))


def pins_of_names(prepared: PreparedGraph, cluster: Cluster, pins: Mapping[str, str]) -> dict[int, int]:
    """{group: device} of {name of a group or of one of its ops: device string}.

    Raises PlacementError for a name or device that is not there, and for a group that is pinned to two devices.
    """
    device_of_name = {device.name: index for index, device in enumerate(cluster.devices)}
    group_of_name = (
        dict(zip(prepared.graph.op_names, prepared.grouping.group_of_op.tolist(), strict=True)) if pins else {}
    )
    group_of_name |= {name: group for group, name in enumerate(prepared.grouping.names)}
    found: dict[int, int] = {}
    for name, device in pins.items():
        if name not in group_of_name:
            raise PlacementError(
                "there is no such group or op", where=shortened(name), allowed="names of the graph", field="pins"
            )
        if device not in device_of_name:
            what, allowed = f"no such device: {shortened(device)}", ", ".join(device_of_name)
            raise PlacementError(what, where=shortened(name), allowed=allowed, field="pins")
        group = group_of_name[name]
        if found.setdefault(group, device_of_name[device]) != device_of_name[device]:
            what = f"its group is pinned to {cluster.devices[found[group]].name} too"
            raise PlacementError(what, where=shortened(name), allowed="one device for a group", field="pins")
    return found


def _device_of_op(prepared: PreparedGraph, cluster: Cluster, placement: Json) -> NDArray[np.int32]:
    """[ops] `placement`, of ops or of modules, as device indices. Raises PlacementError as `devices_of_names` does."""
    of_modules = devices_of_modules(prepared, cluster, placement)
    if of_modules is not None:
        return of_modules
    return devices_of_names(prepared.graph.op_names, [device.name for device in cluster.devices], placement)


def devices_of_names(ops: Sequence[str], devices: Sequence[str], placement: Json) -> NDArray[np.int32]:
    """[ops] the indices of the devices in `placement`.

    Raises PlacementError for a missing or unknown op, or an unknown device.
    """
    if not isinstance(placement, dict):
        raise PlacementError("no object", where="placement", allowed="JSON {op: device}", field="file")
    index = {name: number for number, name in enumerate(devices)}
    known = set(ops)
    for op, device in placement.items():
        if op not in known:
            raise PlacementError(
                "no such op in the graph", where=shortened(op), allowed=f"{len(known)} ops", field="file"
            )
        if not isinstance(device, str) or device not in index:
            raise PlacementError(
                f"no such device: {shortened(str(device))}",
                where=shortened(op),
                allowed=", ".join(index),
                field="file",
            )
    for op in ops:
        if op not in placement:
            raise PlacementError(
                "it is not placed", where=shortened(op), allowed="a device for every op of the graph", field="file"
            )
    return np.array([index[str(placement[op])] for op in ops], dtype=np.int32)
