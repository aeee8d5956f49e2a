"""The records that the event loop needs beside those of a step for a stream of micro-batches."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import borrowed, inlined

Records: TypeAlias = np.recarray[tuple[int], np.dtype[np.record]]

BLOCK = np.dtype(
    [
        ("micro", "u4"),  # the micro-batch
        ("left", "i4"),  # its ops that have not ended
        ("head", "u4"),  # its first ready op, NO_INDEX for none
        ("tail", "u4"),
        ("is_late", "?"),  # whether its ops are those of the optimizer
        ("is_begun", "?"),  # of these, whether those that wait for nothing else have been queued
    ],
    align=True,
)
"""the ops of one stage in one micro-batch"""
TURN = np.dtype(
    [
        ("current", "u4"),  # the block whose ops the device runs
        ("beyond", "u4"),  # behind its last block
        ("micro", "u4"),  # micro-batch of the op that it runs, or of what it moves
        ("is_woken", "?"),  # whether it is in the list of those that look for work
        ("moves", "?"),  # whether it sends or receives now, and runs no op
        ("move_head", "u4"),  # its next send or receive, NO_INDEX for none
        ("move_tail", "u4"),
    ],
    align=True,
)
"""a device in a stream"""


class StreamState(NamedTuple):
    """The working arrays that only a stream needs; empty without one. A global index counts all micro-batches' ops or
    entries."""

    stage_of_op: NDArray[np.uint32]
    """[ops]"""
    block_of: NDArray[np.uint32]
    """[stages · micro-batches] the block of each"""
    blocks: Records
    """[blocks] by device, in the order in which it takes them"""
    turns: Records
    """[devices]"""
    next_ready: NDArray[np.uint32]
    """[micro-batches · ops] by global index, the op behind each in its block's list"""
    next_move: NDArray[np.uint32]
    """[2 · micro-batches · edges] the move behind each in its device's list: the send of a transfer by its global
    index, or micro-batches · edges + that of a copy to receive"""
    woken: NDArray[np.uint32]
    """[devices] those that look for work when the event is handled"""
    woken_count: NDArray[np.int64]
    """[1]"""
    first_micro: NDArray[np.uint32]
    """[devices] the first micro-batch that each takes where they have routes, see batch.py; [0] where all take all"""
    channel_micro: NDArray[np.uint32]
    """[channels] the micro-batch of the transfer under way"""
    arrived_us: NDArray[np.float64]
    """[micro-batches · edges] with `host`, when the copy of this global index is on its device"""
    level_of_op: NDArray[np.int32]
    """[ops] changes of device on the way to each"""
    device_load_us: NDArray[np.float64]
    """[devices] what a micro-batch takes of each"""
    link_load_us: NDArray[np.float64]
    """[devices · devices] likewise of each channel"""
    used_by: NDArray[np.uint64]
    """[devices · 2] devices that take data of the forward, then of the backward pass from each, one bit a device"""
    known_trips: NDArray[np.float64]
    """[devices] the most trips so far of the edges of the current flow to each"""
    first_level: NDArray[np.int32]
    """[devices] the least of the levels of each one's forward ops that take time"""
    largest_bytes: NDArray[np.int64]
    """[devices] the most that one of its ops takes at its start"""
    stashed_bytes: NDArray[np.int64]
    """[devices] what the backward pass needs again there of a micro-batch"""
    stashed_on: NDArray[np.uint64]
    """[flows + 1] devices on which the backward pass needs the flow's buffer, one bit a device"""
    part_of_op: NDArray[np.int32]
    """[ops] the device of each; [0] unless stages run again"""
    is_again: NDArray[np.bool_]
    """[ops] whether each runs again before the backward pass; [0] likewise"""
    remade_on: NDArray[np.uint64]
    """[flows + 1] devices on which the backward pass needs the flow's buffer as it is made again; [0] likewise"""


@inlined
def borrow_stream(stream: StreamState) -> StreamState:
    return StreamState(
        borrowed(stream.stage_of_op),
        borrowed(stream.block_of),
        borrowed(stream.blocks),
        borrowed(stream.turns),
        borrowed(stream.next_ready),
        borrowed(stream.next_move),
        borrowed(stream.woken),
        borrowed(stream.woken_count),
        borrowed(stream.first_micro),
        borrowed(stream.channel_micro),
        borrowed(stream.arrived_us),
        borrowed(stream.level_of_op),
        borrowed(stream.device_load_us),
        borrowed(stream.link_load_us),
        borrowed(stream.used_by),
        borrowed(stream.known_trips),
        borrowed(stream.first_level),
        borrowed(stream.largest_bytes),
        borrowed(stream.stashed_bytes),
        borrowed(stream.stashed_on),
        borrowed(stream.part_of_op),
        borrowed(stream.is_again),
        borrowed(stream.remade_on),
    )
