"""Which ops of the forward pass run again before the backward pass, compiled."""

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled, inlined
from engine.graphs.graph import BACKWARD, FORWARD
from engine.simulator.records import Tables, borrow_tables


@inlined
def note_again(tables: Tables, part_of_op: NDArray[np.int32], is_again: NDArray[np.bool_]) -> None:
    """Write to `is_again` [ops] whether the backward pass in each op's part needs what it gives, by ways in that part.

    Ops without inputs, such as weights and what is fed, are there. Ops are in topological order; `part_of_op` [ops] is
    the device of each, for example.
    """
    for back in range(len(tables.placed_ops)):
        op = len(tables.placed_ops) - 1 - back
        is_again[op] = False
        if tables.phase[op] != FORWARD or tables.placed_ops[op].in_degree == 0:
            continue
        for entry in range(tables.ops[op].entry_first, tables.ops[op + 1].entry_first):
            consumer = int(tables.entries[entry].consumer)
            is_needed = tables.phase[consumer] == BACKWARD or is_again[consumer]
            is_again[op] |= is_needed and part_of_op[consumer] == part_of_op[op]


@compiled
def runs_again(tables: Tables, part_of_op: NDArray[np.int32]) -> NDArray[np.bool_]:
    """[ops] whether each op, by the tables' numbers, runs again where ops of one part share a device."""
    is_again = np.zeros(len(part_of_op), np.bool_)
    note_again(borrow_tables(tables), part_of_op, is_again)
    return is_again
