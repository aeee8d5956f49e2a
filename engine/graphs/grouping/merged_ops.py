"""Groups of ops on their way from many to few: the steps `joining.py` and `merging.py`, on one contraction."""

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.contraction import Contraction, numbered
from engine.graphs.grouping.joining import join, only_consumers
from engine.graphs.grouping.merging import merge


class MergedOps:
    """The ops of a graph in groups, which only ever grow: what was merged stays merged, so its groupings nest."""

    def __init__(
        self,
        graph: ComputationGraph,
        contraction: Contraction,
        node_of_op: NDArray[np.int32],
        order: NDArray[np.int64],
    ) -> None:
        """`order` [ops] is the order in which ops join."""
        self._contraction, self._node_of_op, self._order = contraction, node_of_op, order
        self._consumer = only_consumers(graph)

    @property
    def group_count(self) -> int:
        return int(self._contraction.remaining[0])

    def join(self, most_weight: int) -> None:
        """Join each op to its only consumer, up to that weight: see joining.py."""
        join(self._contraction, self._consumer, self._node_of_op, self._order, most_weight)

    def merge(self, groups: int, equal_share: int, threshold_bytes: int | None = None) -> None:
        """Merge to at most `groups` groups: see merging.py."""
        merge(self._contraction, groups, threshold_bytes, equal_share)

    def group_of_op(self) -> NDArray[np.int32]:
        """[ops] the group of each op as it is now."""
        return numbered(self._contraction)[self._node_of_op]
