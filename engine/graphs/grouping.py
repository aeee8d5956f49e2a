"""Groups: ops that move together. The steps that make them are `colocation.py`, `joining.py` and `merging.py`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which op belongs to which group, and the acyclic graph of the groups. Arrays are read-only.

    Groups are numbered in a topological order of the group graph. Edges that run against that order (into the update
    ops of a variable's group: what the update feeds is the next step) are feedback edges: they are not part of the
    group graph, but the simulator, which works on ops, honours them.
    """

    names: tuple[str, ...]
    """[groups] the name of the group's most telling op; unique"""
    group_of_op: NDArray[np.int32]
    """[ops]"""
    edge_source: NDArray[np.int32]
    """[group edges] each pair once; always edge_source < edge_target"""
    edge_target: NDArray[np.int32]
    """[group edges]"""
    edge_bytes: NDArray[np.int64]
    """[group edges] bytes that would be sent if the two groups were on two devices (an output counts once)"""
    feedback_edges: NDArray[np.int32]
    """[feedback edges, 2]"""

    def __post_init__(self) -> None:
        assert np.all(self.edge_source < self.edge_target)
        for array in (self.group_of_op, self.edge_source, self.edge_target, self.edge_bytes, self.feedback_edges):
            array.setflags(write=False)

    @property
    def group_count(self) -> int:
        return len(self.names)
