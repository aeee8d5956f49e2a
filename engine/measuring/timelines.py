"""A measured and a simulated step as one Chrome trace, device beside device and link beside link."""

from collections.abc import Iterator, Sequence

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.events import Json
from engine.graphs.graph import ComputationGraph
from engine.measuring.step_difference import ADDED
from engine.measuring.step_record import StepRecord
from engine.simulator.timeline import DEVICES_PROCESS, LINKS_PROCESS, MEMORY_PROCESS, Timeline, timeline_to_trace

MEASURED_DEVICES_PROCESS, MEASURED_LINKS_PROCESS = 11, 12
PROCESSES = {
    MEASURED_DEVICES_PROCESS: "measured devices",
    DEVICES_PROCESS: "simulated devices",
    MEASURED_LINKS_PROCESS: "measured transfers",
    LINKS_PROCESS: "simulated links",
    MEMORY_PROCESS: "simulated memory",
}
"""the trace's processes, from the top"""


def timelines_to_trace(
    measured: StepRecord, timeline: Timeline, graph: ComputationGraph, costs: Costs, cluster: Cluster
) -> Json:
    """The trace of `simulate --trace` with the measured step beside it; both begin at 0, times in µs."""
    simulated = timeline_to_trace(timeline, graph, costs, cluster)
    assert isinstance(simulated, dict) and isinstance(simulated["traceEvents"], list)
    assert isinstance(simulated["otherData"], dict)
    events: list[Json] = [*_names_of_processes(), *filter(_is_of_a_track, simulated["traceEvents"])]
    events += _measured_ops(measured, graph, cluster)
    events += _measured_transfers(measured, graph, cluster)
    about = simulated["otherData"] | {"traced_step_time_us": measured.step_time_us}
    return simulated | {"traceEvents": events, "otherData": about}


def _names_of_processes() -> Iterator[Json]:
    for place, (process, name) in enumerate(PROCESSES.items()):
        yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
        yield {"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": place}}


def _is_of_a_track(event: Json) -> bool:
    """Whether an event is no name of a process."""
    return isinstance(event, dict) and event["name"] not in ("process_name", "process_sort_index")


def _track_name(process: int, track: int, name: str) -> Json:
    return {"ph": "M", "pid": process, "tid": track, "name": "thread_name", "args": {"name": name}}


def _measured_ops(measured: StepRecord, graph: ComputationGraph, cluster: Cluster) -> Iterator[Json]:
    for index, device in enumerate(cluster.devices):
        yield _track_name(MEASURED_DEVICES_PROCESS, index, device.name)
    names = _names(measured, graph)
    ran = measured.ran
    for op, device, start_us, time_us in zip(
        ran.op.tolist(), ran.device.tolist(), ran.start_us.tolist(), ran.time_us.tolist(), strict=True
    ):
        yield {
            "ph": "X",
            "pid": MEASURED_DEVICES_PROCESS,
            "tid": device,
            "name": names[op],
            "ts": start_us,
            "dur": time_us,
            "args": {"type": graph.op_types[op] if op < graph.op_count else ADDED},
        }


def _measured_transfers(measured: StepRecord, graph: ComputationGraph, cluster: Cluster) -> Iterator[Json]:
    """Asynchronous spans, since transfers of a link overlap: a track for each link."""
    names, devices = _names(measured, graph), [device.name for device in cluster.devices]
    sent = measured.sent
    tracks: dict[tuple[int, int], int] = {}
    for index, (op, source, target, start_us, end_us, size) in enumerate(
        zip(
            sent.op.tolist(),
            sent.source.tolist(),
            sent.device.tolist(),
            sent.start_us.tolist(),
            sent.end_us.tolist(),
            sent.bytes.tolist(),
            strict=True,
        )
    ):
        track = tracks.setdefault((source, target), len(tracks))
        span: dict[str, Json] = {"pid": MEASURED_LINKS_PROCESS, "tid": track, "cat": "measured transfer", "id": index}
        details: Json = {"bytes": size, "from": devices[source], "to": devices[target]}
        yield {**span, "ph": "b", "name": names[op], "ts": start_us, "args": details}
        yield {**span, "ph": "e", "name": names[op], "ts": end_us}
    for (source, target), track in tracks.items():
        yield _track_name(MEASURED_LINKS_PROCESS, track, f"{devices[source]} → {devices[target]}")


def _names(measured: StepRecord, graph: ComputationGraph) -> Sequence[str]:
    return [*graph.op_names, *measured.added]
