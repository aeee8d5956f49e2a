"""How long ops and transfers take inside of training steps, beside what trials say: corrects a calibrated cluster.

A trial repeats one op, so its inputs lie in the processor's caches, its memory is at hand, and its shape is one of a
few. In a step an op of the same type takes 1.4 times as long or more, and kernels that are slow for other shapes show.
Of each op type that takes time in the steps, the efficiency is divided by measured over simulated time, summed over the
traced steps; that of all other types by what holds for most of the time. Then all efficiencies are scaled once more, so
that the steps on one device take as long as they do untraced.

In a step transfers share the processors with ops. Their times, in latency, bandwidth and rest alike, are multiplied by
the one factor with which placements on several devices are as much slower than one device, in the mean, as measured.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import LARGEST_BANDWIDTH_BYTES_PER_US, SMALLEST_BANDWIDTH_BYTES_PER_US, Cluster
from engine.clusters.own_kinds import EFFICIENCIES_OF_TYPES
from engine.measuring.step_record import StepRecord
from engine.prepared import PreparedGraph
from engine.simulator import Simulator

LINK_SLOWDOWNS = (0.25, 8.0)
"""factors of transfers' times between which the right one is looked for"""
HALVINGS = 12
LEAST_US = 100.0
"""of an op type's measured and simulated time in all steps: less may be a chance"""


@dataclass(frozen=True, slots=True)
class StepOnOneDevice:
    """A step that ran whole on the first device of a cluster."""

    prepared: PreparedGraph
    traced: StepRecord
    step_time_us: float
    """of the untraced step"""


@dataclass(frozen=True, slots=True)
class StepsOfGraph:
    """A graph that ran whole on one device, and under some placements, the first of which is that one."""

    on_one_device: StepOnOneDevice
    placements: NDArray[np.int32]
    """[placements, groups]"""
    step_time_us: NDArray[np.float64]
    """[placements] measured"""

    def ratios(self, cluster: Cluster) -> NDArray[np.float64]:
        """[placements] measured step times over those simulated on `cluster`."""
        prepared = self.on_one_device.prepared
        simulator = Simulator(prepared.graph, prepared.costs, cluster, prepared.grouping.group_of_op)
        return np.asarray(self.step_time_us / simulator.evaluate(self.placements).step_time_us)


@dataclass(frozen=True, slots=True)
class TimeOfType:
    """What the ops of one type took in some steps, all together."""

    measured_us: float
    simulated_us: float

    @property
    def slowdown(self) -> float:
        """Measured over simulated."""
        return self.measured_us / self.simulated_us


def times_of_types(steps: Sequence[StepOnOneDevice], cluster: Cluster) -> dict[str, TimeOfType]:
    """The op types that take some time in the steps, both measured and simulated on `cluster`."""
    measured: dict[str, float] = {}
    simulated: dict[str, float] = {}
    for step in steps:
        graph, ran = step.prepared.graph, step.traced.ran
        of_graph = ran.op < graph.op_count
        ran_us = np.bincount(ran.op[of_graph], ran.time_us[of_graph], graph.op_count).astype(np.float64)
        simulated_us = np.nan_to_num(step.prepared.costs.time_on_devices(cluster.devices[:1])[0])
        for sums, time_us in ((measured, ran_us), (simulated, simulated_us)):
            for op_type, us in _sums(graph.op_types, time_us).items():
                sums[op_type] = sums.get(op_type, 0.0) + us
    both = {op_type: TimeOfType(measured.get(op_type, 0.0), us) for op_type, us in simulated.items()}
    return {op_type: time for op_type, time in both.items() if min(time.measured_us, time.simulated_us) >= LEAST_US}


def _sums(op_types: Sequence[str], time_us: NDArray[np.float64]) -> dict[str, float]:
    """Op type → sum of the times [ops] of its ops."""
    names, type_of_op = np.unique(op_types, return_inverse=True)
    return dict(zip(names.tolist(), np.bincount(type_of_op, time_us, len(names)).tolist(), strict=True))


def usual_slowdown(times: Sequence[TimeOfType]) -> float:
    """The median of measured over simulated times, weighted by the measured time; 1 for none."""
    if not times:
        return 1.0
    in_order = sorted(times, key=lambda time: time.slowdown)
    reached = np.cumsum([time.measured_us for time in in_order])
    return in_order[int(np.searchsorted(reached, reached[-1] / 2))].slowdown


def corrected(cluster: Cluster, graphs: Sequence[StepsOfGraph]) -> Cluster:
    """The calibrated `cluster` with the op times and the transfers that the steps show; itself without graphs."""
    if not graphs:
        return cluster
    with_ops = _with_op_times(cluster, [graph.on_one_device for graph in graphs])
    return with_slower_links(with_ops, link_slowdown(with_ops, graphs))


def _with_op_times(cluster: Cluster, steps: Sequence[StepOnOneDevice]) -> Cluster:
    times = times_of_types(steps, cluster)
    usual = usual_slowdown(list(times.values()))
    kind = cluster.devices[0].own
    assert kind is not None
    known = kind.efficiency_by_op_type
    slowdown = {op_type: times[op_type].slowdown if op_type in times else usual for op_type in {**known, **times}}
    of_types = {op_type: known.get(op_type, kind.efficiency) / slower for op_type, slower in slowdown.items()}
    changed = _with_efficiency(cluster, kind.efficiency / usual, of_types)
    left = float(np.exp(np.mean([np.log(step.step_time_us / _simulated_us(step, changed)) for step in steps])))
    return _with_efficiency(cluster, kind.efficiency / usual / left, {t: each / left for t, each in of_types.items()})


def with_slower_links(cluster: Cluster, factor: float) -> Cluster:
    """The cluster with transfers that take `factor` times as long."""
    low, high = SMALLEST_BANDWIDTH_BYTES_PER_US, LARGEST_BANDWIDTH_BYTES_PER_US
    return dataclasses.replace(
        cluster,
        bandwidth_bytes_per_us=np.clip(cluster.bandwidth_bytes_per_us / factor, low, high),
        latency_us=cluster.latency_us * factor,
        link_rest_us=cluster.link_rest_us * factor,
    )


def link_slowdown(cluster: Cluster, graphs: Sequence[StepsOfGraph]) -> float:
    """The factor of all transfers' times with which placements are as much slower than one device as measured.

    In the mean of the logarithms; found by halving, since slower links make no step faster that computes elsewhere, or
    nearly none.
    """

    def is_too_slow(factor: float) -> bool:
        of_graphs = [graph.ratios(with_slower_links(cluster, factor)) for graph in graphs]
        return float(np.mean([np.log(ratios[1:] / ratios[0]).mean() for ratios in of_graphs])) < 0.0

    low, high = np.log(LINK_SLOWDOWNS)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_too_slow(float(np.exp(middle))) else (middle, high)
    return float(np.exp((low + high) / 2))


def _simulated_us(step: StepOnOneDevice, cluster: Cluster) -> float:
    prepared = step.prepared
    simulator = Simulator(prepared.graph, prepared.costs, cluster, prepared.grouping.group_of_op)
    return float(simulator.evaluate(np.zeros((1, simulator.group_count), np.int32)).step_time_us[0])


def _with_efficiency(cluster: Cluster, efficiency: float, of_types: dict[str, float]) -> Cluster:
    """The cluster with these efficiencies of the one kind that all its devices have, within what a cluster may say."""
    kind = cluster.devices[0].own
    assert kind is not None
    low, high = EFFICIENCIES_OF_TYPES
    own = dataclasses.replace(
        kind,
        efficiency=min(max(efficiency, low), 1.0),
        efficiency_by_op_type={op_type: min(max(each, low), high) for op_type, each in sorted(of_types.items())},
    )
    return dataclasses.replace(
        cluster, devices=tuple(dataclasses.replace(device, own=own) for device in cluster.devices)
    )
