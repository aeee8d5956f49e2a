"""The candidates of a search for plans: what can be said of their times before they are simulated."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import OPTIMIZER
from engine.plans.by_batch import ModelByBatch
from engine.plans.gradients import given_to_optimizer
from engine.plans.partitions import Division, ReplicaShape, devices_of
from engine.plans.request import PlanRequest
from engine.plans.sample_work import SampleWork
from engine.plans.simulated import PlanSimulator, alike

SHORTEST_US = 1e-9
"""a bound of nothing counts as this"""


@dataclass(frozen=True, slots=True)
class SizedDivision:
    """A division with one size of micro-batch."""

    estimate_us: float
    """the time of its batch if its stages had equal work, and then one ring"""
    division: Division
    micro_batch: int


class CandidateTimes:
    """Estimates and bounds of one search's candidates; what serves several is kept."""

    def __init__(
        self, model: ModelByBatch, request: PlanRequest, simulator: PlanSimulator, classes: list[list[int]]
    ) -> None:
        """`classes`: the devices that are alike."""
        self._model, self._request, self._simulator, self._classes = model, request, simulator, classes
        self._work = SampleWork(model, request.batch)
        self._least_us: dict[tuple[object, ...], float] = {}
        given = given_to_optimizer(model.prepared.graph, model.prepared.costs)
        self._gradient_bytes = int(given.bytes[given.is_gradient].sum())
        self._ring_of_division: dict[Division, float] = {}
        self._works: dict[int, NDArray[np.float64]] = {}
        self._largest: dict[int, NDArray[np.float64]] = {}
        self._devices = [request.cluster.devices[members[0]] for members in classes]

    def estimate_us(self, division: Division, size: int, micro_batches: int) -> float:
        """The time of a batch: stages of equal work, or the largest group, with fill and drain; and then one ring."""
        periods_us = np.array([self._period_us(shape, size) for shape in division])
        filled_us = (np.array([sum(shape) for shape in division]) - 1) * periods_us
        return float(micro_batches / np.sum(1.0 / periods_us) + filled_us.max()) + self._ring_us(division)

    def _period_us(self, shape: ReplicaShape, size: int) -> float:
        """The least time of a micro-batch in a replica with `shape` [classes] devices, whose groups are not cut."""
        used = np.array(shape)
        shared_us = 1.0 / np.sum(used / np.maximum(self.work_us(size), SHORTEST_US))
        return float(max(shared_us, self._largest_us(size)[used > 0].min(), SHORTEST_US))

    def _largest_us(self, size: int) -> NDArray[np.float64]:
        """[classes] the time of the group that takes longest, the optimizer left out."""
        if size not in self._largest:
            graph, grouping = self._model.prepared.graph, self._model.prepared.grouping
            times_us = np.nan_to_num(self._model.costs(size).time_on_devices(self._devices))
            if len(graph.phase):
                times_us = times_us * (graph.phase != OPTIMIZER)
            of_groups = [np.bincount(grouping.group_of_op, row) for row in times_us]
            self._largest[size] = np.array([row.max() for row in of_groups])
        return self._largest[size]

    def _ring_us(self, division: Division) -> float:
        """The time of a ring through the replicas for one device's part of the gradients."""
        if division not in self._ring_of_division:
            members = [devices[0] for devices in devices_of(division, self._classes)]
            part_bytes = self._gradient_bytes // min(map(sum, division))
            self._ring_of_division[division] = self._simulator.collectives.all_reduce_us(members, part_bytes)
        return self._ring_of_division[division]

    def work_us(self, size: int) -> NDArray[np.float64]:
        """[classes] the time of a micro-batch's ops on a device of each."""
        if size not in self._works:
            self._works[size] = np.nansum(self._model.costs(size).time_on_devices(self._devices), axis=1)
        return self._works[size]

    def is_uneven(self, candidate: SizedDivision) -> bool:
        """Whether its replicas may have micro-batches of sizes of their own: unlike ones, with two readings."""
        return len(self._model.readings) > 1 and len(set(candidate.division)) > 1

    def bound_us(self, candidate: SizedDivision) -> float:
        """A time that no batch of the candidate beats, whatever the sizes of its micro-batches."""
        sizes = tuple(self._work.extreme_sizes()) if self.is_uneven(candidate) else (candidate.micro_batch,)
        return self._bound_us(candidate, sizes)

    def even_bound_us(self, candidate: SizedDivision) -> float:
        """A time that no batch of the candidate with micro-batches of its own size beats."""
        return self._bound_us(candidate, (candidate.micro_batch,))

    def _bound_us(self, candidate: SizedDivision, sizes: tuple[int, ...]) -> float:
        """The time of replicas without a break, which take any fraction of the batch."""
        devices = devices_of(candidate.division, self._classes)
        samples_us = np.array([self._sample_us(own, sizes) for own in devices])
        return float(self._request.batch / np.sum(1.0 / np.maximum(samples_us, SHORTEST_US)))

    def _sample_us(self, devices: tuple[int, ...], sizes: tuple[int, ...]) -> float:
        """The least work of a sample on the devices of a replica."""
        part = self._simulator.part(devices)
        key = (alike(part), sizes)
        if key not in self._least_us:
            self._least_us[key] = self._work.least_us(part, sizes)
        return self._least_us[key]
