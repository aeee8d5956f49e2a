"""Curves of each device's memory over a step, as sums of the bytes held from one moment to another."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.simulator.timeline import MemoryCurve, Transfers


class ExecutedStep(Protocol):
    """The fields of a simulated step that the curves need."""

    graph: ComputationGraph
    costs: Costs
    cluster: Cluster
    device_of_op: NDArray[np.int32]
    start_us: NDArray[np.float64]
    time_us: NDArray[np.float64]
    end_us: NDArray[np.float64]
    transfers: Transfers
    transfer_of_edge: NDArray[np.int64]


class _Holdings:
    """Bytes that devices hold in half-open intervals."""

    def __init__(self) -> None:
        self.changes: list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]] = []

    def add(
        self,
        device: NDArray[np.int64],
        start_us: NDArray[np.float64],
        end_us: NDArray[np.float64],
        held: NDArray[np.int64],
    ) -> None:
        self.changes += [(device, start_us, held), (device, end_us, -held)]

    def curves(self, devices: int) -> tuple[MemoryCurve, ...]:
        """[devices] the sum of the holdings over time; all changes of one moment are applied together."""
        device = np.concatenate([change[0] for change in self.changes])
        time_us = np.concatenate([change[1] for change in self.changes])
        change = np.concatenate([change[2] for change in self.changes])
        curves = []
        for index in range(devices):
            there = (device == index) & (change != 0) & np.isfinite(time_us)
            times, place = np.unique(np.concatenate(([0.0], time_us[there])), return_inverse=True)
            changes = np.zeros(len(times), dtype=np.int64)
            np.add.at(changes, place, np.concatenate(([0], change[there])))
            curves.append(MemoryCurve(times, np.cumsum(changes)))
        return tuple(curves)


def full_curves(step: ExecutedStep) -> tuple[MemoryCurve, ...]:
    """[devices] the curves of the memory model `full`."""
    ops = step.graph.op_count
    device = step.device_of_op.astype(np.int64)
    holdings = _Holdings()
    forever = np.full(ops, np.inf)
    holdings.add(device, np.zeros(ops), forever, step.costs.persistent_bytes)
    holdings.add(device, step.start_us, step.end_us, step.costs.temporary_bytes)
    owner = np.repeat(np.arange(ops), np.diff(step.costs.output_offset))
    holdings.add(device[owner], step.start_us[owner], _outputs_until(step, owner), step.costs.output_bytes)
    _add_copies(step, holdings)
    return holdings.curves(step.cluster.device_count)


def _outputs_until(step: ExecutedStep, owner: NDArray[np.int64]) -> NDArray[np.float64]:
    """[all outputs] the time when the op, its last consumer on its device and its last transfer have ended."""
    until = step.end_us[owner]
    data = step.graph.edge_output != CONTROL
    output = step.costs.output_offset[step.graph.edge_source] + step.graph.edge_output
    local = data & (step.transfer_of_edge < 0)
    np.maximum.at(until, output[local], step.end_us[step.graph.edge_target[local]])
    sent = data & (step.transfer_of_edge >= 0)
    np.maximum.at(until, output[sent], step.transfers.end_us[step.transfer_of_edge[sent]])
    return until


def _add_copies(step: ExecutedStep, holdings: _Holdings) -> None:
    """Add the copies: each is on its device from arrival until the last consumer there has ended."""
    sent = np.flatnonzero(step.transfer_of_edge >= 0)
    transfer, target = step.transfer_of_edge[sent], step.graph.edge_target[sent]
    copies, copy = np.unique(np.stack((transfer, step.device_of_op[target])), axis=1, return_inverse=True)
    until = np.zeros(copies.shape[1])
    np.maximum.at(until, copy.ravel(), step.end_us[target])
    holdings.add(copies[1], step.transfers.end_us[copies[0]], until, step.transfers.bytes[copies[0]])


def published_curves(step: ExecutedStep) -> tuple[MemoryCurve, ...]:
    """[devices] the curves of the memory model `outputs`, in whole µs: see event_loop.py."""
    first = np.trunc(step.start_us)
    last = first.copy()
    target = step.graph.edge_target
    np.maximum.at(last, step.graph.edge_source, np.trunc(step.start_us[target]) + np.trunc(step.time_us[target]) - 1)
    holdings = _Holdings()
    holdings.add(step.device_of_op.astype(np.int64), first, last + 1, step.costs.bytes_of_op())
    return holdings.curves(step.cluster.device_count)
