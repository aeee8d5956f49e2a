"""Trips of edges: a step sends data along an edge as often as it executes the less frequent of the edge's two ops.

Inside a loop that is once a trip, into and out of a loop once, to and from a branch that is not taken never.
"""

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import ComputationGraph

MOST_MOVED = 2**62
"""bytes of all flows together; sums of more overflow 64-bit numbers"""


def trips_of_edges(graph: ComputationGraph, trips_of_op: NDArray[np.int64]) -> NDArray[np.int64]:
    """[edges] transfers along each edge in a step; `trips_of_op` [ops] are the executions of each op in a step."""
    return np.minimum(trips_of_op[graph.edge_source], trips_of_op[graph.edge_target])


def most_of_each(trips: NDArray[np.int64], flow_of_edge: NDArray[np.integer], flows: int) -> NDArray[np.int64]:
    """[flows] the largest `trips` [edges] of any edge of each flow; they serve its other edges too."""
    most = np.zeros(flows, dtype=np.int64)
    np.maximum.at(most, flow_of_edge.reshape(-1), trips)
    return most


def moved_bytes(sizes: NDArray[np.int64], trips: NDArray[np.int64]) -> NDArray[np.int64]:
    """[flows] bytes moved in a step by flows of `sizes` [flows] bytes, `trips` [flows] times each.

    The sum of these integers never overflows: trips are cut to the number that fits.
    """
    fitting = MOST_MOVED // max(len(sizes), 1) // np.maximum(sizes, 1)
    return np.asarray(sizes * np.minimum(trips, np.maximum(fitting, 1)), dtype=np.int64)
