"""The rows that bind the loads of devices and links to the objective, for each rule of contention.

A load is what a micro-batch, or a step, takes of a device or link: see engine/simulator/streams/loads.py. An output is
sent once, and received once on each device. Where links are equal and only the number of sends counts, whether group p
sends from device u is at least x[p, u] − x[c, u] for each consumer c. Else there is a column for each pair of groups
and each pair of devices: they sum up to x of the producer by row, and to x of the consumer by column.

The loads are exact, but for outputs that several groups take unequally often: these count with the fewest trips where
they are received, so that no load is too large.

Source: Tarnawski et al.: Efficient algorithms for device placement of DNN graph operators, NeurIPS 2020, section 5.1,
for sends and receives through the host; the columns of pairs are those of Adams and Johnson, "Improved linear
programming-based lower bounds for the quadratic assignment problem", 1994.
"""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Contention
from engine.placers.milp.linear_model import Columns, LinearModel
from engine.placers.milp.traffic import FlowTraffic
from engine.problem import PlacementProblem

LinearTerms = list[tuple[Columns | int, NDArray[np.float64] | float]]


class PairColumns:
    """The columns that say on which pair of devices a pair of groups is."""

    def __init__(self, model: LinearModel, on: Columns) -> None:
        """`on` [groups, devices]: the columns that place groups."""
        self._model, self._on = model, on
        self._of_pair: dict[tuple[int, int], Columns] = {}

    def of(self, producer: int, consumer: int) -> Columns:
        """[devices, devices] 1 where the producer is on the row's device, the consumer on the column's."""
        pair = (min(producer, consumer), max(producer, consumer))
        if pair not in self._of_pair:
            self._of_pair[pair] = self._new(*pair)
        return self._of_pair[pair] if pair[0] == producer else self._of_pair[pair].T

    def _new(self, one: int, other: int) -> Columns:
        devices = self._on.shape[1]
        columns = self._model.new_columns((devices, devices), 1.0)
        for device in range(devices):
            self._model.add_row([(columns[device], 1.0), (self._on[one, device], -1.0)], 0.0, 0.0)
            self._model.add_row([(columns[:, device], 1.0), (self._on[other, device], -1.0)], 0.0, 0.0)
        return columns


class LoadRows:
    """Adds the loads of a problem's groups and traffic to a model. Times are in units of `unit_us`."""

    def __init__(self, problem: PlacementProblem, model: LinearModel, on: Columns, unit_us: float) -> None:
        cluster, devices = problem.cluster, problem.device_count
        self._model, self._on, self._contention = model, on, cluster.contention
        self.pairs = PairColumns(model, on)
        self._apart = ~np.eye(devices, dtype=bool)
        self._byte = np.where(self._apart, 1.0 / (cluster.bandwidth_bytes_per_us * unit_us), 0.0)
        self._once = np.where(self._apart, (cluster.latency_us + cluster.link_rest_us) / unit_us, 0.0)
        self._rest = cluster.link_rest_us / unit_us
        self._is_cpu = np.array([device.is_cpu for device in cluster.devices])
        self._of_device: list[LinearTerms] = [[] for _ in range(devices)]
        self._of_link: dict[tuple[int, int], LinearTerms] = {}
        self._unit_us = unit_us

    def add_work(self, work_us: NDArray[np.float64]) -> None:
        """Add what each group takes of each device, `work_us` [groups, devices]; infinite where it may not go."""
        work = np.where(np.isfinite(work_us), work_us, 0.0) / self._unit_us
        for device, terms in enumerate(self._of_device):
            terms.append((self._on[:, device], work[:, device]))

    def add_traffic(self, traffic: FlowTraffic) -> None:
        """Add what sending and receiving takes of devices or links."""
        if self._contention == Contention.NONE or not self._apart.any():
            return
        if self.needs_pairs(self._contention, self._byte, self._once):
            self._add_by_pairs(traffic)
        else:
            self._add_by_differences(traffic)

    @staticmethod
    def needs_pairs(contention: Contention, byte: NDArray[np.float64], once: NDArray[np.float64]) -> bool:
        """Whether pairs of devices count, not senders and receivers alone; `byte`, `once` [devices, devices]."""
        if contention in (Contention.PAIR, Contention.SENDER):
            return True
        apart = ~np.eye(len(byte), dtype=bool)
        if contention == Contention.NONE or not apart.any():
            return False
        return bool(np.ptp(byte[apart]) > 0 or (contention == Contention.BUS and np.ptp(once[apart]) > 0))

    def finish(self, objective: int) -> None:
        """Let the column `objective` be no less than any load."""
        for terms in [*self._of_device, *self._of_link.values()]:
            self._model.add_row([*terms, (objective, -1.0)], upper=0.0)

    def _add_by_differences(self, traffic: FlowTraffic) -> None:
        byte, once = self._byte.max(), self._once.max()
        on, devices = self._on, range(self._on.shape[1])
        through_host = self._contention == Contention.HOST
        per_consumer = [
            size * byte + (0.0 if through_host else times * once)
            for size, times in zip(traffic.sent_bytes, traffic.sent_times, strict=True)
        ]
        for device in devices:
            if max(per_consumer) == 0 or (through_host and self._is_cpu[device]):
                continue
            sends = int(self._model.new_columns((1,))[0])
            for consumer, cost in zip(traffic.consumers, per_consumer, strict=True):
                terms: LinearTerms = [(sends, 1.0), (on[traffic.producer, device], -cost), (on[consumer, device], cost)]
                self._model.add_row(terms, lower=0.0)
            self._loads(device, device).append((sends, 1.0))
            if not through_host or traffic.least_bytes == 0:
                continue
            receives = int(self._model.new_columns((1,), 1.0)[0])
            for consumer in traffic.consumers:
                terms = [(receives, 1.0), (on[consumer, device], -1.0), (on[traffic.producer, device], 1.0)]
                self._model.add_row(terms, lower=0.0)
            self._of_device[device].append((receives, traffic.least_bytes * byte))

    def _add_by_pairs(self, traffic: FlowTraffic) -> None:
        pairs = [self.pairs.of(traffic.producer, consumer) for consumer in traffic.consumers]
        if self._contention in (Contention.BUS, Contention.HOST):
            self._add_sends(traffic, pairs)
        if self._contention == Contention.BUS:
            return
        copies = self._copies(pairs)
        size, times = traffic.least_bytes, traffic.least_times
        for source, target in zip(*np.nonzero(self._apart), strict=True):
            copy, of_bytes = int(copies[source, target]), size * float(self._byte[source, target])
            if self._contention == Contention.PAIR:
                cost = of_bytes + times * float(self._once[source, target])
                self._of_link.setdefault((source, target), []).append((copy, cost))
            elif self._contention == Contention.SENDER:
                self._of_device[source].append((copy, of_bytes + times * self._rest))
            elif not self._is_cpu[target]:
                self._of_device[target].append((copy, of_bytes))

    def _add_sends(self, traffic: FlowTraffic, pairs: list[Columns]) -> None:
        """Let each device be busy with its slowest send of the traffic."""
        for device in range(self._on.shape[1]):
            if self._contention == Contention.HOST and self._is_cpu[device]:
                continue
            sends = int(self._model.new_columns((1,))[0])
            for pair, size, times in zip(pairs, traffic.sent_bytes, traffic.sent_times, strict=True):
                cost = size * self._byte[device]
                if self._contention == Contention.BUS:
                    cost = cost + times * self._once[device]
                self._model.add_row([(sends, 1.0), (pair[device], -cost)], lower=0.0)
            self._loads(device, device).append((sends, 1.0))

    def _copies(self, pairs: list[Columns]) -> Columns:
        """[devices, devices] columns that are 1 where any of `pairs` is."""
        if len(pairs) == 1:
            return pairs[0]
        copies = self._model.new_columns(pairs[0].shape, 1.0)
        for pair in pairs:
            for source, target in zip(*np.nonzero(self._apart), strict=True):
                self._model.add_row([(copies[source, target], 1.0), (pair[source, target], -1.0)], lower=0.0)
        return copies

    def _loads(self, source: int, target: int) -> LinearTerms:
        """What the device's bus, or the device itself, is busy with."""
        if self._contention == Contention.BUS:
            return self._of_link.setdefault((source, target), [])
        return self._of_device[source]
