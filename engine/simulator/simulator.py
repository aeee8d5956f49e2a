"""The door of the simulator: a graph, its costs and a cluster in, step times and peaks of memory out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.graphs.graph import ComputationGraph


@dataclass(frozen=True, slots=True)
class Evaluations:
    """What the simulator says of a batch of placements."""

    step_time_us: NDArray[np.float64]
    """[batch]"""
    peak_bytes: NDArray[np.int64]
    """[batch, devices]"""


class Simulator:
    """Simulates placements of one graph on one cluster; made once, then called many times. Inputs are never changed."""

    def __init__(
        self, graph: ComputationGraph, costs: Costs, cluster: Cluster, group_of_op: NDArray[np.int32] | None = None
    ) -> None:
        """With `group_of_op` [ops] placements are [groups], without it they are [ops]."""
        raise NotImplementedError

    def evaluate(self, placements: NDArray[np.int32]) -> Evaluations:
        """Evaluate `placements` [batch, groups] → device index."""
        raise NotImplementedError
