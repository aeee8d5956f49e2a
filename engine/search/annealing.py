"""Simulated annealing over placements, compiled: one chunk of evaluations a call.

The search minimizes the step time plus a price for each byte that is missing on a device. The price grows while memory
is missing and falls while all fits, so that the search walks along the border. The best placement is chosen as the
ledger chooses it: by missing memory first, then by time.

Source: Kirkpatrick, Gelatt, Vecchi: Optimization by simulated annealing, Science 220, 1983; the price as in Glover's
strategic oscillation.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled, inlined
from engine.search.apart_table import keeps_apart
from engine.search.chunk_result import ChunkResult, clear, limit_of, missing_on_worst, note, note_stopped
from engine.search.moves import Trial, propose
from engine.search.neighbourhood import Neighbourhood
from engine.search.random_numbers import uniform
from engine.simulator.event_loop import simulate_step
from engine.simulator.records import Scratch, Tables
from engine.simulator.streams.state import Records

NO_OP = -1
MOST_PROPOSALS = 16
"""moves tried before an evaluation where stages must be contiguous: most break a stage"""
MOST_QUICK_PROPOSALS = 128
"""likewise where groups must be apart, which is known without a simulation"""
ROUNDING = 1e-9
"""relative: an input that ends so shortly before a start counts as the one that the start waited for"""


@compiled
def critical_chain(
    tables: Tables,
    scratch: Scratch,
    neighbourhood: Neighbourhood,
    before: NDArray[np.int32],
    chain: NDArray[np.int32],
) -> int:
    """Write the groups on the critical chain of the last simulated placement into `chain`, the last group first.

    `chain` has room for [ops]; `before` [ops] is overwritten. A group appears each time that the chain returns to it.
    An op waits for its last input or, if that had arrived earlier, for the op that ran before it on its device. In a
    stream these are the groups on the busiest device instead. Returns the number of entries.
    """
    if tables.model[0].is_stream:
        return _on_the_busiest(tables, scratch, chain)
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
def _on_the_busiest(tables: Tables, scratch: Scratch, chain: NDArray[np.int32]) -> int:
    """Write the groups on the device that is busiest in a stream, or that keeps the busiest link busy, into `chain`."""
    busiest, most_us = 0, -1.0
    devices = len(scratch.devices)
    for device in range(devices):
        load_us = scratch.stream.device_load_us[device]
        for other in range(devices):
            load_us = max(load_us, scratch.stream.link_load_us[device * devices + other])
        if load_us > most_us:
            busiest, most_us = device, load_us
    length, group = 0, NO_OP
    for op in range(len(tables.placed_ops)):
        following = int(tables.placed_ops[op].group)
        if scratch.ops[op].device == busiest and following != group:
            chain[length] = group = following
            length += 1
    return length


@inlined
def _order_on_devices(scratch: Scratch, before: NDArray[np.int32]) -> None:
    """Write, for each op, the op that ran before it on its device into `before`, or `NO_OP`."""
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


WALK = np.dtype(
    [
        ("fresh", "?"),  # the placement has not been evaluated yet
        ("step_time_us", "f8"),
        ("missing_bytes", "i8"),  # over all devices
        ("price_us", "f8"),  # price of a missing byte
        ("least_price_us", "f8"),
        ("never_stops", "?"),  # every evaluation goes on to its end, as if that were not decided before
    ],
    align=True,
)
PRICE_STEP = 1.02
MOST_PRICE = 1e6
"""highest price, in least prices"""


class Walk(NamedTuple):
    """The current state of a search."""

    numbers: Records
    """[1] WALK"""
    trial: Trial
    before: NDArray[np.int32]
    """[ops] room for the critical chain"""
    shares: NDArray[np.float64]
    """[kinds of moves] cumulative frequencies"""
    level_shares: NDArray[np.float64]
    """[levels] cumulative frequencies"""


@compiled
def anneal(
    tables: Tables,
    scratch: Scratch,
    neighbourhood: Neighbourhood,
    walk: Walk,
    found: ChunkResult,
    evaluations: int,
    first_heat_us: float,
    last_heat_us: float,
) -> None:
    """Evaluate `evaluations` moves while the heat falls; a fresh walk evaluates its own placement first.

    A move is accepted if its step time, its missing memory priced, is at most the threshold, which is drawn before. So
    an evaluation stops as soon as its time alone is sure to be above the threshold and above the best of the chunk: the
    walk and the best are the same as if it went on.
    """
    clear(found)
    trial, now = walk.trial, walk.numbers[0]
    heat_us = first_heat_us
    cooling = (last_heat_us / first_heat_us) ** (1.0 / evaluations)
    for _ in range(evaluations):
        if now.fresh:
            trial.moved[:] = trial.placement
        else:
            propose(neighbourhood, trial, walk.shares, walk.level_shares)
            _keep_rules(tables, scratch, neighbourhood, walk)
        threshold_us = _threshold_us(walk, heat_us)
        limit_us = np.inf if now.never_stops else max(threshold_us, limit_of(found))
        step_time_us = simulate_step(tables, scratch, trial.moved, limit_us)
        if step_time_us == np.inf:
            note_stopped(found, limit_us)
        else:
            note(found, trial.moved, step_time_us, missing_on_worst(scratch, neighbourhood.memory_bytes))
            missing_bytes = _missing_in_all(scratch, neighbourhood.memory_bytes)
            if step_time_us + now.price_us * missing_bytes <= threshold_us:
                now.fresh = False
                now.step_time_us, now.missing_bytes = step_time_us, missing_bytes
                trial.placement[:] = trial.moved
                trial.chain_length[0] = critical_chain(tables, scratch, neighbourhood, walk.before, trial.chain)
        if now.missing_bytes > 0:
            now.price_us = min(now.least_price_us * MOST_PRICE, now.price_us * PRICE_STEP)
        else:
            now.price_us = max(now.least_price_us, now.price_us / PRICE_STEP)
        heat_us *= cooling


@inlined
def _keep_rules(tables: Tables, scratch: Scratch, neighbourhood: Neighbourhood, walk: Walk) -> None:
    """Propose other moves where stages must be contiguous, or groups apart, and are not; after so many moves stay where
    the walk is.

    What breaks these rules is no placement of the problem, and so no evaluation.
    """
    trial, must_be_contiguous = walk.trial, tables.model[0].is_contiguous
    if not must_be_contiguous and len(neighbourhood.apart.rule) == 0:
        return
    simulated = 0
    for _ in range(MOST_QUICK_PROPOSALS):
        if keeps_apart(neighbourhood.apart, trial.moved):
            if not must_be_contiguous or simulate_step(tables, scratch, trial.moved, np.inf) < np.inf:
                return
            simulated += 1
            if simulated == MOST_PROPOSALS:
                propose(neighbourhood, trial, walk.shares, walk.level_shares)
                break
        propose(neighbourhood, trial, walk.shares, walk.level_shares)
    trial.moved[:] = trial.placement


@inlined
def _threshold_us(walk: Walk, heat_us: float) -> float:
    """Draw how long a placement may take, its missing memory priced, to be accepted; infinite for a fresh walk.

    That is the current one's time and a loss that is exponentially distributed with the mean `heat_us`: a larger loss
    than a given one is drawn with probability exp(−loss / heat).
    """
    now, chance = walk.numbers[0], uniform(walk.trial.random)
    if now.fresh or chance == 0:
        return np.inf
    return float(now.step_time_us + now.price_us * now.missing_bytes - heat_us * math.log(chance))


@inlined
def _missing_in_all(scratch: Scratch, memory_bytes: NDArray[np.int64]) -> int:
    missing = 0
    for device in range(len(memory_bytes)):
        missing += max(0, scratch.devices[device].peak_bytes - memory_bytes[device])
    return missing
