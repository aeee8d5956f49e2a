"""The parts of a problem that a search's moves need: which groups can move, where to, and which are neighbours."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.problem import PlacementProblem
from engine.simulator.tables import first_of_each


class Neighbourhood(NamedTuple):
    """The groups that can move, their devices and neighbours, and the ops' inputs. Read-only."""

    movable: NDArray[np.int32]
    """the groups that may be on more than one device"""
    allowed: NDArray[np.bool_]
    """[groups, devices]"""
    first_neighbour: NDArray[np.int64]
    """[groups + 1] the neighbours of a group are those from here to the next group's"""
    neighbours: NDArray[np.int32]
    """groups that an edge joins to the group, in either direction"""
    first_input: NDArray[np.int64]
    """[ops + 1] the inputs of an op, numbered as in the simulator's tables, are those from here to the next op's"""
    inputs: NDArray[np.int64]
    """[edges] entries of the simulator's tables"""
    memory_bytes: NDArray[np.int64]
    """[devices]"""


def make_neighbourhood(problem: PlacementProblem) -> Neighbourhood:
    """The neighbourhood of `problem`; groups that an edge joins are neighbours, feedback edges included."""
    tables = problem.simulator.tables
    consumers = tables.entries.consumer.astype(np.int64)
    ops = len(tables.placed_ops)
    first_neighbour, neighbours = _neighbours(problem)
    return Neighbourhood(
        movable=np.flatnonzero(problem.allowed.sum(axis=1) > 1).astype(np.int32),
        allowed=np.ascontiguousarray(problem.allowed),
        first_neighbour=first_neighbour,
        neighbours=neighbours,
        first_input=first_of_each(consumers, ops),
        inputs=np.argsort(consumers, kind="stable"),
        memory_bytes=problem.memory_bytes,
    )


def _neighbours(problem: PlacementProblem) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    group_of_op, groups = problem.grouping.group_of_op, problem.group_count
    source = group_of_op[problem.graph.edge_source].astype(np.int64)
    target = group_of_op[problem.graph.edge_target].astype(np.int64)
    apart = source != target
    both = np.concatenate((source[apart] * groups + target[apart], target[apart] * groups + source[apart]))
    pairs = np.unique(both)
    return first_of_each(pairs // groups, groups), (pairs % groups).astype(np.int32)
