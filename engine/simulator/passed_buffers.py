"""Buffers that ops pass on: which input an output shares its buffer with, and which buffers are one on a device."""

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import Costs
from engine.graphs.graph import CONTROL, ComputationGraph

NOT_PASSED = -1


def passing_edges(graph: ComputationGraph, costs: Costs) -> NDArray[np.int64]:
    """[all outputs] the edge that brings the buffer which each passes on, or `NOT_PASSED`.

    Raises AssertionError for a buffer that is no input of the op: `executed_part` leaves out what never comes.
    """
    buffers = costs.buffers()
    edge_of_output = np.full(len(buffers), NOT_PASSED)
    passing = np.flatnonzero(buffers >= 0)
    if not len(passing):
        return edge_of_output
    data = np.flatnonzero(graph.edge_output != CONTROL)
    taken = costs.output_offset[graph.edge_source[data]] + graph.edge_output[data]
    keys = graph.edge_target[data].astype(np.int64) * len(buffers) + taken
    owner = np.searchsorted(costs.output_offset, passing, side="right") - 1
    wanted = owner * len(buffers) + buffers[passing]
    by_key = np.argsort(keys, kind="stable")
    place = np.searchsorted(keys[by_key], wanted)
    assert np.all(place < len(keys)) and np.array_equal(keys[by_key[place]], wanted), "a buffer comes from no input"
    edge_of_output[passing] = data[by_key[place]]
    return edge_of_output


def roots(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """[nodes] the last node on the way along `parents` [nodes]; a root is its own parent. In n log n for any depth."""
    found = parents
    while True:
        further = found[found]
        if np.array_equal(further, found):
            return found
        found = further


def least_on_the_way(values: NDArray[np.int64], parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """[nodes] the least of `values` [nodes] from each node along `parents` [nodes] to its root. In n log n."""
    least, reached = values, parents
    while not np.array_equal(further := reached[reached], reached):
        least, reached = np.minimum(least, least[reached]), further
    return np.minimum(least, least[reached])
