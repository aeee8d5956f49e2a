"""Measured costs: the times of a run in place of estimates, op by op.

`step_stats.py` reads them from RunMetadata, `onnx/runtime_profile.py` from a profile of ONNX Runtime, and `pytorch/`
from a trace of torch.profiler. A measured time counts on the device class, CPU or GPU, on which it was measured: on all
kinds of that class, or on `kind` alone among them. Nothing is scaled from kind to kind.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import ReportProgress
from engine.clusters.device_kinds import CATALOGUE, DEVICE_CLASSES, class_of_kind
from engine.costs.cost_model import CostedGraph, CostModel, GraphWithShapes
from engine.costs.costs import Costs, CostSource, time_by_peaks_us
from engine.costs.step_stats import devices_of, rows_of
from engine.errors import CostError, GraphError, shortened
from engine.graphs.graph import ComputationGraph

LEAST_SHARE = 0.5
"""share of the measured ops that must be in the graph: TensorFlow's own rewriting renames a few"""


class MeasuredTimes(Protocol):
    """The content of a file with measured times."""

    def stats_in(self, graph: GraphWithShapes, costs: Costs) -> tuple["StepStats", tuple[str, ...]]:
        """The measurements of ops of `graph`, and remarks for people. `costs`: the estimates. Raises GraphError."""


@dataclass(frozen=True, slots=True)
class StepStats:
    """Measurements in rows: one op on one device, by its name."""

    names: tuple[str, ...]
    """[rows] names as in the stats: `conv`, or `conv:Conv2D` in a GPU's stream"""
    classes: tuple[str, ...]
    """[rows] `CPU` or `GPU`; empty where memory alone was measured"""
    time_us: NDArray[np.float64]
    """[rows] time of all executions in the step; NaN where memory alone was measured"""
    temporary_bytes: NDArray[np.int64]
    """[rows] bytes held while the op runs"""
    is_kernel: NDArray[np.bool_]
    """[rows] whether the time is that of the op's kernels on a GPU, not of their launch"""
    output: NDArray[np.int64]
    """[outputs, 3] row, index of the output, bytes"""

    def stats_in(self, _graph: GraphWithShapes, _costs: Costs) -> tuple["StepStats", tuple[str, ...]]:
        """These, without remarks: names say to which ops they belong."""
        return self, ()


def step_stats_of(content: bytes) -> StepStats:
    """The step stats in a RunMetadata file. Runs in a child: the file is untrusted. Raises GraphError."""
    arrays, texts = rows_of(devices_of(content))
    return StepStats(
        names=tuple(cast(list[str], texts["names"])),
        classes=tuple(cast(list[str], texts["classes"])),
        time_us=arrays["time_us"].astype(np.float64, copy=False),
        temporary_bytes=arrays["temporary_bytes"].astype(np.int64, copy=False),
        is_kernel=arrays["is_kernel"].astype(bool, copy=False),
        output=arrays["output"].astype(np.int64, copy=False),
    )


@dataclass(frozen=True, slots=True)
class MeasuredCosts:
    """A `CostModel`: the costs of the model `otherwise`, replaced by those in `times` where measured."""

    otherwise: CostModel
    times: MeasuredTimes
    kind: str | None = None
    """the device kind on which `times` were measured, as `with_measured` takes it"""

    def costs_of(self, graph: GraphWithShapes, kinds: Sequence[str], report_progress: ReportProgress) -> CostedGraph:
        """The other model's costs, with measured ones in their place."""
        found = self.otherwise.costs_of(graph, kinds, report_progress)
        stats, remarks = self.times.stats_in(graph, found.costs)
        notes = notes_on_measured(found.costs, graph.graph, stats)
        costs = with_measured(found.costs, graph.graph, stats, self.kind)
        return dataclasses.replace(found, costs=costs, notes=(*found.notes, *notes, *remarks))


def with_measured(costs: Costs, graph: ComputationGraph, stats: StepStats, kind: str | None = None) -> Costs:
    """Replace estimated costs by the times and bytes in `stats`.

    `kind` (a catalogue's name) is the device kind on which its class was measured; None: times count for the whole
    class. An op that ran on several devices of a class counts with the slowest. Raises CostError for an unknown `kind`,
    GraphError for stats of another graph, and where nothing was measured on the class of `kind`.
    """
    op_of_row = _ops_of_rows(graph, stats)
    costs = _with_row_of(kind, costs)
    rows_of_kinds = {
        device_class: _rows_of_class(costs.kinds, device_class, kind) for device_class in _classes_of(stats)
    }
    if kind is not None and class_of_kind(kind) not in rows_of_kinds:
        what = f"nothing in it was measured on a {class_of_kind(kind)}"
        raise GraphError(
            what, where=kind, allowed=f"a kind of {', '.join(rows_of_kinds) or 'none'}", field="profile_kind"
        )
    time_us, measured_us = costs.time_us.copy(), _measured_us(costs)
    trips = costs.trips_of_op()
    executions = np.maximum(trips, 1)
    measured = np.zeros(graph.op_count, dtype=bool)
    for device_class, rows in rows_of_kinds.items():
        times = _times(op_of_row, stats, device_class, graph.op_count)
        here = ~np.isnan(times)
        for row in rows:
            time_us[row, here] = times[here] / executions[here]
        if len(measured_us) and (kind is None or class_of_kind(kind) != device_class):
            measured_us[DEVICE_CLASSES.index(device_class), here] = times[here] / executions[here]
        measured |= here & bool(rows)
    ran = measured & (trips == 0)  # a branch that was counted as not taken
    return dataclasses.replace(
        costs,
        trips=np.where(ran, 1, trips) if len(costs.trips) else costs.trips,
        time_us=time_us,
        measured_us=measured_us,
        output_bytes=_output_bytes(costs, stats, op_of_row),
        temporary_bytes=_temporary_bytes(costs, stats, op_of_row),
        source=np.where(measured, np.uint8(CostSource.MEASURED), costs.source),
    )


def _with_row_of(kind: str | None, costs: Costs) -> Costs:
    """`costs` with a row for `kind` of the catalogue, where the ops' work gives its times."""
    if kind not in CATALOGUE or kind in costs.kinds or not len(costs.moved_bytes):
        return costs
    times = time_by_peaks_us(costs.flops, costs.moved_bytes, costs.float_type, CATALOGUE[kind])
    return dataclasses.replace(costs, kinds=(*costs.kinds, kind), time_us=np.vstack((costs.time_us, times)))


def _measured_us(costs: Costs) -> NDArray[np.float64]:
    """A copy of `Costs.measured_us`, all NaN if nothing was measured before; [0, 0] without the ops' work."""
    if len(costs.measured_us) or not len(costs.moved_bytes):
        return costs.measured_us.copy()
    return np.full((len(DEVICE_CLASSES), len(costs.moved_bytes)), np.nan)


def notes_on_measured(costs: Costs, graph: ComputationGraph, stats: StepStats) -> tuple[str, ...]:
    """Remarks for people on `costs` with `stats` in their place, a sentence each."""
    op_of_row = _ops_of_rows(graph, stats)
    classes = _classes_of(stats)
    if not classes:
        held = np.count_nonzero(np.bincount(op_of_row[op_of_row >= 0], minlength=graph.op_count))
        return (f"{held} of {graph.op_count} ops have measured temporary bytes; their times are estimates.",)
    measured = {each: ~np.isnan(_times(op_of_row, stats, each, graph.op_count)) for each in classes}
    anywhere = np.any(list(measured.values()), axis=0)
    share = f"{np.count_nonzero(anywhere)} of {graph.op_count} ops have measured times"
    notes = [
        f"{share}, on {' and '.join(each for each in classes if measured[each].any())}; other times are estimates."
    ]
    for other in DEVICE_CLASSES:
        here = measured.get(other, np.zeros(graph.op_count, dtype=bool))
        lost = np.count_nonzero(anywhere & ~here & (costs.source == CostSource.UNKNOWN))
        if lost:
            notes.append(
                f"{lost} ops could not be estimated and are not measured on {other}: their times there are low."
            )
    return tuple(notes)


def _classes_of(stats: StepStats) -> list[str]:
    """The classes on which times were measured."""
    return sorted(filter(None, set(stats.classes)))


def _rows_of_class(kinds: tuple[str, ...], device_class: str, kind: str | None) -> list[int]:
    """The rows of `Costs.time_us` for which times measured on `device_class` count. Raises CostError."""
    if kind is not None and kind not in CATALOGUE:
        raise CostError(
            "no such device kind", where=shortened(kind), allowed=", ".join(CATALOGUE), field="profile_kind"
        )
    of_class = [row for row, each in enumerate(kinds) if each in CATALOGUE and class_of_kind(each) == device_class]
    if kind is None or class_of_kind(kind) != device_class:
        return of_class
    return [row for row in of_class if kinds[row] == kind]


def _ops_of_rows(graph: ComputationGraph, stats: StepStats) -> NDArray[np.int64]:
    """[rows] the op of each row; -1 for ops that TensorFlow added. Raises GraphError for stats of another graph."""
    index_of_name = {name: op for op, name in enumerate(graph.op_names)}
    op_of_row = np.array([_op(name, index_of_name) for name in stats.names], dtype=np.int64)
    names = {name for name in stats.names if not _is_tensorflows_own(name)}
    found = sum(_op(name, index_of_name) >= 0 for name in names)
    if found == 0 or found < LEAST_SHARE * len(names):
        what = f"the run is of another graph: {found} of its {len(names)} measured ops are in this one"
        raise GraphError(what, allowed="measured times of a run of this graph", field="run_metadata")
    return op_of_row


def _op(text: str, index_of_name: Mapping[str, int]) -> int:
    """The op named `text` in the stats: its name, or `scopes::name:Type#details#`; -1 if there is none."""
    if text in index_of_name:
        return index_of_name[text]
    last = text.partition("#")[0].rpartition("::")[2].partition(":")[0]
    return index_of_name.get(last, -1)


def _is_tensorflows_own(name: str) -> bool:
    """Whether TensorFlow adds such an op to every run: sources, arguments, ends of links between devices."""
    return name.rpartition("/")[2].startswith("_") or name.startswith("MEMCPY")


def _times(op_of_row: NDArray[np.int64], stats: StepStats, device_class: str, op_count: int) -> NDArray[np.float64]:
    """[ops] times measured on `device_class`: of the kernels if there are any, else of the executor; else NaN."""
    of_class = (np.array(stats.classes) == device_class) & (op_of_row >= 0)
    times = np.full(op_count, np.nan)
    for is_kernel in (False, True):
        chosen = of_class & (stats.is_kernel == is_kernel)
        slowest = np.full(op_count, -1.0)
        np.maximum.at(slowest, op_of_row[chosen], stats.time_us[chosen])
        times = np.where(slowest >= 0, slowest, times)
    return times


def _output_bytes(costs: Costs, stats: StepStats, op_of_row: NDArray[np.int64]) -> NDArray[np.int64]:
    """[all outputs] measured bytes, else the estimated ones; measured outputs that the graph lacks are left out."""
    row, slot, size = stats.output.T
    op = op_of_row[row]
    position = costs.output_offset[np.maximum(op, 0)] + slot
    valid = (op >= 0) & (position < costs.output_offset[np.maximum(op, 0) + 1])
    largest = np.full(len(costs.output_bytes), -1, dtype=np.int64)
    np.maximum.at(largest, position[valid], size[valid])
    return np.where(largest >= 0, largest, costs.output_bytes)


def _temporary_bytes(costs: Costs, stats: StepStats, op_of_row: NDArray[np.int64]) -> NDArray[np.int64]:
    """[ops] the largest measured bytes, else the estimated ones."""
    largest = np.full(len(costs.temporary_bytes), -1, dtype=np.int64)
    valid = op_of_row >= 0
    np.maximum.at(largest, op_of_row[valid], stats.temporary_bytes[valid])
    return np.where(largest >= 0, largest, costs.temporary_bytes)
