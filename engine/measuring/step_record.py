"""One step as spans of ops and of transfers, in one form for a measured step and for a simulated one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from engine.graphs.tensorflow.messages import Message
from engine.simulator.timeline import Timeline

RECEIVED = "RecvTensor"
_LABEL = re.compile(r"\[[^\]]*\] \[[^\]]*\] edge_\d+_(?P<op>.*) from (?P<source>\S+) to \S+\Z")
"""the label of a transfer. Source: RecordRecvTensor of grpc_worker_cache's logger, GetSendRecvTensorName"""


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans of time in which ops ran, or in which bytes were under way."""

    op: NDArray[np.int64]
    """[spans] the op that ran, or whose output or signal was sent; behind the graph's ops come `StepRecord.added`"""
    device: NDArray[np.int64]
    """[spans] where it ran, or where the bytes went"""
    start_us: NDArray[np.float64]
    """[spans] since the beginning of the step"""
    end_us: NDArray[np.float64]
    """[spans]"""

    @property
    def time_us(self) -> NDArray[np.float64]:
        """[spans] how long each took."""
        return self.end_us - self.start_us

    def part(self, chosen: NDArray[np.bool_]) -> Self:
        """Those that are chosen, [spans]."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in self.__dataclass_fields__})

    def on(self, device: int) -> Self:
        """Those of one device."""
        return self.part(self.device == device)


@dataclass(frozen=True, slots=True)
class Sent(Spans):
    """Transfers: one span for each destination; `device` is the destination."""

    source: NDArray[np.int64]
    """[spans] the device that sent"""
    bytes: NDArray[np.int64]
    """[spans] of all trips"""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step."""

    step_time_us: float
    ran: Spans
    sent: Sent
    rest_after_us: NDArray[np.float64]
    """[spans of ops] how long the device rested after each; zero where measured"""
    added: tuple[str, ...] = ()
    """names of ops that TensorFlow added to the graph, whose numbers come behind those of the graph's ops"""


def simulated_record(timeline: Timeline) -> StepRecord:
    """A simulated step; a transfer that serves several devices has a span for each."""
    ops = np.arange(len(timeline.start_us))
    ran = Spans(ops, timeline.device_of_op.astype(np.int64), timeline.start_us, timeline.end_us)
    made = timeline.transfers
    of = np.repeat(np.arange(len(made)), np.diff(made.destination_offset))
    sent = Sent(
        op=made.op[of].astype(np.int64),
        device=made.destinations.astype(np.int64),
        start_us=made.start_us[of],
        end_us=made.end_us[of],
        source=made.source[of].astype(np.int64),
        bytes=(made.bytes * made.trips)[of],
    )
    return StepRecord(timeline.step_time_us, ran, sent, timeline.rest_after_us[: len(ops)])


def covered_us(start_us: NDArray[np.float64], end_us: NDArray[np.float64]) -> float:
    """The time that spans [spans] cover together, each moment once."""
    if not len(start_us):
        return 0.0
    order = np.argsort(start_us, kind="stable")
    reached_us = np.maximum.accumulate(end_us[order])
    gaps_us = np.maximum(start_us[order][1:] - reached_us[:-1], 0.0)
    return float(reached_us[-1] - start_us[order[0]] - gaps_us.sum())


def arrays_of(
    stats: Message, devices: Sequence[str], began_ns: int
) -> tuple[dict[str, NDArray[np.generic]], list[str]]:
    """The spans in a StepStats, in µs since the step's beginning `began_ns`, and the names that they refer to.

    `ran` [spans, 2] is the op and the device, `ran_us` [spans, 2] the start and the end; `sent` [spans, 4] is the
    producer, the destination, the source and the bytes, `sent_us` [spans, 2] as above.
    """
    device_of_name = {name: index for index, name in enumerate(devices)}
    number_of_name: dict[str, int] = {}
    ran, ran_ns, sent, sent_ns = [], [], [], []
    for of_device in stats.dev_stats:
        if of_device.device not in device_of_name:
            continue
        device = device_of_name[of_device.device]
        for record in of_device.node_stats:
            if record.node_name == RECEIVED:
                label = _LABEL.match(record.timeline_label)
                assert label is not None
                op = number_of_name.setdefault(label["op"], len(number_of_name))
                sent.append((op, device, device_of_name[label["source"]], _bytes_sent(record)))
                start_ns = 1000 * record.all_start_micros
                sent_ns.append((start_ns, start_ns + 1000 * record.all_end_rel_micros))
            else:
                ran.append((number_of_name.setdefault(record.node_name, len(number_of_name)), device))
                start_ns = record.all_start_nanos
                ran_ns.append((start_ns + record.op_start_rel_nanos, start_ns + record.op_end_rel_nanos))
    return {
        "ran": np.array(ran, dtype=np.int64).reshape(-1, 2),
        "ran_us": (np.array(ran_ns, dtype=np.int64).reshape(-1, 2) - began_ns) / 1000,
        "sent": np.array(sent, dtype=np.int64).reshape(-1, 4),
        "sent_us": (np.array(sent_ns, dtype=np.int64).reshape(-1, 2) - began_ns) / 1000,
    }, list(number_of_name)


class TracedStep(NamedTuple):
    """One traced step: its duration for the session, and the arrays and names of `arrays_of`."""

    seconds: float
    arrays: dict[str, NDArray[np.generic]]
    names: list[str]


def median_whole(steps: Sequence[TracedStep]) -> TracedStep:
    """The median one in duration, the shorter of two, of those of `steps` with the most traced transfers.

    All are steps of one graph, which makes the same transfers in each.
    """
    most = max(len(step.arrays["sent"]) for step in steps)
    whole = sorted((step for step in steps if len(step.arrays["sent"]) == most), key=lambda step: step.seconds)
    return whole[(len(whole) - 1) // 2]


def _bytes_sent(record: Message) -> int:
    """The bytes of a transfer, which its label rounds."""
    return sum(int(output.tensor_description.allocation_description.requested_bytes) for output in record.output)


def measured_record(
    arrays: Mapping[str, NDArray[np.generic]], names: Sequence[str], op_names: Sequence[str]
) -> StepRecord:
    """A traced step of a graph with the ops `op_names`, from the arrays and the names of `arrays_of`."""
    number = {name: index for index, name in enumerate(op_names)}
    added = [name for name in names if name not in number]
    number |= {name: len(op_names) + index for index, name in enumerate(added)}
    op_of_name = np.array([number[name] for name in names], dtype=np.int64)
    ran, sent = arrays["ran"].astype(np.int64), arrays["sent"].astype(np.int64)
    ran_us, sent_us = arrays["ran_us"].astype(np.float64), arrays["sent_us"].astype(np.float64)
    return StepRecord(
        step_time_us=float(arrays["traced_us"].astype(np.float64)[0]),
        ran=Spans(op_of_name[ran[:, 0]], ran[:, 1], ran_us[:, 0], ran_us[:, 1]),
        sent=Sent(op_of_name[sent[:, 0]], sent[:, 1], sent_us[:, 0], sent_us[:, 1], sent[:, 2], sent[:, 3]),
        rest_after_us=np.zeros(len(ran)),
        added=tuple(added),
    )
