"""The candidates of a search for plans: what can be said of their times before they are simulated."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlacetoError
from engine.graphs.colocation import colocation_classes
from engine.plans.by_batch import ModelByBatch
from engine.plans.gradients import given_to_optimizer
from engine.plans.partitions import Division, devices_of
from engine.plans.request import PlanRequest
from engine.plans.simulated import PlanSimulator, alike
from engine.simulator.executed import executed_part
from engine.simulator.streams.bound import period_bound_us

SHORTEST_US = 1e-9
"""a bound of nothing counts as this"""


@dataclass(frozen=True, slots=True)
class SizedDivision:
    """A division with one size of micro-batch."""

    estimate_us: float
    """the time of its batch if all its devices worked without a break, each at its own speed, and then one ring"""
    division: Division
    micro_batch: int


class CandidateTimes:
    """Estimates and bounds of one search's candidates; what serves several is kept."""

    def __init__(
        self, model: ModelByBatch, request: PlanRequest, simulator: PlanSimulator, classes: list[list[int]]
    ) -> None:
        """`classes`: the devices that are alike."""
        self._model, self._request, self._simulator, self._classes = model, request, simulator, classes
        self._bounds: dict[tuple[object, ...], float] = {}
        self._unit = colocation_classes(executed_part(model.prepared.graph, model.prepared.costs)[0])
        given = given_to_optimizer(model.prepared.graph, model.prepared.costs)
        self._gradient_bytes = int(given.bytes[given.is_gradient].sum())
        self._ring_of_division: dict[Division, float] = {}
        self._works: dict[int, NDArray[np.float64]] = {}

    def estimate_us(self, division: Division, size: int, micro_batches: int) -> float:
        """The time of a batch if all devices of a division worked without a break, and then one ring."""
        used = np.sum(division, axis=0)
        passes_us = micro_batches / np.sum(used / np.maximum(self.work_us(size), SHORTEST_US))
        return float(passes_us) + self._ring_us(division)

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
            devices = [self._request.cluster.devices[members[0]] for members in self._classes]
            self._works[size] = np.nansum(self._model.costs(size).time_on_devices(devices), axis=1)
        return self._works[size]

    def bound_us(self, candidate: SizedDivision) -> float:
        """A time that no batch of the candidate beats: replicas without a break, which take any fraction of it."""
        devices = devices_of(candidate.division, self._classes)
        bounds_us = np.array([self._period_bound_us(own, candidate.micro_batch) for own in devices])
        rate = np.sum(1.0 / np.maximum(bounds_us, SHORTEST_US))
        return float(self._request.batch / candidate.micro_batch / rate)

    def _period_bound_us(self, devices: tuple[int, ...], size: int) -> float:
        part = self._simulator.part(devices)
        key = (alike(part), size)
        if key not in self._bounds:
            graph = self._model.prepared.graph
            stream = self._request.rules.stream(1)
            try:
                self._bounds[key] = period_bound_us(graph, self._model.costs(size), part, stream, self._unit)
            except PlacetoError:  # an op that none of these devices can run
                self._bounds[key] = np.inf
        return self._bounds[key]
