"""Bounds from paths with their transfers, compiled: the earliest end of an op, and the least time that follows it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled, inlined


class Paths(NamedTuple):
    """A graph and the links between a few devices, as arrays for compiled code."""

    order: NDArray[np.int32]
    """[ops] in topological order"""
    entry_first: NDArray[np.int64]
    """[ops + 1] into the edges by producer"""
    consumer: NDArray[np.int32]
    """[edges] by producer"""
    bytes: NDArray[np.int64]
    """[edges] by producer"""
    trips: NDArray[np.float64]
    """[edges] by producer: how often a step sends along each"""
    time_us: NDArray[np.float64]
    """[ops, devices], infinite where the op cannot run"""
    rest_us: NDArray[np.float64]
    """[ops, devices] the device's rest after the op, all trips together"""
    bandwidth_bytes_per_us: NDArray[np.float64]
    """[devices, devices]"""
    latency_us: NDArray[np.float64]
    """[devices, devices]"""


@compiled
def earliest_ends(paths: Paths) -> NDArray[np.float64]:
    """[ops, devices] a lower bound of the op's end, in µs, over all placements with the op on that device."""
    ops, devices = paths.time_us.shape
    ends = np.zeros((ops, devices))
    """first the earliest start of the op, then its earliest end"""
    for op in paths.order:
        ends[op] += paths.time_us[op]
        for place in range(paths.entry_first[op], paths.entry_first[op + 1]):
            consumer = paths.consumer[place]
            for device in range(devices):
                arrival_us = ends[op, device] + paths.rest_us[op, device]
                for source in range(devices):
                    if source != device:
                        sent_us = ends[op, source] + _transfer_us(paths, place, source, device)
                        arrival_us = min(arrival_us, sent_us)
                ends[consumer, device] = max(ends[consumer, device], arrival_us)
    return ends


@compiled
def least_tails(paths: Paths) -> NDArray[np.float64]:
    """[ops, devices] a lower bound of the time, in µs, from the op's end on that device to the end of the step."""
    ops, devices = paths.time_us.shape
    tails = paths.rest_us.copy()
    for index in range(ops - 1, -1, -1):
        op = paths.order[index]
        for place in range(paths.entry_first[op], paths.entry_first[op + 1]):
            consumer = paths.consumer[place]
            for device in range(devices):
                left_us = paths.rest_us[op, device] + paths.time_us[consumer, device] + tails[consumer, device]
                for other in range(devices):
                    if other != device:
                        sent_us = _transfer_us(paths, place, device, other)
                        left_us = min(left_us, sent_us + paths.time_us[consumer, other] + tails[consumer, other])
                tails[op, device] = max(tails[op, device], left_us)
    return tails


@compiled
def least_when_cut(
    paths: Paths, ends: NDArray[np.float64], tails: NDArray[np.float64], part: NDArray[np.int64]
) -> NDArray[np.float64]:
    """[ops, at the first op of each part] a lower bound of the step time of placements that cut an edge of the part."""
    ops, devices = paths.time_us.shape
    least = np.full(ops, np.inf)
    for op in range(ops):
        for place in range(paths.entry_first[op], paths.entry_first[op + 1]):
            consumer = paths.consumer[place]
            for source in range(devices):
                for device in range(devices):
                    if source != device:
                        step_us = ends[op, source] + _transfer_us(paths, place, source, device)
                        step_us += paths.time_us[consumer, device] + tails[consumer, device]
                        least[part[op]] = min(least[part[op]], step_us)
    return least


@compiled
def connected_parts(source: NDArray[np.int32], target: NDArray[np.int32], ops: int) -> NDArray[np.int64]:
    """[ops] the first op of the connected part that holds the op; the edges' directions do not matter."""
    part = np.arange(ops)
    for edge in range(len(source)):
        one, other = _root(part, source[edge]), _root(part, target[edge])
        part[max(one, other)] = min(one, other)
    for op in range(ops):
        part[op] = part[part[op]]
    return part


@inlined
def _root(part: NDArray[np.int64], op: int) -> int:
    while part[op] != op:
        part[op] = part[part[op]]
        op = part[op]
    return op


@inlined
def _transfer_us(paths: Paths, place: int, source: int, device: int) -> float:
    once_us = paths.latency_us[source, device] + paths.bytes[place] / paths.bandwidth_bytes_per_us[source, device]
    return float(paths.trips[place] * once_us)
