"""The critical chain of a step: from what ends it back along the last inputs, cut into segments by cause."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.simulator.timeline import NOT_WAITED, Timeline


class Cause(IntEnum):
    """What a segment of the critical chain is spent on."""

    COMPUTE = 0
    """an op of the chain runs"""
    TRANSFER = 1
    """its output is on a link"""
    LINK = 2
    """the latency of the link, and its rest after the transfer before"""
    REST = 3
    """the rest of a device after the op before"""
    QUEUE = 4
    """an op or a transfer of the chain is ready, but others run first on its device or link"""


@dataclass(frozen=True, slots=True)
class Chain:
    """The segments, without gaps from 0 to the step time: each begins where the last one ends."""

    activity: NDArray[np.int64]
    """[segments] the op, or ops + index of the transfer, that runs or waits"""
    behind: NDArray[np.int64]
    """[segments] the activity that ran just before it in its queue, while it waits or the device or link rests; else
    `NOT_WAITED`"""
    cause: NDArray[np.uint8]
    """[segments] a `Cause`"""
    start_us: NDArray[np.float64]
    """[segments]"""
    end_us: NDArray[np.float64]
    """[segments]"""

    def sum_us(self) -> NDArray[np.float64]:
        """[causes] the time of each cause; all together are the step time."""
        return np.bincount(self.cause, self.end_us - self.start_us, len(Cause)).astype(np.float64)


def chain_of(timeline: Timeline, cluster: Cluster) -> Chain:
    """The critical chain of `timeline`: the activity that ends the step, what brought its last input, and so on."""
    ops = len(timeline.last_input)
    links = _links(timeline)
    start_us = np.concatenate((timeline.start_us, timeline.transfers.start_us))[links]
    end_us = np.concatenate((timeline.end_us, timeline.transfers.end_us))[links]
    ready_us = np.append(0.0, end_us[:-1])
    is_transfer = links >= ops
    behind = timeline.waited_for[links]
    waits = (start_us > ready_us) & (behind != NOT_WAITED)
    rest_us = np.where(waits, np.maximum(timeline.rest_after_us[behind], 0.0), 0.0)
    free_us = np.maximum(ready_us, start_us - rest_us)
    latency_us = np.append(np.zeros(ops), _latencies_us(timeline, cluster))[links]
    sent_us = np.minimum(start_us + latency_us, end_us)

    link, queue = np.full(len(links), Cause.LINK), np.full(len(links), Cause.QUEUE)
    rest = np.where(is_transfer, Cause.LINK, Cause.REST)
    itself = np.where(is_transfer, Cause.TRANSFER, Cause.COMPUTE)
    nobody = np.full(len(links), NOT_WAITED)
    cause = np.append(np.stack((queue, rest, link, itself), axis=1).ravel(), rest[-1])
    whom = np.append(np.stack((behind, behind, nobody, nobody), axis=1).ravel(), links[-1])
    edge_us = np.append(np.stack((ready_us, free_us, start_us, sent_us), axis=1).ravel(), end_us[-1])
    until_us = np.append(edge_us[1:], max(float(end_us[-1]), timeline.step_time_us))
    activity = np.append(np.repeat(links, 4), links[-1])
    lasts = until_us > edge_us
    return Chain(activity[lasts], whom[lasts], cause[lasts].astype(np.uint8), edge_us[lasts], until_us[lasts])


def _links(timeline: Timeline) -> NDArray[np.int64]:
    """[links] the activities of the chain in order of time: ops, and the transfers between devices."""
    ops = len(timeline.last_input)
    links = [int(timeline.critical_path[-1])]
    while True:
        current = links[-1]
        before = int(timeline.transfers.op[current - ops] if current >= ops else timeline.last_input[current])
        if before == NOT_WAITED:
            return np.array(links[::-1], dtype=np.int64)
        links.append(before)


def _latencies_us(timeline: Timeline, cluster: Cluster) -> NDArray[np.float64]:
    """[transfers] the part of each transfer that is the latency of its slowest link, once a trip."""
    transfers = timeline.transfers
    index = np.repeat(np.arange(len(transfers)), np.diff(transfers.destination_offset))
    source, to = transfers.source[index], transfers.destinations
    latency_us = cluster.latency_us[source, to]
    each_us = latency_us + transfers.bytes[index] / cluster.bandwidth_bytes_per_us[source, to]
    slowest = np.lexsort((each_us, index))[transfers.destination_offset[1:] - 1]
    return np.asarray(latency_us[slowest] * transfers.trips)
