"""How often in a step something moves along an edge: as often as the one of its ends that the step executes less often.

Inside a loop that is once a trip, into a loop and out of it once, to and from a branch that is not taken never.
"""

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import ComputationGraph

MOST_MOVED = 2**62
"""bytes of all flows together: beyond it sums of 64-bit numbers overflow"""


def trips_of_edges(graph: ComputationGraph, trips_of_op: NDArray[np.int64]) -> NDArray[np.int64]:
    """[edges] how often a step sends along each edge; `trips_of_op` [ops] is how often it executes each op."""
    return np.minimum(trips_of_op[graph.edge_source], trips_of_op[graph.edge_target])


def most_of_each(trips: NDArray[np.int64], flow_of_edge: NDArray[np.integer], flows: int) -> NDArray[np.int64]:
    """[flows] the largest of `trips` [edges] along any edge of each flow: that serves the other edges too."""
    most = np.zeros(flows, dtype=np.int64)
    np.maximum.at(most, flow_of_edge.reshape(-1), trips)
    return most


def moved_bytes(sizes: NDArray[np.int64], trips: NDArray[np.int64]) -> NDArray[np.int64]:
    """[flows] what flows of `sizes` [flows] bytes move in a step, `trips` [flows] times each.

    Integers whose sum never overflows: a count that would be too much counts for as much as fits.
    """
    fitting = MOST_MOVED // max(len(sizes), 1) // np.maximum(sizes, 1)
    return np.asarray(sizes * np.minimum(trips, np.maximum(fitting, 1)), dtype=np.int64)
