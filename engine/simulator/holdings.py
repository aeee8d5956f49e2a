"""What each device holds over a step, from when to when, and the curves of memory that the holdings add up to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, MemoryModel
from engine.costs.costs import Costs
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.simulator.passed_buffers import NOT_PASSED, passing_edges, roots
from engine.simulator.timeline import NO_OUTPUT, NOT_SENT, Held, Holdings, MemoryCurve, Transfers


class ExecutedStep(Protocol):
    """The fields of a simulated step that the holdings need."""

    graph: ComputationGraph
    costs: Costs
    cluster: Cluster
    device_of_op: NDArray[np.int32]
    start_us: NDArray[np.float64]
    time_us: NDArray[np.float64]
    end_us: NDArray[np.float64]
    transfers: Transfers
    transfer_of_edge: NDArray[np.int64]
    sent_us: NDArray[np.float64]
    """[transfers] when each needs its output on the producer's device no more"""


@dataclass(slots=True)
class GivenStep:
    """An `ExecutedStep` put together from its parts."""

    graph: ComputationGraph
    costs: Costs
    cluster: Cluster
    device_of_op: NDArray[np.int32]
    start_us: NDArray[np.float64]
    time_us: NDArray[np.float64]
    end_us: NDArray[np.float64]
    transfers: Transfers
    transfer_of_edge: NDArray[np.int64]
    sent_us: NDArray[np.float64]


def holdings_of(step: "ExecutedStep") -> Holdings:
    """The holdings by the cluster's memory model."""
    return HOLDINGS_BY_MODEL[step.cluster.memory_model](step)


class _Collected:
    """Holdings, part by part."""

    def __init__(self) -> None:
        self._parts: list[Holdings] = []

    def add(
        self,
        held: Held,
        op: NDArray[np.integer],
        output: NDArray[np.integer] | int,
        device: NDArray[np.integer],
        start_us: NDArray[np.float64],
        end_us: NDArray[np.float64],
        held_bytes: NDArray[np.int64],
    ) -> None:
        """Add those that have bytes."""
        some = held_bytes != 0
        self._parts.append(
            Holdings(
                held=np.full(int(some.sum()), held, np.uint8),
                op=op[some].astype(np.int32),
                output=np.broadcast_to(output, len(op))[some].astype(np.int32),
                device=device[some].astype(np.int32),
                start_us=start_us[some],
                end_us=end_us[some],
                bytes=held_bytes[some],
            )
        )

    def holdings(self) -> Holdings:
        return joined_holdings(self._parts)


def joined_holdings(parts: Sequence[Holdings]) -> Holdings:
    """All holdings of `parts`, of which there is one at least, in their order."""
    return Holdings(
        held=np.concatenate([part.held for part in parts]),
        op=np.concatenate([part.op for part in parts]),
        output=np.concatenate([part.output for part in parts]),
        device=np.concatenate([part.device for part in parts]),
        start_us=np.concatenate([part.start_us for part in parts]),
        end_us=np.concatenate([part.end_us for part in parts]),
        bytes=np.concatenate([part.bytes for part in parts]),
    )


def curves_of(holdings: Holdings, devices: int) -> tuple[MemoryCurve, ...]:
    """[devices] the sum of the holdings over time; all changes of one moment are applied together."""
    device = np.concatenate((holdings.device, holdings.device))
    time_us = np.concatenate((holdings.start_us, holdings.end_us))
    change = np.concatenate((holdings.bytes, -holdings.bytes))
    curves = []
    for index in range(devices):
        there = (device == index) & np.isfinite(time_us)
        times, place = np.unique(np.concatenate(([0.0], time_us[there])), return_inverse=True)
        changes = np.zeros(len(times), dtype=np.int64)
        np.add.at(changes, place, np.concatenate(([0], change[there])))
        curves.append(MemoryCurve(times, np.cumsum(changes)))
    return tuple(curves)


def full_holdings(step: ExecutedStep) -> Holdings:
    """The holdings of the memory model `full`."""
    return joined_holdings([persistent_holdings(step), passing_holdings(step)])


def passing_holdings(step: ExecutedStep, kept_until_us: NDArray[np.float64] | None = None) -> Holdings:
    """What the memory model `full` holds for a part of the step: temporaries, outputs and copies.

    No output is freed before `kept_until_us` [all outputs].
    """
    ops, device = np.arange(step.graph.op_count), step.device_of_op
    collected = _Collected()
    collected.add(Held.TEMPORARY, ops, NO_OUTPUT, device, step.start_us, step.end_us, step.costs.temporary_bytes)
    owner = np.repeat(ops, np.diff(step.costs.output_offset))
    output = np.arange(len(owner)) - step.costs.output_offset[owner]
    copies = _Copies(step)
    least_us = step.end_us[owner] if kept_until_us is None else np.maximum(step.end_us[owner], kept_until_us)
    until_us = _until(step, least_us, copies)
    of_outputs, of_copies = until_us[: len(owner)], until_us[len(owner) :]
    collected.add(Held.OUTPUT, owner, output, device[owner], step.start_us[owner], of_outputs, step.costs.new_bytes())
    made, of = step.transfers, copies.transfer
    collected.add(Held.COPY, made.op[of], made.output[of], copies.device, made.end_us[of], of_copies, made.bytes[of])
    return collected.holdings()


class _Copies:
    """The copies of outputs on other devices, each from its arrival until the last op there that needs it has ended."""

    def __init__(self, step: ExecutedStep) -> None:
        sent = np.flatnonzero(step.transfer_of_edge >= 0)
        ends = np.stack((step.transfer_of_edge[sent], step.device_of_op[step.graph.edge_target[sent]]))
        (self.transfer, self.device), copy = np.unique(ends, axis=1, return_inverse=True)
        self.of_edge = np.full(step.graph.edge_count, NOT_SENT, dtype=np.int64)
        """[edges] the copy that the consumer takes, or `NOT_SENT`"""
        self.of_edge[sent] = copy.ravel()


def _until(step: ExecutedStep, least_us: NDArray[np.float64], copies: _Copies) -> NDArray[np.float64]:
    """[all outputs + copies] when the last consumer there and of an output its last transfer have ended.

    An output is needed until `least_us` [all outputs] at least.

    A buffer that ops on its device pass on is needed as long as any output that shares it.
    """
    until = np.concatenate((least_us, np.zeros(len(copies.transfer))))
    data = step.graph.edge_output != CONTROL
    output = step.costs.output_offset[step.graph.edge_source] + step.graph.edge_output
    buffer_of_edge = np.where(copies.of_edge < 0, output, len(least_us) + copies.of_edge)
    taken = data | (copies.of_edge >= 0)
    np.maximum.at(until, buffer_of_edge[taken], step.end_us[step.graph.edge_target[taken]])
    sent = data & (step.transfer_of_edge >= 0)
    np.maximum.at(until, output[sent], step.sent_us[step.transfer_of_edge[sent]])
    parents = np.arange(len(until))
    edges = passing_edges(step.graph, step.costs)
    passing = np.flatnonzero(edges != NOT_PASSED)
    parents[passing] = buffer_of_edge[edges[passing]]
    np.maximum.at(until, roots(parents), until.copy())
    return until


def persistent_holdings(step: ExecutedStep) -> Holdings:
    """The holdings of the memory model `persistent`."""
    ops, collected = np.arange(step.graph.op_count), _Collected()
    from_the_start, for_ever = np.zeros(len(ops)), np.full(len(ops), np.inf)
    kept = step.costs.kept_bytes()
    collected.add(Held.PERSISTENT, ops, NO_OUTPUT, step.device_of_op, from_the_start, for_ever, kept)
    return collected.holdings()


def published_holdings(step: ExecutedStep) -> Holdings:
    """The holdings of the memory model `outputs`: see published_peaks.py.

    The last moment belongs to a holding, so that its half-open interval ends at the next number.
    """
    last = step.start_us.copy()
    target = step.graph.edge_target
    np.maximum.at(last, step.graph.edge_source, np.trunc(step.start_us[target]) + np.trunc(step.time_us[target]) - 1)
    collected, ops = _Collected(), np.arange(step.graph.op_count)
    end_us = np.nextafter(last, np.inf)
    collected.add(Held.OUTPUT, ops, NO_OUTPUT, step.device_of_op, step.start_us, end_us, step.costs.bytes_of_op())
    return collected.holdings()


HOLDINGS_BY_MODEL: Mapping[MemoryModel, Callable[[ExecutedStep], Holdings]] = {
    MemoryModel.FULL: full_holdings,
    MemoryModel.OUTPUTS: published_holdings,
    MemoryModel.PERSISTENT: persistent_holdings,
}
