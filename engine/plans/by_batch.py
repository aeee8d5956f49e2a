"""A model's costs for micro-batches of any number of samples, from readings of its step at one or two numbers.

Bytes, operations and times are taken as linear in the samples, op by op and output by output, through the two
readings. What the samples do not change is constant: weights, gradients, optimizer. With one reading, only its own
number of samples is known.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.clusters.device_kinds import CATALOGUE
from engine.costs.costs import Costs, time_by_peaks_us
from engine.errors import GraphError, SettingsError, shortened
from engine.graphs.phases import phases_of_graph
from engine.prepared import PreparedGraph
from engine.simulator.streams.passes import has_backward_pass
from engine.simulator.topology import topological_order

OF_OPS = ("flops", "moved_bytes", "persistent_bytes", "temporary_bytes", "time_us", "measured_us")
OF_OUTPUTS = ("output_bytes", "contents_bytes")


@dataclass(frozen=True, slots=True)
class ModelByBatch:
    """One graph, with its costs at any micro-batch. Raises GraphError for readings that are not of one model."""

    readings: tuple[PreparedGraph, ...]
    """the same step for one, or two numbers of samples, the smaller one first"""
    samples: tuple[int, ...]
    """[readings] of each"""
    _costs: dict[int, Costs] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        assert len(self.readings) == len(self.samples) and 1 <= len(self.readings) <= 2
        if len(self.readings) == 2:
            _require_one_model(*self.readings)

    @property
    def prepared(self) -> PreparedGraph:
        """The reading whose ops and groups are those of all micro-batches."""
        return self.readings[0]

    def is_known(self, samples: int) -> bool:
        """Whether a micro-batch of `samples` has costs."""
        return len(self.readings) == 2 or samples in self.samples

    def is_extrapolated(self, samples: int) -> bool:
        """Whether `samples` lie outside of what was read."""
        return not self.samples[0] <= samples <= self.samples[-1]

    def costs(self, samples: int) -> Costs:
        """The costs of a micro-batch of `samples`. Raises SettingsError where they are not known."""
        if samples in self.samples:
            return self.readings[self.samples.index(samples)].costs
        if not self.is_known(samples):
            what = f"a micro-batch of {samples} samples is not known from a step of {self.samples[0]}"
            allowed = f"{self.samples[0]}, or a second reading at another batch"
            raise SettingsError(what, where="micro_batch", allowed=allowed, field="micro_batch")
        if samples not in self._costs:
            self._costs[samples] = _between(self.readings[0].costs, self.readings[1].costs, self._share(samples))
        return self._costs[samples]

    def at(self, samples: int) -> PreparedGraph:
        """The graph of a micro-batch of `samples`, as if it had been read at that number. Raises as `costs`."""
        origin = dataclasses.replace(self.prepared.origin, samples=samples)
        return dataclasses.replace(self.prepared, costs=self.costs(samples), origin=origin)

    def _share(self, samples: int) -> float:
        small, large = self.samples
        return (samples - small) / (large - small)


def model_by_batch(readings: Sequence[PreparedGraph]) -> ModelByBatch:
    """The model of one or two readings, each of which says its samples. Raises GraphError."""
    in_order = sorted(readings, key=samples_of)
    samples = tuple(samples_of(reading) for reading in in_order)
    if len(set(samples)) < len(samples):
        what = f"both readings are of {samples[0]} samples"
        raise GraphError(what, where=in_order[0].graph.name, allowed="two different numbers")
    return ModelByBatch(tuple(map(_with_phases, in_order)), samples)


def samples_of(reading: PreparedGraph) -> int:
    """The samples of a step, as its file says, or else the batch size with which it was read. Raises GraphError."""
    samples = reading.origin.samples or reading.origin.options.get("batch_size")
    if not isinstance(samples, int) or not samples:
        what = "the file does not say of how many samples it is a step"
        allowed = "a recording with batch=, or a graph read with a batch size"
        raise GraphError(what, where=reading.graph.name, allowed=allowed)
    return samples


def _with_phases(reading: PreparedGraph) -> PreparedGraph:
    """The reading with the phases of its ops, which TensorFlow's names tell where the file does not."""
    graph = reading.graph
    if len(graph.phase) or not has_backward_pass(graph):
        return reading
    phase = phases_of_graph(graph, topological_order(graph))
    return dataclasses.replace(reading, graph=dataclasses.replace(graph, phase=phase))


def _require_one_model(small: PreparedGraph, large: PreparedGraph) -> None:
    one, other = small.graph, large.graph
    if one.op_names != other.op_names or one.op_types != other.op_types:
        both = zip(one.op_names, other.op_names, strict=False)
        differing = next((a for a, b in both if a != b), f"{one.op_count} and {other.op_count} ops")
        what, allowed = "the two readings are not of one model", "the same ops at both batches"
        raise GraphError(what, where=shortened(differing), allowed=allowed)
    same_edges = all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("edge_source", "edge_target")
    )
    if not same_edges or not np.array_equal(small.costs.output_offset, large.costs.output_offset):
        what, allowed = "the two readings have other edges", "the same edges at both batches"
        raise GraphError(what, where=one.name, allowed=allowed)
    _require_same_costs(one.name, small.costs, large.costs)


def _require_same_costs(where: str, small: Costs, large: Costs) -> None:
    """Both readings must say the same things of their ops, or a line through both has no meaning."""
    same_fields = all(getattr(small, name).shape == getattr(large, name).shape for name in (*OF_OPS, *OF_OUTPUTS))
    if small.kinds != large.kinds or not same_fields:
        what, allowed = "one reading has times that the other has not", "measured times in both readings, or in none"
        raise GraphError(what, where=where, allowed=allowed)
    if not np.array_equal(small.trips_of_op() > 0, large.trips_of_op() > 0):
        what, allowed = "the two readings execute other ops", "the same ops at both batches"
        raise GraphError(what, where=where, allowed=allowed)


def _between(small: Costs, large: Costs, share: float) -> Costs:
    """The costs at `share` of the way from `small` to `large`, never below zero."""
    changed: dict[str, Any] = {
        name: _line(getattr(small, name), getattr(large, name), share) for name in (*OF_OPS, *OF_OUTPUTS)
    }
    made = dataclasses.replace(small, **changed)
    if not len(made.moved_bytes):
        return made
    by_peaks = [_times_by_peaks_us(costs) for costs in (small, large, made)]
    are_by_peaks = (small.time_us == by_peaks[0]) & (large.time_us == by_peaks[1])
    return dataclasses.replace(made, time_us=np.where(are_by_peaks, by_peaks[2], made.time_us))


def _times_by_peaks_us(costs: Costs) -> NDArray[np.float64]:
    """[kinds, ops] what `Costs` takes for times by the peaks alone, which stand for the ops' work; NaN without any."""
    times_us = np.full(costs.time_us.shape, np.nan)
    for row, name in enumerate(costs.kinds):
        if name in CATALOGUE:
            times_us[row] = time_by_peaks_us(costs.flops, costs.moved_bytes, costs.float_type, CATALOGUE[name])
    return times_us


def _line(small: NDArray[np.number], large: NDArray[np.number], share: float) -> NDArray[np.number]:
    """[any shape] values on the line through both; integers are rounded."""
    values = np.maximum(small + (large.astype(np.float64) - small) * share, 0)
    return np.rint(values).astype(small.dtype) if small.dtype.kind in "iu" else values.astype(small.dtype)
