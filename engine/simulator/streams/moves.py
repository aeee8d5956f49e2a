"""Moves, compiled: the sends and receives that keep a device busy, with `sender` and with `host`."""

from engine.clusters.cluster import SENDER_CODE
from engine.files.compiled import inlined
from engine.simulator.event_queue import fly, set_event
from engine.simulator.records import NO_INDEX, Scratch, Tables, of_micro_batch
from engine.simulator.transfers import DEVICE_EVENT


@inlined
def put_move(scratch: Scratch, device: int, move: int) -> None:
    """Put a send or a receive at the end of the device's list of them."""
    turn = scratch.stream.turns[device]
    scratch.stream.next_move[move] = NO_INDEX
    if turn.move_head == NO_INDEX:
        turn.move_head = move
    else:
        scratch.stream.next_move[turn.move_tail] = move
    turn.move_tail = move


@inlined
def start_move(tables: Tables, scratch: Scratch, device: int, micro_batches: int, start_us: float) -> None:
    """Start the first move of the device's list; what is sent is on its way, what is received is there at its end."""
    turn, sends = scratch.stream.turns[device], micro_batches * len(tables.entries)
    move = int(turn.move_head)
    turn.move_head = scratch.stream.next_move[move]
    turn.moves = True
    scratch.devices[device].running = True
    number = move - sends if move >= sends else move
    micro = number // len(tables.entries)
    entry, own = number - micro * len(tables.entries), of_micro_batch(tables, scratch, micro)
    if move >= sends:
        source = int(own.ops[tables.flows[tables.entries[entry].flow].producer].device)
        free_us = start_us + _of_link_us(tables, own, entry, source, device)
    else:
        own.entries[entry].start_us = start_us
        order = tables.flows[tables.entries[entry].flow].order
        fly(scratch, start_us + own.entries[entry].time_us, order, number)
        free_us = start_us + kept_us(tables, own, entry, device)
    set_event(scratch, device, free_us, DEVICE_EVENT + scratch.devices[device].order, move)


@inlined
def keeps_sender(tables: Tables, scratch: Scratch, transfer: int, device: int) -> bool:
    """With `host`, whether a transfer keeps its sender busy."""
    return bool(not scratch.devices[device].is_cpu and tables.flows[tables.entries[transfer].flow].bytes > 0)


@inlined
def kept_us(tables: Tables, own: Scratch, transfer: int, device: int) -> float:
    """How long a transfer takes of its sender, in µs: by the slowest of its links."""
    most_us, entry = 0.0, transfer
    while entry != NO_INDEX:
        destination = int(own.ops[tables.entries[entry].consumer].device)
        most_us = max(most_us, _of_link_us(tables, own, entry, device, destination))
        entry = int(own.entries[entry].next_served)
    return most_us


@inlined
def latency_us(tables: Tables, own: Scratch, transfer: int, device: int) -> float:
    """The longest latency of a transfer's links, once a trip: how long what a CPU sends is on its way."""
    most_us, entry = 0.0, transfer
    while entry != NO_INDEX:
        destination = int(own.ops[tables.entries[entry].consumer].device)
        most_us = max(most_us, tables.links[device * len(own.devices) + destination].latency_us)
        entry = int(own.entries[entry].next_served)
    return most_us * own.transfer_trips[transfer] if tables.model[0].has_trips else most_us


@inlined
def _of_link_us(tables: Tables, own: Scratch, entry: int, source: int, destination: int) -> float:
    """Bytes / bandwidth of the transfer of `entry` on one link, and with `sender` a link's rest, once a trip."""
    link = tables.links[source * len(own.devices) + destination]
    time_us: float = tables.flows[tables.entries[entry].flow].bytes / link.bandwidth_bytes_per_us
    if tables.model[0].contention == SENDER_CODE:
        time_us += tables.model[0].link_rest_us
    if tables.model[0].has_trips:
        time_us *= own.transfer_trips[own.entries[entry].transfer]
    return time_us
