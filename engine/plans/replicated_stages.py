"""Stages that are replicated one by one, found by PipeDream's dynamic programme.

The groups stand in the order of their numbers, in which the forward pass runs. A stage is an interval of them on some
devices that follow each other in the given order, and take micro-batches in turn. A stage of m devices takes, for each
micro-batch, one part in m of the greater of its work and the time in which m workers share its weights,
4 (m − 1) / m · their bytes / bandwidth; between two stages lies twice what is sent forward. The plan with the smallest
greatest of these is sought, exactly.

With devices that differ, the work of a stage is that on the slowest of them, since turns are equal. The bandwidth is
the least between two devices, as published for one kind of link.

Source: Narayanan et al.: PipeDream, SOSP 2019, section 3.1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.graphs.graph import OPTIMIZER
from engine.graphs.grouping.grouping import edges_between
from engine.plans.gradients import given_to_optimizer
from engine.plans.plan import Replica
from engine.prepared import PreparedGraph


@dataclass(frozen=True, slots=True)
class LayerCosts:
    """What the programme knows of layers in their order."""

    time_us: NDArray[np.float64]
    """[devices, layers] of one micro-batch's passes"""
    shared_us: NDArray[np.float64]
    """[layers] in which one worker sends the gradients once"""
    sent_us: NDArray[np.float64]
    """[layers] in which what the layers up to this one make for later ones is sent; 0 for the last"""


@dataclass(frozen=True, slots=True)
class WorkerStage:
    """Layers `first` to `beyond`, on the devices `first_device` to `beyond_device` of the order."""

    first: int
    beyond: int
    first_device: int
    beyond_device: int


def layer_costs(prepared: PreparedGraph, costs: Costs, cluster: Cluster, syncs: float) -> LayerCosts:
    """The layers of a micro-batch with `costs`; weights are shared `syncs` times a micro-batch."""
    graph, grouping = prepared.graph, prepared.grouping
    groups, devices = grouping.group_count, cluster.device_count
    early = graph.phase != OPTIMIZER if len(graph.phase) else np.ones(graph.op_count, bool)
    rests_us = cluster.op_rests_us[:, None] * costs.rests_of_op()
    op_us = costs.time_on_devices(cluster.devices)
    op_us = np.where(early, np.where(np.isnan(op_us), np.inf, op_us + rests_us * (op_us > 0)), 0.0)
    time_us = np.array([np.bincount(grouping.group_of_op, row, groups) for row in op_us])
    between = ~np.eye(devices, dtype=bool)
    us_of_byte = 1 / cluster.bandwidth_bytes_per_us.min(where=between, initial=np.inf)
    given = given_to_optimizer(graph, costs)
    of_group = grouping.group_of_op[given.op[given.is_gradient]]
    gradient_bytes = np.bincount(of_group, given.bytes[given.is_gradient], groups)
    pairs, sizes = edges_between(graph, costs, grouping.group_of_op)
    (source, target), sent_bytes = pairs[pairs[:, 0] < pairs[:, 1]].T, sizes[pairs[:, 0] < pairs[:, 1]]
    cut_bytes = np.zeros(groups + 1)
    np.add.at(cut_bytes, source, sent_bytes)
    np.subtract.at(cut_bytes, target, sent_bytes)
    return LayerCosts(time_us, syncs * gradient_bytes * us_of_byte, np.cumsum(cut_bytes)[:groups] * us_of_byte)


def replicated_stages(layers: LayerCosts, most_workers: int | None = None) -> list[WorkerStage]:
    """The stages with the least period, on all devices in their order; [] where a layer can run on none of them.

    `most_workers`: of a stage; None: all devices.
    """
    devices, count = layers.time_us.shape
    sums_us = np.concatenate((np.zeros((devices, 1)), np.cumsum(layers.time_us, axis=1)), axis=1)
    shared_sums_us = np.concatenate(([0.0], np.cumsum(layers.shared_us)))
    shared_us = shared_sums_us[None, :] - shared_sums_us[:, None]
    sent_us = np.concatenate(([0.0], 2 * layers.sent_us))
    least_us = np.full((devices + 1, count + 1), np.inf)
    least_us[0, 0] = 0.0
    before = np.zeros((devices + 1, count + 1, 2), np.int64)
    for beyond_device in range(1, devices + 1):
        work_us = np.zeros((count + 1, count + 1))
        for first_device in reversed(range(max(0, beyond_device - (most_workers or devices)), beyond_device)):
            work_us = np.maximum(work_us, _between(sums_us[first_device]))
            workers = beyond_device - first_device
            stage_us = np.maximum(work_us, 4 * (workers - 1) / workers * shared_us) / workers
            so_far_us = np.maximum(least_us[first_device], sent_us if first_device else 0.0)
            period_us = np.maximum(so_far_us[:, None], stage_us)
            first = period_us.argmin(axis=0)
            found_us = period_us[first, np.arange(count + 1)]
            better = found_us < least_us[beyond_device]
            least_us[beyond_device][better] = found_us[better]
            before[beyond_device, better] = np.stack((np.full(count + 1, first_device), first), axis=1)[better]
    return _walked_back(before, count) if np.isfinite(least_us[devices, count]) else []


def work_period_us(layers: LayerCosts, stages: Sequence[WorkerStage]) -> float:
    """The work of a micro-batch on the busiest device of `stages` of one device each."""
    return max(float(layers.time_us[stage.first_device, stage.first : stage.beyond].sum()) for stage in stages)


def _between(sums_us: NDArray[np.float64]) -> NDArray[np.float64]:
    """[first, beyond] the time of each interval; infinite for one without layers, and for what cannot run."""
    with np.errstate(invalid="ignore"):  # of two infinite sums
        times_us = sums_us[None, :] - sums_us[:, None]
    return np.where(np.triu(np.isfinite(times_us), 1), times_us, np.inf)


def _walked_back(before: NDArray[np.int64], layers: int) -> list[WorkerStage]:
    stages: list[WorkerStage] = []
    device, layer = len(before) - 1, layers
    while device:
        first_device, first = before[device, layer].tolist()
        stages.insert(0, WorkerStage(first, layer, first_device, device))
        device, layer = first_device, first
    return stages


def replica_of_stages(
    stages: Sequence[WorkerStage], devices: Sequence[int], micro_batch: int, micro_batches: int
) -> Replica | None:
    """A replica on `devices` of a cluster, in the order of the programme; None where one would never have its turn.

    Devices take turns in the cluster's order.
    """
    if not stages or math.lcm(*(stage.beyond_device - stage.first_device for stage in stages)) > micro_batches:
        return None
    layers = [stage.beyond - stage.first for stage in stages]
    turns = [tuple(sorted(range(stage.first_device, stage.beyond_device), key=devices.__getitem__)) for stage in stages]
    placement = np.repeat([own[0] for own in turns], layers).astype(np.int32)
    return Replica(
        tuple(devices), placement, micro_batch, micro_batches, tuple(each for each in turns if len(each) > 1)
    )
