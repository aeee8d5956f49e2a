"""The costs of each op: its time on each device kind, the bytes of its outputs, the bytes that it keeps."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Device
from engine.clusters.device_kinds import (
    CATALOGUE,
    DEVICE_CLASSES,
    FLOAT_TYPES,
    DeviceKind,
    FloatType,
    class_of_kind,
)
from engine.costs.unknown import SENTENCES, Unknown
from engine.errors import CostError

OWN_BUFFER, PERSISTENT_BUFFER, STEP_BUFFER = -1, -2, -3
"""of an output: a buffer of its own, made by its op; that of a variable, whose bytes are among the persistent ones, or
a list that is filled from here on, whose bytes are among the contents; one of its own that is there the whole step"""
THERE_ALWAYS = (PERSISTENT_BUFFER, STEP_BUFFER)
"""buffers that a device holds during the whole step, whoever needs them"""
ANY_KIND = "*"
"""the kind of a time that holds on every device"""


class CostSource(IntEnum):
    """Where an op's time comes from."""

    UNKNOWN = 0
    """no estimate: the op is counted, listed and shown, never silently free"""
    GIVEN = 1
    """written in the file (node-link JSON)"""
    ESTIMATED = 2
    """an analytic estimate (Grappler on a virtual cluster)"""
    MEASURED = 3
    """measured step stats (RunMetadata)"""
    BOUNDED = 4
    """an analytic estimate at the upper bounds of sizes that depend on data"""


def no_reasons() -> NDArray[np.uint8]:
    """An empty array, [0]."""
    return np.empty(0, dtype=np.uint8)


def no_counts() -> NDArray[np.int64]:
    """An empty array, [0]."""
    return np.empty(0, dtype=np.int64)


def no_types() -> NDArray[np.int32]:
    """An empty array, [0]."""
    return np.empty(0, dtype=np.int32)


def no_times() -> NDArray[np.float64]:
    """An empty array, [0, 0]."""
    return np.empty((0, 0))


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of a graph's ops, aligned with its op order. Arrays are read-only.

    Kinds are a catalogue's names (`K80`) or a class (`GPU`, `CPU`), or `*` for a time that holds everywhere; for a
    device the narrower one counts. A NaN time means "this op has no time on this kind". Estimates also keep each op's
    work, from which its time on any other kind with figures follows.
    """

    kinds: tuple[str, ...]
    time_us: NDArray[np.float64]
    """[kinds, ops] time of one execution; where it follows from the work, by the kind's peaks alone"""
    output_offset: NDArray[np.int64]
    """[ops + 1] output j of op i is `output_bytes[output_offset[i] + j]`"""
    output_bytes: NDArray[np.int64]
    """[all outputs] bytes of each output"""
    persistent_bytes: NDArray[np.int64]
    """[ops] variables and the like: held during the whole step on the op's device"""
    temporary_bytes: NDArray[np.int64]
    """[ops] held while the op runs"""
    source: NDArray[np.uint8]
    """[ops] a `CostSource`"""
    unknown: NDArray[np.uint8] = field(default_factory=no_reasons)
    """[ops] an `Unknown`: why there is no estimate where the source is unknown; or [0]: no reasons are given"""
    flops: NDArray[np.int64] = field(default_factory=no_counts)
    """[ops] floating-point operations of one execution, a multiply-add counts as two, 0 where unknown; or [0]"""
    trips: NDArray[np.int64] = field(default_factory=no_counts)
    """[ops] executions of the op in a step: one a trip in a loop's body, none in a branch not taken; [0]: one each"""
    moved_bytes: NDArray[np.int64] = field(default_factory=no_counts)
    """[ops] bytes that one execution reads and writes; or [0]: the work is not known"""
    float_type: NDArray[np.uint8] = field(default_factory=no_reasons)
    """[ops] the data type of the arithmetic, an index of `FLOAT_TYPES`; or [0]: float32"""
    op_type_names: tuple[str, ...] = ()
    """the types of ops; or empty: not known, so that a kind's efficiency is the same for all"""
    type_of_op: NDArray[np.int32] = field(default_factory=no_types)
    """[ops] the type of each, an index of `op_type_names`; or [0]"""
    measured_us: NDArray[np.float64] = field(default_factory=no_times)
    """[`DEVICE_CLASSES`, ops] times that count on every kind of a class, NaN where not measured; or [0, 0]"""
    buffer_of_output: NDArray[np.int64] = field(default_factory=no_counts)
    """[all outputs] the output, an input of the same op, whose buffer each passes on, where both ops are on one device;
    or `OWN_BUFFER`, `PERSISTENT_BUFFER`, `STEP_BUFFER`; or [0]: each has its own"""
    contents_bytes: NDArray[np.int64] = field(default_factory=no_counts)
    """[all outputs] bytes that each holds on its op's device beside its own: what a step puts into the stack, array or
    list that the op makes; a transfer of the output does not count them; 0 where it passes on a buffer; or [0]: none"""
    launches: NDArray[np.int64] = field(default_factory=no_counts)
    """[ops] kernels that one execution launches: after each the device rests; 0: its kernel is another op's too; or
    [0]: one each"""
    at_peaks: bool = True
    """whether ops count as reaching the peaks of the catalogue's kinds, as readings of earlier versions do: theirs
    keep the times that they had"""

    def __post_init__(self) -> None:
        ops = len(self.output_offset) - 1
        assert self.time_us.shape == (len(self.kinds), ops)
        assert len(self.persistent_bytes) == len(self.temporary_bytes) == len(self.source) == ops
        counts = (
            *(self.unknown, self.flops, self.trips, self.moved_bytes, self.float_type, self.type_of_op),
            self.launches,
        )
        assert {len(count) for count in counts} <= {0, ops}
        assert self.measured_us.shape in ((0, 0), (len(DEVICE_CLASSES), ops))
        assert {len(self.buffer_of_output), len(self.contents_bytes)} <= {0, len(self.output_bytes)}
        if len(self.buffer_of_output) and len(self.contents_bytes):
            assert not np.any(self.contents_bytes[self.buffer_of_output >= 0])
        if len(set(self.kinds)) != len(self.kinds):
            raise CostError("a device kind is there twice", where=", ".join(self.kinds), allowed="each kind once")
        if np.any(self.time_us < 0) or np.any(np.isinf(self.time_us)):
            raise CostError("a time is negative or infinite", where="time_us", allowed="finite numbers from 0")
        for label in ("output_bytes", "persistent_bytes", "temporary_bytes", "contents_bytes"):
            if np.any(getattr(self, label) < 0):
                raise CostError("bytes are negative", where=label, allowed="integers from 0")
        for label in ("flops", "trips", "moved_bytes", "launches"):
            if np.any(getattr(self, label) < 0):
                raise CostError("a count is negative", where=label, allowed="integers from 0")
        for array in (
            self.time_us,
            self.output_offset,
            self.output_bytes,
            self.persistent_bytes,
            self.temporary_bytes,
            self.source,
            self.measured_us,
            self.buffer_of_output,
            self.contents_bytes,
            *counts,
        ):
            array.setflags(write=False)

    def time_on(self, device_kinds: Sequence[str]) -> NDArray[np.float64]:
        """[devices, ops] the time of each op in a step, all its executions together, on devices of `device_kinds`.

        The time on the narrowest kind counts; NaN where the op has none.
        """
        return self._times([(kind, class_of_kind(kind), CATALOGUE.get(kind)) for kind in device_kinds])

    def time_on_devices(self, devices: Sequence[Device]) -> NDArray[np.float64]:
        """[devices, ops] the same for `devices`."""
        return self._times([(device.kind, device.device_class, device.figures) for device in devices])

    def _times(self, wanted: Sequence[tuple[str, str, DeviceKind | None]]) -> NDArray[np.float64]:
        """[wanted, ops] times in a step; each wanted is a kind, its class and its figures, if it has any."""
        times = np.full((len(wanted), len(self.output_offset) - 1), np.nan)
        row_of_kind = {kind: row for row, kind in enumerate(self.kinds)}
        for index, (name, device_class, figures) in enumerate(wanted):
            if figures is not None and len(self.moved_bytes) and name not in row_of_kind:
                times[index] = self._time_by_work(figures)  # the row `CPU` is that of a kind, not of all CPUs
                continue
            for kind in (name, device_class, ANY_KIND):
                if kind in row_of_kind:
                    times[index] = np.where(np.isnan(times[index]), self._row_us(row_of_kind[kind]), times[index])
        return times * self.trips if len(self.trips) else times

    def _row_us(self, row: int) -> NDArray[np.float64]:
        """[ops] a row of times, those by the peaks alone replaced by the time that ops of the type really reach."""
        kind = CATALOGUE.get(self.kinds[row])
        times = np.asarray(self.time_us[row], dtype=np.float64)
        if kind is None or not len(self.moved_bytes):
            return times
        by_peaks = time_by_peaks_us(self.flops, self.moved_bytes, self.float_type, kind)
        return np.asarray(np.where(times == by_peaks, self._time_by_work(kind), times), dtype=np.float64)

    def by_peaks_us(self, kinds: Sequence[str]) -> NDArray[np.float64]:
        """[kinds, ops] the time in a step by the peaks of `kinds` alone, where it is not measured or given.

        What weighs an op where the weight must not depend on the shares of the peaks that are known of a kind.
        """
        return replace(self, moved_bytes=no_counts(), float_type=no_reasons()).time_on(kinds)

    def _time_by_work(self, kind: DeviceKind) -> NDArray[np.float64]:
        """[ops] the time of one execution on `kind`: as measured on its class, else by the op's work."""
        times = work_time_us(self.flops, self.moved_bytes, self.float_type, kind, self.efficiency_on(kind))
        if not len(self.measured_us):
            return times
        measured = self.measured_us[DEVICE_CLASSES.index(kind.device_class)]
        return np.where(np.isnan(measured), times, measured)

    def efficiency_on(self, kind: DeviceKind) -> NDArray[np.float64] | float:
        """The shares of the peak and of the bandwidth that ops reach on `kind`: [ops, 2], or one for all and both."""
        if self.at_peaks and kind.efficiency_by_op_type and CATALOGUE.get(kind.name) is kind:
            return 1.0
        if not kind.efficiency_by_op_type or not len(self.type_of_op):
            return kind.efficiency
        known = np.array([kind.efficiency_of(name) for name in self.op_type_names])
        return np.asarray(known[self.type_of_op], dtype=np.float64)

    def with_types(self, op_types: Sequence[str]) -> "Costs":
        """The same costs of ops of these types, [ops], where they have work and their types are not known yet."""
        if not len(self.moved_bytes) or len(self.type_of_op):
            return self
        names, type_of_op = np.unique(np.array(op_types, dtype=np.str_), return_inverse=True)
        return replace(self, op_type_names=tuple(names.tolist()), type_of_op=type_of_op.astype(np.int32))

    def for_devices(self, devices: Sequence[Device]) -> "Costs":
        """The same costs with a row for each kind of `devices` in place of the ops' work; unchanged without work."""
        return self.by_kind(devices) if len(self.moved_bytes) else self

    def by_kind(self, devices: Sequence[Device]) -> "Costs":
        """The same costs with a row for each kind of `devices` and no others: no class, no work."""
        by_kind = {device.kind: device for device in devices}
        once = replace(self, trips=no_counts())
        return replace(
            self,
            kinds=tuple(by_kind),
            time_us=once.time_on_devices(list(by_kind.values())),
            moved_bytes=no_counts(),
            float_type=no_reasons(),
            op_type_names=(),
            type_of_op=no_types(),
            measured_us=no_times(),
        )

    @property
    def only_of_its_kinds(self) -> bool:
        """Whether estimates were made for `kinds` alone, by an older version that did not keep the ops' work."""
        return not len(self.moved_bytes) and bool((self.source == CostSource.ESTIMATED).any())

    def op_time_in_step_us(self) -> NDArray[np.float64]:
        """[kinds, ops] the time of each op in a step, all its executions together."""
        times = self.execution_times_us()
        return times * self.trips if len(self.trips) else times

    def execution_times_us(self) -> NDArray[np.float64]:
        """[kinds, ops] the time of one execution on each of `kinds`; NaN where an op has none of its own there."""
        rows = [self._row_us(row) for row in range(len(self.kinds))]
        return np.array(rows, dtype=np.float64).reshape(self.time_us.shape)

    def trips_of_op(self) -> NDArray[np.int64]:
        """[ops] executions of each op in a step."""
        return self.trips if len(self.trips) else np.ones(len(self.output_offset) - 1, dtype=np.int64)

    def rests_of_op(self) -> NDArray[np.int64]:
        """[ops] how often in a step a device rests after each op that takes time."""
        return self.trips_of_op() * self.launches if len(self.launches) else self.trips_of_op()

    def why_unknown(self, op: int) -> str:
        """A short reason why the cost of `op` is unknown."""
        return SENTENCES[Unknown(int(self.unknown[op])) if len(self.unknown) else Unknown.NOT_SAID]

    def bytes_of_op(self) -> NDArray[np.int64]:
        """[ops] bytes of all outputs of each op."""
        return self._sums_of_ops(self.output_bytes)

    def buffers(self) -> NDArray[np.int64]:
        """[all outputs] what each passes on, or the kind of its buffer: see `buffer_of_output`."""
        return self.buffer_of_output if len(self.buffer_of_output) else np.full(len(self.output_bytes), OWN_BUFFER)

    def new_bytes(self) -> NDArray[np.int64]:
        """[all outputs] bytes of the buffers that ops make when they run, and contents; 0 where an op passes one on."""
        made = np.asarray(np.where(self.buffers() == OWN_BUFFER, self.output_bytes, 0), dtype=np.int64)
        return made + self.contents_bytes if len(self.contents_bytes) else made

    def new_bytes_of_op(self) -> NDArray[np.int64]:
        """[ops] bytes of the buffers that each op makes for its outputs."""
        return self._sums_of_ops(self.new_bytes())

    def kept_bytes(self) -> NDArray[np.int64]:
        """[ops] bytes that each op holds during the whole step: persistent ones, and outputs with a `STEP_BUFFER`."""
        return self.persistent_bytes + self._sums_of_ops(np.where(self.buffers() == STEP_BUFFER, self.output_bytes, 0))

    def _sums_of_ops(self, of_output: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.concatenate(([0], np.cumsum(of_output)))
        return np.asarray(sums[self.output_offset[1:]] - sums[self.output_offset[:-1]], dtype=np.int64)


def work_time_us(
    flops: NDArray[np.int64],
    moved_bytes: NDArray[np.int64],
    float_type: NDArray[np.uint8],
    kind: DeviceKind,
    efficiency: NDArray[np.float64] | float,
) -> NDArray[np.float64]:
    """[ops] the time of one execution on `kind`: arithmetic at the type's peak, then bytes at the memory's bandwidth.

    `flops`, `moved_bytes`, `float_type` are [ops]; an empty `float_type` is float32. `efficiency` is [ops, 2], shares
    of the peak and of the bandwidth, or one number for all.
    """
    arithmetic_us, moving_us = work_parts_us(flops, moved_bytes, float_type, kind)
    if isinstance(efficiency, np.ndarray):
        return np.asarray(arithmetic_us / efficiency[:, 0] + moving_us / efficiency[:, 1])
    return np.asarray((arithmetic_us + moving_us) / efficiency)


def time_by_peaks_us(
    flops: NDArray[np.int64], moved_bytes: NDArray[np.int64], float_type: NDArray[np.uint8], kind: DeviceKind
) -> NDArray[np.float64]:
    """[ops] the time of one execution at the full peaks of `kind`, that of float32 where tensor cores would round."""
    exact = np.where(float_type == FLOAT_TYPES.index(FloatType.TENSORFLOAT32), 0, float_type).astype(np.uint8)
    arithmetic_us, moving_us = work_parts_us(flops, moved_bytes, exact, kind)
    return np.asarray(arithmetic_us + moving_us)


def work_parts_us(
    flops: NDArray[np.int64], moved_bytes: NDArray[np.int64], float_type: NDArray[np.uint8], kind: DeviceKind
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[ops] the time of one execution's operations at the type's peak, and that of its bytes at the full bandwidth."""
    peaks = np.array([kind.peak_of(each) for each in FLOAT_TYPES])
    peak_gflops = peaks[float_type] if len(float_type) else peaks[0]
    return flops / (peak_gflops * 1e3), moved_bytes / kind.memory_bandwidth_bytes_per_us
