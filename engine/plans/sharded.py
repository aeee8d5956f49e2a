"""What sharding all weights would cost (FSDP, ZeRO-3): a line to compare with, not a plan that is simulated.

Each device keeps one part in N of weights, gradients and the optimizer's state, and takes an equal share of the batch.
For each group and micro-batch the weights are gathered before the forward pass and again before the backward pass, and
the gradients are reduced and scattered behind it, while the groups before run: a pass takes the greater of its work and
its collectives, and its first gather waits for nothing. At its peak a device holds its part, the two largest groups'
weights and the largest one's gradients whole, and what one micro-batch holds besides.

Source: Rajbhandari et al.: ZeRO, SC 2020; Zhao et al.: PyTorch FSDP, VLDB 2023.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import BACKWARD, OPTIMIZER
from engine.plans.by_batch import ModelByBatch
from engine.plans.gradients import given_to_optimizer
from engine.plans.plan import Replica
from engine.plans.simulated import PlanSimulator


@dataclass(frozen=True, slots=True)
class ShardedCost:
    """The estimate for one size of micro-batch."""

    micro_batch: int
    micro_batches: int
    """of each device"""
    batch_time_us: float
    peak_bytes: NDArray[np.int64]
    """[devices of the cluster]"""


def sharded_cost(
    simulator: PlanSimulator, devices: tuple[int, ...], micro_batch: int, micro_batches: int
) -> ShardedCost:
    """The line for `devices` with this many micro-batches each. Raises CostError where an op has no time."""
    model, cluster = simulator.model, simulator.cluster
    grouping = model.prepared.grouping
    alone = np.zeros(grouping.group_count, np.int32)
    replicas = [simulator.replica(Replica((device,), alone, micro_batch, 1)) for device in devices]
    batch = replicas[0]
    sizes = _bytes_of_groups(model, micro_batch)
    gather_us = [simulator.collectives.reduce_scatter_us(devices, size) for size in sizes.tolist()]
    passes_us = [_passes_us(model, simulator, device, micro_batch) for device in devices]
    forward_us, backward_us, update_us = np.max(passes_us, axis=0).tolist()
    all_us, has_backward = sum(gather_us), bool(np.any(batch.graph.phase == BACKWARD))
    micro_us = max(forward_us, all_us) + max(backward_us, 2 * all_us * has_backward)
    batch_us = max(gather_us, default=0.0) + micro_batches * micro_us + update_us / len(devices)
    peak_bytes = np.zeros(cluster.device_count, np.int64)
    held_bytes, given = int(batch.costs.persistent_bytes.sum()), given_to_optimizer(batch.graph, batch.costs)
    gradients_bytes = int(given.bytes[given.is_gradient].sum())
    whole_bytes = int(np.sort(sizes)[-2:].sum()) + int(sizes.max(initial=0)) * has_backward
    for device, replica in zip(devices, replicas, strict=True):
        besides_bytes = int(replica.peak_bytes[0]) - held_bytes - gradients_bytes
        part_bytes = -(-(held_bytes + gradients_bytes) // len(devices))
        peak_bytes[device] = part_bytes + whole_bytes + max(0, besides_bytes)
    return ShardedCost(micro_batch, micro_batches, batch_us, peak_bytes)


def _bytes_of_groups(model: ModelByBatch, micro_batch: int) -> NDArray[np.int64]:
    """[groups with weights] the bytes of each one's weights: those of its gradients; without any, what it keeps."""
    graph, costs, grouping = model.prepared.graph, model.costs(micro_batch), model.prepared.grouping
    given = given_to_optimizer(graph, costs)
    of_group = grouping.group_of_op[given.op[given.is_gradient]]
    if len(of_group):
        sizes = np.bincount(of_group, given.bytes[given.is_gradient], grouping.group_count)
    else:
        sizes = np.bincount(grouping.group_of_op, costs.persistent_bytes, grouping.group_count)
    return sizes[sizes > 0].astype(np.int64)


def _passes_us(
    model: ModelByBatch, simulator: PlanSimulator, device: int, micro_batch: int
) -> tuple[float, float, float]:
    """The work of a micro-batch's forward and backward pass, and of the optimizer, on `device`."""
    costs, cluster = model.costs(micro_batch), simulator.cluster
    phase = model.prepared.graph.phase if len(model.prepared.graph.phase) else np.zeros(len(costs.flops), np.uint8)
    times_us = np.nan_to_num(costs.time_on_devices([cluster.devices[device]])[0])
    times_us = times_us + cluster.op_rests_us[device] * costs.rests_of_op() * (times_us > 0)
    backward_us, update_us = (float(times_us[phase == each].sum()) for each in (BACKWARD, OPTIMIZER))
    return float(times_us.sum()) - backward_us - update_us, backward_us, update_us
