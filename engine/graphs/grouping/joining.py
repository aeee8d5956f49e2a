"""The second step of grouping: an op whose output feeds exactly one other op joins that op.

Source: A. Mirhoseini et al., Device placement optimization with reinforcement learning, ICML 2017, section 3.1.
Deviation: a join that would make a cycle or too heavy a group is left out; by the source's rule alone a chain of any
length, and a tree of any size, is one group, which no placement can split.
"""

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.grouping.contraction import (
    NOWHERE,
    Contraction,
    added_weight,
    group_of,
    merge_groups,
    merged_position,
)
from engine.graphs.ordering import distinct

SEVERAL = -2
NOBODY = -1


def only_consumers(graph: ComputationGraph) -> NDArray[np.int64]:
    """[ops] the only op that takes data from an op, or `NOBODY`, or `SEVERAL`."""
    data = graph.edge_output != CONTROL
    pairs = distinct(np.stack([graph.edge_source[data], graph.edge_target[data]], axis=1))
    consumer = np.full(graph.op_count, NOBODY, dtype=np.int64)
    consumer[pairs[:, 0]] = pairs[:, 1]
    consumer[np.bincount(pairs[:, 0], minlength=graph.op_count) > 1] = SEVERAL
    return consumer


@compiled
def join(
    contraction: Contraction,
    consumer: NDArray[np.int64],
    node_of_op: NDArray[np.int32],
    order: NDArray[np.int64],
    most_weight: int,
) -> None:
    """Merge the group of each op that has one consumer, in `order` [ops], into the consumer's group.

    Without its heaviest node no joined group weighs more than `most_weight`.
    """
    for op in order:
        if consumer[op] < 0:
            continue
        one = group_of(contraction, node_of_op[op])
        other = group_of(contraction, node_of_op[consumer[op]])
        if one == other or added_weight(contraction, one, other) > most_weight:
            continue
        position = merged_position(contraction, one, other)
        if position != NOWHERE:
            merge_groups(contraction, one, other, position)
