"""Which groups the step waits for, compiled: from the last op back along what each op had to wait for."""

import numpy as np
from numpy.typing import NDArray

from engine.search.neighbourhood import Neighbourhood
from engine.simulator.compiled import compiled, inlined
from engine.simulator.records import Scratch, Tables

NO_OP = -1
ROUNDING = 1e-9
"""relative: what ends so shortly before a start is what the start has waited for"""


@compiled
def critical_chain(
    tables: Tables,
    scratch: Scratch,
    neighbourhood: Neighbourhood,
    before: NDArray[np.int32],
    chain: NDArray[np.int32],
) -> int:
    """Write the groups on the chain of the placement that was simulated last into `chain`, the last one first.

    `chain` has room for [ops]; `before` [ops] is overwritten. A group stands there as often as the chain comes back to
    it. An op waits for its last input or, if that was there already, for the op that ran before it on its device.
    Returns the number of groups.
    """
    _order_on_devices(scratch, before)
    op = _last_op(scratch)
    length, group = 0, NO_OP
    while op != NO_OP:
        if int(tables.placed_ops[op].group) != group:
            group = int(tables.placed_ops[op].group)
            chain[length] = group
            length += 1
        if scratch.start_us[op] <= 0 or length == len(chain):
            break
        op = _waited_for(tables, scratch, neighbourhood, before, op)
    return length


@inlined
def _order_on_devices(scratch: Scratch, before: NDArray[np.int32]) -> None:
    """For each op the one that ran before it on its device."""
    for device in range(len(scratch.devices)):
        previous = NO_OP
        for place in range(scratch.devices[device].first, scratch.devices[device].tail):
            op = int(scratch.queue[place])
            before[op] = previous
            previous = op


@inlined
def _last_op(scratch: Scratch) -> int:
    last, last_us = 0, -1.0
    for op in range(len(scratch.ops)):
        end_us = scratch.start_us[op] + scratch.ops[op].time_us
        if end_us > last_us:
            last, last_us = op, end_us
    return last


@inlined
def _waited_for(
    tables: Tables, scratch: Scratch, neighbourhood: Neighbourhood, before: NDArray[np.int32], op: int
) -> int:
    producer, arrival_us = NO_OP, -1.0
    for place in range(neighbourhood.first_input[op], neighbourhood.first_input[op + 1]):
        entry = neighbourhood.inputs[place]
        source = int(tables.flows[tables.entries[entry].flow].producer)
        if scratch.ops[source].device == scratch.ops[op].device:
            there_us = scratch.start_us[source] + scratch.ops[source].time_us
        else:
            transfer = scratch.entries[entry].transfer
            there_us = scratch.entries[transfer].start_us + scratch.entries[transfer].time_us
        if there_us > arrival_us:
            producer, arrival_us = source, there_us
    if arrival_us >= scratch.start_us[op] * (1 - ROUNDING) or before[op] == NO_OP:
        return producer
    return int(before[op])
