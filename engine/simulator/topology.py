"""A topological order of the ops, in linear time, compiled."""

import numpy as np
from numpy.typing import NDArray

from engine.simulator.compiled import compiled
from engine.simulator.records import Tables, entries_of


@compiled
def topological_order(tables: Tables) -> NDArray[np.int32]:
    """Ops so that producers come first; ops on or behind a cycle are missing."""
    count = len(tables.placed_ops)
    pending = np.empty(count, np.int32)
    order = np.empty(count, np.int32)
    known = 0
    for op in range(count):
        pending[op] = tables.placed_ops[op].in_degree
        if pending[op] == 0:
            order[known] = op
            known += 1
    done = 0
    while done < known:
        op = order[done]
        done += 1
        for place in range(*entries_of(tables, op)):
            consumer = tables.entries[place].consumer
            pending[consumer] -= 1
            if pending[consumer] == 0:
                order[known] = consumer
                known += 1
    return order[:known]
