"""A topological order of the ops, in linear time, compiled."""

import numpy as np
from numpy.typing import NDArray

from engine.simulator.compiled import compiled


@compiled
def topological_order(
    out_offset: NDArray[np.int64], out_target: NDArray[np.int32], in_degree: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Ops so that producers come first; ops on or behind a cycle are missing."""
    pending = in_degree.copy()
    order = np.empty(len(pending), np.int32)
    known = 0
    for op in range(len(pending)):
        if pending[op] == 0:
            order[known] = op
            known += 1
    done = 0
    while done < known:
        op = order[done]
        done += 1
        for place in range(out_offset[op], out_offset[op + 1]):
            target = out_target[place]
            pending[target] -= 1
            if pending[target] == 0:
                order[known] = target
                known += 1
    return order[:known]
