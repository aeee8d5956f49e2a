"""How long ops and transfers take inside of training steps, beside what trials say: corrects a calibrated cluster.

A trial repeats one op, so its inputs lie in the processor's caches, its memory is at hand, and its shape is one of a
few. In a step an op of the same type takes 1.4 times as long or more, and kernels that are slow for other shapes show.
An op type that takes time in the steps gets the two efficiencies, of peak and bandwidth, that fit its single ops there
best and give the sum of their times: large ops then show the speed of arithmetic, small ones that of memory. The
efficiency of any other type is divided by the median slowdown of these types. Then all efficiencies are scaled once
more, so that the steps on one device take as long as they do untraced.

In a step transfers share the processors with ops. Their times, in latency, bandwidth and rest alike, are multiplied by
the one factor with which placements on several devices are as much slower than one device, in the mean, as measured.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import LARGEST_BANDWIDTH_BYTES_PER_US, SMALLEST_BANDWIDTH_BYTES_PER_US, Cluster
from engine.clusters.device_kinds import DeviceKind
from engine.clusters.own_kinds import EFFICIENCIES_OF_TYPES
from engine.clusters.shares import Efficiency
from engine.costs.costs import Costs, work_parts_us
from engine.measuring.step_record import StepRecord
from engine.prepared import PreparedGraph
from engine.simulator import Simulator

LINK_SLOWDOWNS = (0.25, 8.0)
"""factors of transfers' times between which the right one is looked for"""
HALVINGS = 12
LEAST_US = 100.0
"""of an op type's measured time in all steps, and half of it at full peak and bandwidth: less may be a chance"""


@dataclass(frozen=True, slots=True)
class StepOnOneDevice:
    """A step that ran whole on the first device of a cluster."""

    prepared: PreparedGraph
    traced: StepRecord
    step_time_us: float
    """of the untraced step"""

    def measured_us(self) -> NDArray[np.float64]:
        """[ops] how long each ran in the traced step."""
        ran, ops = self.traced.ran, self.prepared.graph.op_count
        of_graph = ran.op < ops
        return np.bincount(ran.op[of_graph], ran.time_us[of_graph], ops).astype(np.float64)

    def ops_us(self) -> float:
        """How long all ops ran in the traced step."""
        return float(self.measured_us().sum())


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
class OpsOfType:
    """The ops of one type in some steps, [ops]."""

    measured_us: NDArray[np.float64]
    arithmetic_us: NDArray[np.float64]
    """the time of the op's operations at the peak"""
    moving_us: NDArray[np.float64]
    """the time of the op's bytes at the full bandwidth"""

    def slowdown(self, efficiency: Efficiency) -> float:
        """Measured time over that with this efficiency, all ops together."""
        simulated_us = self.arithmetic_us / efficiency.peak + self.moving_us / efficiency.bandwidth
        return float(self.measured_us.sum() / simulated_us.sum())

    def efficiency(self) -> Efficiency:
        """The efficiency with which all ops together take what was measured, and each about its share of that.

        By least squares with neither part negative. An op's error counts beside the root of its time, so that neither
        the many short ops nor the few long ones decide alone.
        """
        from scipy.optimize import nnls  # loaded only here: it takes a moment

        weights = 1 / np.sqrt(self.measured_us)
        parts = np.stack((self.arithmetic_us, self.moving_us), axis=1)
        times, _ = nnls(parts * weights[:, None], self.measured_us * weights)
        times *= self.measured_us.sum() / (parts @ times).sum()
        low, high = EFFICIENCIES_OF_TYPES
        return Efficiency(*(1 / np.clip(times, 1 / high, 1 / low)).tolist())


def ops_of_types(steps: Sequence[StepOnOneDevice], kind: DeviceKind) -> dict[str, OpsOfType]:
    """The op types that take some time in the steps, both measured and at the peak and bandwidth of `kind`."""
    types = np.concatenate([np.array(step.prepared.graph.op_types, dtype=np.str_) for step in steps])
    parts = [_parts_us(step.prepared.costs, kind) for step in steps]
    ran_us = np.concatenate([step.measured_us() for step in steps])
    arithmetic_us, moving_us = (np.concatenate(each) for each in zip(*parts, strict=True))
    works = (ran_us > 0) & (arithmetic_us + moving_us > 0)
    found = {}
    for op_type in np.unique(types[works]).tolist():
        chosen = works & (types == op_type)
        ops = OpsOfType(ran_us[chosen], arithmetic_us[chosen], moving_us[chosen])
        if ops.measured_us.sum() >= LEAST_US and (ops.arithmetic_us + ops.moving_us).sum() >= LEAST_US / 2:
            found[op_type] = ops
    return found


def _parts_us(costs: Costs, kind: DeviceKind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[ops] the time of each op's operations in a step at the peak of `kind`, and that of its bytes."""
    arithmetic_us, moving_us = work_parts_us(costs.flops, costs.moved_bytes, costs.float_type, kind)
    trips = costs.trips_of_op()
    return arithmetic_us * trips, moving_us * trips


def usual_slowdown(slowdowns: Sequence[float]) -> float:
    """The median of the logarithms; 1 for none."""
    return float(np.exp(np.median(np.log(slowdowns)))) if slowdowns else 1.0


def corrected(cluster: Cluster, graphs: Sequence[StepsOfGraph]) -> Cluster:
    """The calibrated `cluster` with the op times and the transfers that the steps show; itself without graphs."""
    if not graphs:
        return cluster
    with_ops = with_op_times(cluster, [graph.on_one_device for graph in graphs])
    return with_slower_links(with_ops, link_slowdown(with_ops, graphs))


def with_op_times(
    cluster: Cluster,
    steps: Sequence[StepOnOneDevice],
    efficiency_of: Callable[[OpsOfType], Efficiency] = OpsOfType.efficiency,
) -> Cluster:
    """The calibrated `cluster` with the op times that some `steps` show.

    `efficiency_of` is another way to find the efficiency of an op type, for experiments.
    """
    kind = cluster.devices[0].own
    assert kind is not None
    known, ops = kind.efficiency_by_op_type, ops_of_types(steps, kind)
    of_others = Efficiency.of_both(kind.efficiency)
    usual = usual_slowdown([each.slowdown(known.get(op_type, of_others)) for op_type, each in ops.items()])
    of_types = {op_type: _slower(each, usual) for op_type, each in known.items()}
    of_types |= {op_type: efficiency_of(each) for op_type, each in ops.items()}
    changed = _with_efficiency(cluster, kind.efficiency / usual, of_types)
    left = float(np.exp(np.mean([np.log(step.step_time_us / _simulated_us(step, changed)) for step in steps])))
    of_types = {op_type: _slower(each, left) for op_type, each in of_types.items()}
    return _with_efficiency(cluster, kind.efficiency / usual / left, of_types)


def _slower(efficiency: Efficiency, times: float) -> Efficiency:
    """Both shares divided by `times`, within what a cluster may say."""
    low, high = EFFICIENCIES_OF_TYPES
    return Efficiency(*(min(max(share / times, low), high) for share in efficiency))


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


def _with_efficiency(cluster: Cluster, efficiency: float, of_types: dict[str, Efficiency]) -> Cluster:
    """The cluster with these efficiencies of the one kind that all its devices have, within what a cluster may say."""
    kind = cluster.devices[0].own
    assert kind is not None
    own = dataclasses.replace(
        kind,
        efficiency=min(max(efficiency, EFFICIENCIES_OF_TYPES[0]), 1.0),
        efficiency_by_op_type=dict(sorted(of_types.items())),
    )
    return dataclasses.replace(
        cluster, devices=tuple(dataclasses.replace(device, own=own) for device in cluster.devices)
    )
