"""The blocks of a batch for people: when each device works on each stage of each micro-batch.

Fill lasts until all devices that count have begun, drain from when the first of them has nothing more of a pass to do;
the steady state is between. A device counts whose load is at least a tenth of the greatest. It has begun when it does
the first tenth of a micro-batch's work: ops on what is fed may run long before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.errors import LimitError
from engine.events import Json
from engine.explaining.stream_memory import memory_of_batch
from engine.simulator import Simulator
from engine.simulator.simulator import Loads
from engine.simulator.streams.batch import SimulatedBatch
from engine.simulator.streams.recompute import SUFFIX
from engine.simulator.streams.stages import NO_STAGE

MOST_BLOCKS = 4000
"""of the passes of a batch that are told; of a longer one those of its first and last micro-batches"""
MOST_SIMULATED = 4_000_000
"""ops and edges of all micro-batches together: some hundred megabytes while the batch is simulated"""
LEAST_LOAD = 0.1
"""of the greatest, that a device has that counts for fill and drain; of its own, with which it has begun"""


@dataclass(frozen=True, slots=True)
class BatchBlocks:
    """Blocks by stage, then micro-batch; those of the optimizer come last, one a device."""

    device: NDArray[np.int64]
    """[blocks]"""
    stage: NDArray[np.int64]
    """[blocks] `NO_STAGE` for the optimizer"""
    is_backward: NDArray[np.bool_]
    """[blocks]"""
    micro: NDArray[np.int64]
    """[blocks]"""
    start_us: NDArray[np.float64]
    """[blocks]"""
    end_us: NDArray[np.float64]
    """[blocks]"""

    def to_json(self) -> list[Json]:
        """One object a block."""
        names = ("device", "stage", "is_backward", "micro", "start_us", "end_us")
        columns = [getattr(self, name).tolist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def require_small_batch(ops_and_edges: int, micro_batches: int) -> None:
    """Raise LimitError for a batch that is too large to be simulated for a page."""
    if ops_and_edges * micro_batches > MOST_SIMULATED:
        raise LimitError(
            f"{micro_batches} micro-batches of {ops_and_edges} ops and edges are too many to be drawn here",
            allowed=f"at most {MOST_SIMULATED} together",
        )


def stream_blocks(
    simulator: Simulator, placement: NDArray[np.int32], op_names: Sequence[str], class_of_op: NDArray[np.uint8]
) -> dict[str, Json]:
    """The batch of `placement` [groups] as docs/formats/explanations.md describes it. Raises as `evaluate` does.

    `op_names` [ops] for people; `class_of_op` [ops] is the `ByteClass` of what each op holds always. Raises LimitError
    where even the first and the last micro-batch have too many blocks.
    """
    stream = simulator.stream
    assert stream is not None, "blocks belong to a stream"
    (batch, memory), loads = simulator.batch_and_memory(placement), simulator.loads(placement)
    names = [*op_names, *(op_names[op] + SUFFIX for op in batch.again.tolist())]
    classes = np.concatenate((class_of_op, class_of_op[batch.again]))
    micros = shown_micro_batches(len(batch.stages), stream.micro_batches)
    is_late = (batch.stage_of_op == NO_STAGE) & (batch.costs.trips_of_op() > 0)
    all_blocks = blocks_of(batch, is_late, np.arange(stream.micro_batches))
    is_shown = np.isin(all_blocks.micro, micros)
    shown = BatchBlocks(*(getattr(all_blocks, name)[is_shown] for name in BatchBlocks.__slots__))
    fill_us, drain_us = _steady(batch, all_blocks, loads)
    note: dict[str, Json] = {"note": batch.schedule.note} if batch.schedule.note else {}
    return {
        "stream": stream.to_json() | note,
        "devices": [device.name for device in simulator.cluster.devices],
        "batch_time_us": batch.batch_time_us,
        "period_us": float(simulator.evaluate(placement[None, :]).step_time_us[0]),
        "fill_end_us": fill_us,
        "drain_start_us": drain_us,
        "busiest": _busiest(loads),
        "phase_busy_us": _busy_us(batch, is_late, (0.0, fill_us, drain_us, batch.batch_time_us), len(loads.device_us)),
        "device_load_us": loads.device_us.tolist(),
        "peak_bytes": batch.peak_bytes.tolist(),
        "left_out": stream.micro_batches - len(micros),
        "blocks": shown.to_json(),
        "memory": memory_of_batch(batch, memory, simulator.cluster.usable_bytes, names, classes),
    }


def shown_micro_batches(stages: int, micro_batches: int) -> NDArray[np.int64]:
    """All of a batch, or its first and last ones if it has more than `MOST_BLOCKS` blocks. Raises LimitError."""
    if stages * micro_batches <= MOST_BLOCKS:
        return np.arange(micro_batches)
    most = MOST_BLOCKS // (2 * stages)
    if most == 0:
        raise LimitError(f"this placement has {stages} stages, too many to be drawn", allowed=f"{MOST_BLOCKS // 2}")
    return np.concatenate((np.arange(most), np.arange(micro_batches - most, micro_batches)))


def blocks_of(batch: SimulatedBatch, is_late: NDArray[np.bool_], micros: NDArray[np.int64]) -> BatchBlocks:
    """The blocks of `micros`, and one of the ops `is_late` [ops] of each device, which come after the last one."""
    early, stages = batch.stage_of_op != NO_STAGE, len(batch.stages)
    start_us = _by(batch.stage_of_op[early], batch.start_us[np.ix_(micros, early)], np.minimum)
    end_us = _by(batch.stage_of_op[early], batch.end_us[np.ix_(micros, early)], np.maximum)
    late_devices = np.unique(batch.device_of_op[is_late])
    device_of_late = batch.device_of_op[is_late]
    late_start_us = _by(device_of_late, batch.start_us[-1:, is_late], np.minimum)
    late_end_us = _by(device_of_late, batch.end_us[-1:, is_late], np.maximum)
    late = len(late_devices)
    return BatchBlocks(
        device=np.concatenate((np.repeat(batch.stages.device, len(micros)), late_devices)),
        stage=np.concatenate((np.repeat(np.arange(stages), len(micros)), np.full(late, NO_STAGE))),
        is_backward=np.concatenate((np.repeat(batch.stages.is_backward, len(micros)), np.zeros(late, np.bool_))),
        micro=np.concatenate((np.tile(micros, stages), np.full(late, len(batch.start_us) - 1))),
        start_us=np.concatenate((start_us.T.ravel(), late_start_us.ravel())),
        end_us=np.concatenate((end_us.T.ravel(), late_end_us.ravel())),
    )


def _by(key: NDArray[np.integer], values: NDArray[np.float64], reduce: np.ufunc) -> NDArray[np.float64]:
    """[rows, distinct keys] `values` [rows, ops] reduced over the ops of each key [ops], the keys ascending."""
    if len(key) == 0:
        return np.empty((len(values), 0))
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=key[order][0] - 1))
    found: NDArray[np.float64] = reduce.reduceat(values[:, order], first, axis=1)
    return found


def _steady(batch: SimulatedBatch, blocks: BatchBlocks, loads: Loads) -> tuple[float, float]:
    """When the fill ends and the drain begins, in µs; the second is not before the first."""
    counts = loads.device_us >= LEAST_LOAD * loads.device_us.max()
    of_pass = (blocks.stage != NO_STAGE) & (blocks.end_us > blocks.start_us) & counts[blocks.device]
    if not of_pass.any():
        return 0.0, 0.0
    devices = np.unique(blocks.device[of_pass]).tolist()
    fill_us = max(_begun_us(batch, device, LEAST_LOAD * float(loads.device_us[device])) for device in devices)
    drain_us = float(_by(blocks.device[of_pass], blocks.end_us[None, of_pass], np.maximum).min())
    return fill_us, max(fill_us, drain_us)


def _begun_us(batch: SimulatedBatch, device: int, least_us: float) -> float:
    """When the op starts with which a device has worked `least_us`; what it does before is little."""
    here = (batch.device_of_op == device) & (batch.stage_of_op != NO_STAGE)
    start_us = batch.start_us[:, here].ravel()
    order = np.argsort(start_us, kind="stable")
    worked_us = np.cumsum((batch.end_us[:, here].ravel() - start_us)[order])
    first = min(int(np.searchsorted(worked_us, least_us)), len(order) - 1)
    return float(start_us[order[first]])


def _busy_us(batch: SimulatedBatch, is_late: NDArray[np.bool_], bounds_us: tuple[float, ...], devices: int) -> Json:
    """[devices][phases] how long ops run on each device between neighbours of `bounds_us`.

    The ops `is_late` [ops] run in the last micro-batch alone.
    """
    sums = []
    for low_us, high_us in pairwise(bounds_us):
        within_us = np.clip(batch.end_us, low_us, high_us) - np.clip(batch.start_us, low_us, high_us)
        within_us[:-1, is_late] = 0
        sums.append(np.bincount(batch.device_of_op, within_us.sum(axis=0), devices))
    return [row.tolist() for row in np.stack(sums, axis=1)]


def _busiest(loads: Loads) -> dict[str, Json]:
    """The device, or the link from `device` to `to`, with the greatest load; a bus leads `to` its own device."""
    device = int(loads.device_us.argmax())
    sender, receiver = np.unravel_index(int(loads.link_us.argmax()), loads.link_us.shape)
    if loads.device_us[device] >= loads.link_us[sender, receiver]:
        return {"kind": "device", "device": device, "to": None}
    return {"kind": "link", "device": int(sender), "to": int(receiver)}
