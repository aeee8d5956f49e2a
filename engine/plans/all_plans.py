"""All plans of a division, where they are few: every placement of each replica, with every share of the batch.

The order is that of a bound: no plan ends before the passes of its slowest replica. So a search that stops at the first
bound above its best plan has seen all that could be better.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.plans.plan import Plan, Replica
from engine.plans.simulated import PlanSimulator

MOST_PLANS = 10_000
"""of a division; more are searched"""


@dataclass(frozen=True, slots=True)
class BoundedPlan:
    """A plan and a time that its batch cannot beat."""

    bound_us: float
    plan: Plan


def are_few(allowed: Sequence[NDArray[np.bool_]], micro_batches: int) -> bool:
    """Whether all plans can be tried; `allowed` [replicas] of [groups, devices of the replica]."""
    placements = math.prod(math.prod(each.sum(axis=1).tolist()) for each in allowed)
    return placements * math.comb(micro_batches - 1, len(allowed) - 1) <= MOST_PLANS


def all_plans(
    simulator: PlanSimulator,
    devices: Sequence[tuple[int, ...]],
    allowed: Sequence[NDArray[np.bool_]],
    micro_batch: int,
    micro_batches: int,
) -> list[BoundedPlan]:
    """All plans of replicas on `devices` [replicas], those with the least bound first; `allowed` as in `are_few`."""
    placements = [[*_placements(each)] for each in allowed]
    plans = []
    for shares in _shares(micro_batches, len(devices)):
        choices = [
            [_bounded(simulator, Replica(own, placed, micro_batch, share)) for placed in of_replica]
            for own, of_replica, share in zip(devices, placements, shares, strict=True)
        ]
        for chosen in itertools.product(*choices):
            bound_us = max(each_us for each_us, _ in chosen)
            plans.append(BoundedPlan(bound_us, Plan(tuple(replica for _, replica in chosen))))
    return sorted(plans, key=lambda each: each.bound_us)


def _bounded(simulator: PlanSimulator, replica: Replica) -> tuple[float, Replica]:
    return float(simulator.replica(replica).free_us.max()), replica


def _placements(allowed: NDArray[np.bool_]) -> Iterator[NDArray[np.int32]]:
    for devices in itertools.product(*(np.flatnonzero(row).tolist() for row in allowed)):
        yield np.array(devices, np.int32)


def _shares(micro_batches: int, replicas: int) -> Iterator[tuple[int, ...]]:
    """All ways to give each replica at least one of the micro-batches."""
    for cuts in itertools.combinations(range(1, micro_batches), replicas - 1):
        edges = (0, *cuts, micro_batches)
        yield tuple(beyond - first for first, beyond in itertools.pairwise(edges))
