"""The memory of a batch for people: its curve on each device, how much is in flight, and what holds the peak.

A micro-batch is in flight on a device from the start of its first block there to the end of its last; those of the
optimizer do not count.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.events import Json
from engine.explaining.holding import ByteClass, Peak, class_of_holding, peaks_of
from engine.simulator.streams.batch import SimulatedBatch
from engine.simulator.streams.batch_memory import ALL_MICRO_BATCHES, BatchMemory
from engine.simulator.streams.stages import NO_STAGE
from engine.simulator.timeline import Held

MOST_CHANGES = 2000
"""of a curve that are told; of a longer one the most in each of as many equal parts of the batch"""
MOST_HOLDERS = 8
"""of a peak that are told, the largest first"""


def memory_of_batch(
    batch: SimulatedBatch,
    memory: BatchMemory,
    limit_bytes: NDArray[np.int64],
    op_names: Sequence[str],
    class_of_op: NDArray[np.uint8],
) -> dict[str, Json]:
    """The field `memory` of docs/formats/explanations.md; `class_of_op` [ops] is that of what each holds always."""
    persistent, devices = memory.holdings.held == Held.PERSISTENT, len(limit_bytes)
    floor_bytes = np.zeros(devices, np.int64)
    np.add.at(floor_bytes, memory.holdings.device[persistent], memory.holdings.bytes[persistent])
    classes = class_of_holding(memory.holdings, class_of_op)
    peaks = peaks_of(memory.holdings, memory.curves, class_of_op)
    return {
        "limit_bytes": limit_bytes.tolist(),
        "floor_bytes": floor_bytes.tolist(),
        "byte_classes": [each.name.lower() for each in ByteClass],
        "curves": [_told(curve.time_us, curve.bytes, batch.batch_time_us) for curve in memory.curves],
        "in_flight": [_told(*in_flight_on(batch, device), batch.batch_time_us) for device in range(devices)],
        "peaks": [
            _peak(peak, int(_at(*in_flight_on(batch, device), peak.time_us)), memory, classes, op_names)
            for device, peak in enumerate(peaks)
        ],
    }


def in_flight_on(batch: SimulatedBatch, device: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(times, counts) [changes] of the micro-batches in flight on `device`; each count holds until the next time."""
    here = (batch.device_of_op == device) & (batch.stage_of_op != NO_STAGE)
    if not here.any():
        return np.zeros(1), np.zeros(1, np.int64)
    starts, ends = batch.start_us[:, here].min(axis=1), batch.end_us[:, here].max(axis=1)
    times, place = np.unique(np.concatenate(([0.0], starts, ends)), return_inverse=True)
    changes = np.zeros(len(times), np.int64)
    np.add.at(changes, place[1 : 1 + len(starts)], 1)
    np.add.at(changes, place[1 + len(starts) :], -1)
    return times, np.cumsum(changes)


def _at(times: NDArray[np.float64], values: NDArray[np.int64], time_us: float) -> np.int64:
    """The value that holds at `time_us`."""
    found: np.int64 = values[np.searchsorted(times, time_us, side="right") - 1]
    return found


def _told(times: NDArray[np.float64], values: NDArray[np.int64], batch_us: float) -> Json:
    """A curve as two lists; a long one by the most in each of `MOST_CHANGES` equal parts of the batch."""
    if len(times) > MOST_CHANGES:
        times, values = _most_in_parts(times, values, batch_us)
    return {"time_us": times.tolist(), "value": values.tolist()}


def _most_in_parts(
    times: NDArray[np.float64], values: NDArray[np.int64], batch_us: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The greatest value in each of `MOST_CHANGES` parts, what holds from before its begin included."""
    begins = np.linspace(0.0, batch_us, MOST_CHANGES, endpoint=False)
    before = np.searchsorted(times, begins, side="right") - 1
    return begins, np.maximum.reduceat(values, before)


def _peak(peak: Peak, in_flight: int, memory: BatchMemory, classes: NDArray[np.uint8], op_names: Sequence[str]) -> Json:
    """A device's peak; holdings of one op and class in several micro-batches are one."""
    of_peak = peak.holdings
    keys = np.stack((memory.holdings.op[of_peak], classes[of_peak].astype(np.int32)))
    (op, byte_class), holder = np.unique(keys, axis=1, return_inverse=True)
    sums = np.bincount(holder.ravel(), memory.holdings.bytes[of_peak], len(op))
    pairs = np.unique(np.stack((holder.ravel(), memory.micro[of_peak])), axis=1)
    counts = np.bincount(pairs[0][pairs[1] != ALL_MICRO_BATCHES], minlength=len(op))
    return {
        "time_us": peak.time_us,
        "in_flight": in_flight,
        "bytes_of_class": peak.bytes_of_class.tolist(),
        "holders": [
            {
                "op": op_names[op[each]],
                "class": ByteClass(byte_class[each]).name.lower(),
                "bytes": int(sums[each]),
                "micro_batches": int(counts[each]),
            }
            for each in np.argsort(-sums, kind="stable")[:MOST_HOLDERS].tolist()
        ],
        "other_holders": max(0, len(op) - MOST_HOLDERS),
    }
