"""The least work of a sample on some devices, of which the bounds of plans are made.

All ops but the optimizer's are shared among the devices as if they could be cut anywhere, by the prices that make the
most of it (simulator/work_bound.py). No placement takes less of its busiest device, and no set of devices that take
turns does. Times are linear in the samples, so a sample of the smallest or of the largest size takes the least.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.errors import CostError
from engine.graphs.graph import OPTIMIZER
from engine.graphs.phases import phases_of_graph
from engine.plans.by_batch import ModelByBatch
from engine.simulator.bound import ROUNDING, occupations_us
from engine.simulator.executed import executed_part
from engine.simulator.topology import topological_order
from engine.simulator.work_bound import shared_work_us


class SampleWork:
    """The least work of a model's samples; what serves several clusters is kept."""

    def __init__(self, model: ModelByBatch, batch: int) -> None:
        self._model, self._batch = model, batch
        self._is_counted: dict[int, NDArray[np.bool_]] = {}

    def extreme_sizes(self) -> Sequence[int]:
        """The sizes of micro-batches of which one has the least work of a sample, whatever the sizes of a plan are."""
        model = self._model
        return model.samples if len(model.readings) == 1 else sorted({1, *model.samples, self._batch})

    def least_us(self, cluster: Cluster, sizes: Sequence[int]) -> float:
        """µs of a sample, in micro-batches between `sizes`; infinite where an op can run on none of the devices."""
        try:
            of_sizes = [self._of_size_us(cluster, size) for size in sizes]
        except CostError:
            return np.inf
        occupied_us = np.min([occupied for occupied, _ in of_sizes], axis=0)
        return shared_work_us(occupied_us, of_sizes[0][1]) * (1 - ROUNDING)

    def _of_size_us(self, cluster: Cluster, size: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """[kinds, ops] the time of a sample of that size, without the optimizer; and [kinds] the devices of each."""
        graph, costs = executed_part(self._model.prepared.graph, self._model.costs(size))
        if size not in self._is_counted:
            self._is_counted[size] = phases_of_graph(graph, topological_order(graph)) != OPTIMIZER
        occupied_us, counts = occupations_us(graph, costs, cluster)
        return occupied_us[:, self._is_counted[size]] / size, counts
