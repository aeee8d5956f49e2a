"""The memory that the simulator counts if each op and each transfer takes place when it was measured.

What the simulated peak differs from this is due to the order and the times of ops; the rest of the difference from the
measured peak is due to what is counted: buffers that ops share, the allocator's rounding.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.graphs.graph import ComputationGraph
from engine.measuring.step_record import Spans, StepRecord
from engine.simulator.executed import executed_part
from engine.simulator.holdings import GivenStep, curves_of, holdings_of
from engine.simulator.timeline import Timeline, Transfers


def peaks_in_measured_order(
    measured: StepRecord, timeline: Timeline, graph: ComputationGraph, costs: Costs, cluster: Cluster
) -> list[int]:
    """[devices] the peaks of memory in bytes; `timeline` is the simulated step of the same placement.

    Ops that were not traced take no time, nor do transfers that were not.
    """
    part, costs_of_part = executed_part(graph, costs)
    start_us, end_us = _when(measured.ran, measured.ran.op, graph.op_count)
    transfers = _measured_transfers(measured, timeline.transfers, end_us, cluster.device_count)
    step = GivenStep(
        graph=part,
        costs=costs_of_part,
        cluster=cluster,
        device_of_op=timeline.device_of_op,
        start_us=start_us,
        time_us=end_us - start_us,
        end_us=end_us,
        transfers=transfers,
        transfer_of_edge=timeline.transfer_of_edge,
        sent_us=transfers.end_us,
    )
    return [int(curve.bytes.max()) for curve in curves_of(holdings_of(step), cluster.device_count)]


def _measured_transfers(
    measured: StepRecord, simulated: Transfers, end_us: NDArray[np.float64], devices: int
) -> Transfers:
    """The simulated transfers at the times of those measured from the same op to the same device.

    A trace names no outputs: those of one op go to a device from the first start to the last end. Signals hold nothing.
    """
    sent = measured.sent.part(measured.sent.bytes > 0)
    starts_us, ends_us = _when(sent, sent.op * devices + sent.device, len(end_us) * devices)
    first = simulated.destinations[simulated.destination_offset[:-1]]
    key = simulated.op.astype(np.int64) * devices + first
    made_us = end_us[simulated.op]
    traced = ends_us[key] > 0
    return replace(
        simulated,
        start_us=np.where(traced, starts_us[key], made_us),
        end_us=np.where(traced, ends_us[key], made_us),
    )


def _when(spans: Spans, key: NDArray[np.int64], keys: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[keys] when the first span of each key begins, and when the last one ends; 0 for keys without spans."""
    start_us, end_us = np.full(keys, np.inf), np.zeros(keys)
    known = key < keys  # others are of ops that TensorFlow added
    np.minimum.at(start_us, key[known], spans.start_us[known])
    np.maximum.at(end_us, key[known], spans.end_us[known])
    return np.where(np.isinf(start_us), 0.0, start_us), end_us
