"""The timeline of one step: spans of ops and transfers, which waited for which, memory; and its Chrome trace."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_CHANNELS, NO_DEVICE, Cluster, Contention
from engine.costs.costs import Costs, CostSource
from engine.costs.source_words import simulated_words, sources_of
from engine.events import Json
from engine.graphs.graph import CONTROL, ComputationGraph

NOT_WAITED = -1
NOT_SENT = -1
NO_OUTPUT = -1
"""of a holding that is no single output"""
DEVICES_PROCESS, LINKS_PROCESS, MEMORY_PROCESS = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Transfers:
    """The transfers of a step, by producer in topological order; each producer's control signal, then its outputs."""

    op: NDArray[np.int32]
    """[transfers] the producer"""
    output: NDArray[np.int32]
    """[transfers] index of the producer's output, or `CONTROL` for a signal"""
    source: NDArray[np.int32]
    """[transfers] the producer's device"""
    channel: NDArray[np.int64]
    """[transfers] what each occupies: its bus, the channel of a pair of devices, or, without contention, its own"""
    destination_offset: NDArray[np.int64]
    """[transfers + 1] into `destinations`"""
    destinations: NDArray[np.int32]
    """devices of the consumers that each transfer serves, ascending; with `bus` possibly several, else one"""
    start_us: NDArray[np.float64]
    """[transfers]"""
    end_us: NDArray[np.float64]
    """[transfers] when the bytes arrive; the link's rest comes after, or, with `sender`, the sender is free before"""
    bytes: NDArray[np.int64]
    """[transfers] bytes of one trip"""
    trips: NDArray[np.int64]
    """[transfers] how often each is made in the step; one span stands for all trips"""

    def __len__(self) -> int:
        return len(self.op)


@dataclass(frozen=True, slots=True)
class MemoryCurve:
    """A device's memory over time, constant between changes."""

    time_us: NDArray[np.float64]
    """[changes] ascending, the first is 0"""
    bytes: NDArray[np.int64]
    """[changes] bytes held from this time to the next"""


class Held(IntEnum):
    """What a device holds."""

    PERSISTENT = 0
    """variables, fed inputs and constants, during the whole step"""
    TEMPORARY = 1
    """an op's own room while it runs"""
    OUTPUT = 2
    """an output on its producer's device"""
    COPY = 3
    """an output on a consumer's device"""


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the devices hold from one moment to another; each holding begins at its start and is gone at its end."""

    held: NDArray[np.uint8]
    """[holdings] a `Held`"""
    op: NDArray[np.int32]
    """[holdings] the op whose bytes they are; of a copy the producer"""
    output: NDArray[np.int32]
    """[holdings] index of the op's output, or `NO_OUTPUT`"""
    device: NDArray[np.int32]
    """[holdings]"""
    start_us: NDArray[np.float64]
    """[holdings]"""
    end_us: NDArray[np.float64]
    """[holdings] infinite for persistent bytes"""
    bytes: NDArray[np.int64]
    """[holdings]"""


@dataclass(frozen=True, slots=True)
class Timeline:
    """One simulated step. An activity is an op (its index) or a transfer (ops + its index)."""

    step_time_us: float
    device_of_op: NDArray[np.int32]
    """[ops]"""
    start_us: NDArray[np.float64]
    """[ops]"""
    end_us: NDArray[np.float64]
    """[ops]"""
    transfers: Transfers
    transfer_of_edge: NDArray[np.int64]
    """[edges] the transfer that an edge of the executed part of the graph needs, or `NOT_SENT` on one device"""
    waited_for: NDArray[np.int64]
    """[ops + transfers] the activity whose end (and rest) decided the start, or `NOT_WAITED`: for an op its last input
    or the op before it on its device, for a transfer its producer or the transfer before it on its channel; with
    `sender` for both possibly a transfer that its device sends before"""
    last_input: NDArray[np.int64]
    """[ops] the activity that brought the last input, a transfer or an op of the same device; of an op of the optimizer
    also the last op of another phase on its device, if that ends later; or `NOT_WAITED`"""
    rest_after_us: NDArray[np.float64]
    """[ops + transfers] how long the device or the channel rests after each; after a transfer that occupies its sender
    until that is free again, negative where that is before the bytes arrive"""
    free_us: NDArray[np.float64]
    """[ops + transfers] when the device or the channel is free again: the end of the rest"""
    critical_path: NDArray[np.int64]
    """activities, each of which waited for the one before; the last one ends the step"""
    busy_us: NDArray[np.float64]
    """[devices] time in which ops ran"""
    rest_us: NDArray[np.float64]
    """[devices] time in which the device rested after ops, once a trip"""
    sending_us: NDArray[np.float64]
    """[devices] time in which the device was occupied by transfers; zero but with `sender` and `host`"""
    sends_occupy: bool
    """whether a transfer occupies its sender"""
    peak_bytes: NDArray[np.int64]
    """[devices]"""
    memory: tuple[MemoryCurve, ...]
    """[devices]"""
    holdings: Holdings
    """what the curves add up"""

    @property
    def occupied_device(self) -> NDArray[np.int32]:
        """[ops + transfers] the device that each keeps from others; `NO_DEVICE` for a transfer on a link."""
        senders = self.transfers.source if self.sends_occupy else np.full(len(self.transfers), NO_DEVICE, np.int32)
        return np.concatenate((self.device_of_op, senders))

    @property
    def busy_share(self) -> NDArray[np.float64]:
        """[devices] share of the step time in which ops ran."""
        return np.divide(self.busy_us, self.step_time_us, out=np.zeros_like(self.busy_us), where=self.step_time_us > 0)

    @property
    def idle_share(self) -> NDArray[np.float64]:
        """[devices] share of the step time in which the device neither ran, nor rested, nor sent."""
        idle = self.step_time_us - self.busy_us - self.rest_us - self.sending_us
        return np.divide(idle, self.step_time_us, out=np.ones_like(idle), where=self.step_time_us > 0)


def timeline_to_trace(
    timeline: Timeline,
    graph: ComputationGraph,
    costs: Costs,
    cluster: Cluster,
    short_names: Sequence[str] | None = None,
) -> Json:
    """The timeline as Chrome trace JSON for Perfetto: devices and links as tracks, memory as counters, times in µs.

    Spans have the `short_names` [ops] of their ops; where one is shorter, the name in the file is among the details.
    """
    events: list[Json] = []
    for process, name in ((DEVICES_PROCESS, "devices"), (LINKS_PROCESS, "links"), (MEMORY_PROCESS, "memory")):
        events.append({"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}})
        events.append({"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": process}})
    devices = [device.name for device in cluster.devices]
    events += [_thread_name(DEVICES_PROCESS, index, name) for index, name in enumerate(devices)]
    names = _activity_names(timeline, graph.op_names if short_names is None else short_names)
    events += _op_events(timeline, graph, costs, names)
    events += _transfer_events(timeline, graph, cluster, names)
    for name, curve in zip(devices, timeline.memory, strict=True):
        events += [
            {"ph": "C", "pid": MEMORY_PROCESS, "name": name, "ts": time_us, "args": {"bytes": held}}
            for time_us, held in zip(curve.time_us.tolist(), curve.bytes.tolist(), strict=True)
        ]
    about: Json = {
        "step_time_us": timeline.step_time_us,
        "step_time_source": simulated_words(sources_of(costs)),
    }
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": about}


def _thread_name(process: int, thread: int, name: str) -> Json:
    return {"ph": "M", "pid": process, "tid": thread, "name": "thread_name", "args": {"name": name}}


def _activity_names(timeline: Timeline, op_names: Sequence[str]) -> list[str]:
    """[ops + transfers] names of ops; transfers as `op:output`, signals as `^op`, as TensorFlow writes them."""
    names = list(op_names)
    for op, output in zip(timeline.transfers.op.tolist(), timeline.transfers.output.tolist(), strict=True):
        names.append(f"^{names[op]}" if output == CONTROL else f"{names[op]}:{output}")
    return names


def _op_events(timeline: Timeline, graph: ComputationGraph, costs: Costs, names: Sequence[str]) -> list[Json]:
    critical = set(timeline.critical_path.tolist())
    events: list[Json] = []
    for op, (device, start_us, end_us, awaited, source) in enumerate(
        zip(
            timeline.device_of_op.tolist(),
            timeline.start_us.tolist(),
            timeline.end_us.tolist(),
            timeline.waited_for[: graph.op_count].tolist(),
            costs.source.tolist(),
            strict=True,
        )
    ):
        details: dict[str, Json] = {
            "type": graph.op_types[op],
            "critical": op in critical,
            "time source": CostSource(source).name.lower(),
        }
        details |= _whole_name(graph, op, names)
        if awaited != NOT_WAITED:
            details["waited for"] = names[awaited]
        events.append(_span(DEVICES_PROCESS, device, names[op], start_us, end_us, details))
    return events


def _whole_name(graph: ComputationGraph, op: int, names: Sequence[str]) -> dict[str, Json]:
    """The op's name in the file, for the details of a span; empty where its span has it."""
    return {"op": graph.op_names[op]} if names[op] != graph.op_names[op] else {}


def _transfer_events(timeline: Timeline, graph: ComputationGraph, cluster: Cluster, names: Sequence[str]) -> list[Json]:
    """The transfers' spans, one track a channel; without channels they overlap and are asynchronous spans."""
    transfers = timeline.transfers
    devices = [device.name for device in cluster.devices]
    critical = set(timeline.critical_path.tolist())
    tracks: dict[tuple[int, ...], int] = {}
    events: list[Json] = []
    for index in range(len(transfers)):
        source = int(transfers.source[index])
        to = transfers.destinations[transfers.destination_offset[index] : transfers.destination_offset[index + 1]]
        channel: tuple[int, ...] = (source,) if cluster.contention == Contention.BUS else (source, int(to[0]))
        track = tracks.setdefault(channel, len(tracks))
        details: dict[str, Json] = {
            "bytes": int(transfers.bytes[index]),
            "from": devices[source],
            "to": ", ".join(devices[device] for device in to),
            "critical": graph.op_count + index in critical,
            **_whole_name(graph, int(transfers.op[index]), names),
        }
        if transfers.trips[index] != 1:
            details["times"] = int(transfers.trips[index])
        start_us, end_us = float(transfers.start_us[index]), float(transfers.end_us[index])
        span = _span(LINKS_PROCESS, track, names[graph.op_count + index], start_us, end_us, details)
        events += _asynchronous(span, index, end_us) if cluster.contention in NO_CHANNELS else [span]
    for ends, track in tracks.items():
        events.append(_thread_name(LINKS_PROCESS, track, " → ".join(devices[device] for device in ends)))
    return events


def _span(
    process: int, thread: int, name: str, start_us: float, end_us: float, details: dict[str, Json]
) -> dict[str, Json]:
    return {
        "ph": "X",
        "pid": process,
        "tid": thread,
        "name": name,
        "ts": start_us,
        "dur": end_us - start_us,
        "args": details,
    }


def _asynchronous(span: dict[str, Json], index: int, end_us: float) -> list[Json]:
    """The span as a begin and an end event, which may overlap with other spans."""
    begin = {key: value for key, value in span.items() if key != "dur"} | {"ph": "b", "cat": "transfer", "id": index}
    end = {key: value for key, value in begin.items() if key != "args"} | {"ph": "e", "ts": end_us}
    return [begin, end]
