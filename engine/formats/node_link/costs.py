"""The costs of a node-link file's ops: times that it gives, or times that follow from the work that it gives."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.clusters.device_kinds import CATALOGUE, COSTED_KINDS, DEVICE_CLASSES, KINDS
from engine.costs.costs import (
    ANY_KIND,
    OWN_BUFFER,
    PERSISTENT_BUFFER,
    STEP_BUFFER,
    Costs,
    CostSource,
    no_counts,
    no_reasons,
    time_by_peaks_us,
)
from engine.costs.layers import HeldParameters
from engine.costs.unknown import Unknown
from engine.errors import CostError, GraphError
from engine.formats.node_link.node import NodeOp
from engine.formats.node_link.values import MOST_BYTES_IN_ALL, place_of
from engine.formats.node_link.work import PERSISTENT, WHOLE_STEP, NodeWork

NO_WORK = NodeWork(0, 0, 0, {})


def costs_of(ops: Sequence[NodeOp], columns: NDArray[np.int32], index_of_name: Mapping[str, int]) -> Costs:
    """The ops' costs. `columns`: [edges, 3] source, target, output. Raises CostError, GraphError."""
    total = sum(sum(op.output_bytes) + op.persistent_bytes + op.temporary_bytes for op in ops)
    if total > MOST_BYTES_IN_ALL:
        raise CostError(f"{total} bytes", where="all nodes together", allowed=f"{MOST_BYTES_IN_ALL}", field="file")
    offset = np.cumsum([0, *(len(op.output_bytes) for op in ops)], dtype=np.int64)
    timed = _given if all(op.work is None for op in ops) else _worked
    return timed(ops, offset, _buffers(ops, columns, index_of_name, offset))


def held_parameters(ops: Sequence[NodeOp]) -> HeldParameters | None:
    """The parameters that the ops hold; None where the file says nothing of them."""
    if not any(op.parameters for op in ops):
        return None
    held = np.array([op.parameters for op in ops], dtype=np.int64)
    return HeldParameters(held, np.zeros(len(ops), dtype=np.int64))


def _given(ops: Sequence[NodeOp], offset: NDArray[np.int64], buffers: NDArray[np.int64]) -> Costs:
    """Times as in the file; each kind that any op names has a row."""
    named = {kind for op in ops for kind in op.times_us}
    kinds = tuple(kind for kind in (*KINDS, ANY_KIND) if kind in named)
    return Costs(
        kinds=kinds,
        time_us=np.array([[op.times_us.get(kind, np.nan) for op in ops] for kind in kinds], dtype=np.float64),
        output_offset=offset,
        output_bytes=_output_bytes(ops),
        persistent_bytes=np.array([op.persistent_bytes for op in ops], dtype=np.int64),
        temporary_bytes=np.array([op.temporary_bytes for op in ops], dtype=np.int64),
        source=np.full(len(ops), CostSource.GIVEN, dtype=np.uint8),
        trips=_trips(ops),
        launches=_launches(ops),
        buffer_of_output=buffers,
    )


def _worked(ops: Sequence[NodeOp], offset: NDArray[np.int64], buffers: NDArray[np.int64]) -> Costs:
    """Times by the ops' work on the kinds whose times a reading keeps, and times that the file gives by class."""
    works = [op.work or NO_WORK for op in ops]
    flops = np.array([work.flops or 0 for work in works], dtype=np.int64)
    moved_bytes = np.array([work.bytes_accessed for work in works], dtype=np.int64)
    float_type = np.array([work.float_type for work in works], dtype=np.uint8)
    measured_us = np.array(
        [[work.measured_us.get(each, np.nan) for work in works] for each in DEVICE_CLASSES], dtype=np.float64
    )
    unknown = np.array([work.flops is None and not work.measured_us for work in works])
    given = np.array([bool(work.measured_us) for work in works])
    times = [
        _or_measured(
            time_by_peaks_us(flops, moved_bytes, float_type, CATALOGUE[kind]),
            measured_us[DEVICE_CLASSES.index(CATALOGUE[kind].device_class)],
        )
        for kind in COSTED_KINDS
    ]
    return Costs(
        kinds=COSTED_KINDS,
        time_us=np.stack(times),
        output_offset=offset,
        output_bytes=_output_bytes(ops),
        persistent_bytes=np.array([op.persistent_bytes for op in ops], dtype=np.int64),
        temporary_bytes=np.array([op.temporary_bytes for op in ops], dtype=np.int64),
        source=np.select(
            [unknown, given], [int(CostSource.UNKNOWN), int(CostSource.GIVEN)], int(CostSource.ESTIMATED)
        ).astype(np.uint8),
        unknown=np.where(unknown, int(Unknown.ARITHMETIC), 0).astype(np.uint8) if unknown.any() else no_reasons(),
        flops=flops,
        trips=_trips(ops),
        launches=_launches(ops),
        moved_bytes=moved_bytes,
        float_type=float_type,
        measured_us=measured_us if given.any() else np.empty((0, 0)),
        buffer_of_output=buffers,
        at_peaks=False,
    )


def _or_measured(estimated_us: NDArray[np.float64], measured_us: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(measured_us), estimated_us, measured_us)


def _output_bytes(ops: Sequence[NodeOp]) -> NDArray[np.int64]:
    return np.array([size for op in ops for size in op.output_bytes], dtype=np.int64)


def _trips(ops: Sequence[NodeOp]) -> NDArray[np.int64]:
    return no_counts() if all(op.trips == 1 for op in ops) else np.array([op.trips for op in ops], dtype=np.int64)


def _launches(ops: Sequence[NodeOp]) -> NDArray[np.int64]:
    if all(op.launches == 1 for op in ops):
        return no_counts()
    return np.array([op.launches for op in ops], dtype=np.int64)


def _buffers(
    ops: Sequence[NodeOp], columns: NDArray[np.int32], index_of_name: Mapping[str, int], offset: NDArray[np.int64]
) -> NDArray[np.int64]:
    """[all outputs] as `Costs.buffer_of_output`, or [0] where all are ops' own. Raises GraphError."""
    if not any(op.buffers for op in ops):
        return no_counts()
    edges = set(map(tuple, columns.tolist()))
    found = np.full(int(offset[-1]), OWN_BUFFER, dtype=np.int64)
    for index, op in enumerate(ops):
        for output, buffer in enumerate(op.buffers):
            if buffer == PERSISTENT:
                found[offset[index] + output] = PERSISTENT_BUFFER
            elif buffer == WHOLE_STEP:
                found[offset[index] + output] = STEP_BUFFER
            elif buffer is not None:
                source = index_of_name.get(buffer[0], -1)
                if (source, index, buffer[1]) not in edges:
                    where = f"{place_of(index, op.name)}, buffers[{output}]"
                    raise GraphError(
                        "it passes on an output that the op does not take",
                        where=where,
                        allowed="[id, output] of an edge to the op",
                        field="file",
                    )
                found[offset[index] + output] = offset[source] + buffer[1]
    return found
