"""All plans of a division, where they are few: every placement of each replica, with every share of the batch.

A placement is one on places: single devices, or sets of devices that take turns in the cluster's order.

The order is that of a bound: no plan ends before the passes of its slowest replica. So a search that stops at the first
bound above its best plan has seen all that could be better.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.plans.plan import Plan, Replica
from engine.plans.simulated import PlanSimulator

DeviceSets = tuple[tuple[int, ...], ...]
"""sets of devices, each of which takes a micro-batch of its groups as one device does"""
MOST_DEVICES = 6
"""of a replica of which all plans are tried"""
MOST_PLANS = 20_000
"""of a division; more are searched"""


@dataclass(frozen=True, slots=True)
class BoundedPlan:
    """A plan and a time that its batch cannot beat."""

    bound_us: float
    plan: Plan


def are_few(allowed: Sequence[NDArray[np.bool_]], micro_batches: int, has_turns: bool) -> bool:
    """Whether all plans can be tried; `allowed` [replicas] of [groups, devices of the replica]."""
    plans = math.comb(micro_batches - 1, len(allowed) - 1)
    for each in allowed:
        if plans > MOST_PLANS or each.shape[1] > MOST_DEVICES:
            return False
        ways = _all_places(each, has_turns)
        plans *= sum(math.prod(_on_places(each, places).sum(axis=1).tolist()) for places in ways)
    return plans <= MOST_PLANS


def all_plans(
    simulator: PlanSimulator,
    devices: Sequence[tuple[int, ...]],
    allowed: Sequence[NDArray[np.bool_]],
    micro_batch: int,
    micro_batches: int,
    has_turns: bool,
    is_over: Callable[[], bool],
) -> list[BoundedPlan] | None:
    """All plans of replicas on `devices` [replicas], those with the least bound first; `allowed` as in `are_few`.

    None where `is_over` says so before the passes of all replicas are simulated.
    """
    placements = [[*_placements(each, has_turns)] for each in allowed]
    plans = []
    for shares in _shares(micro_batches, len(devices)):
        choices: list[list[tuple[float, Replica]]] = []
        for own, of_replica, share in zip(devices, placements, shares, strict=True):
            choices.append([])
            for placed, turns in of_replica:
                if is_over():
                    return None
                if math.lcm(*map(len, turns)) <= share:
                    choices[-1].append(_bounded(simulator, Replica(own, placed, micro_batch, share, turns)))
        for chosen in itertools.product(*choices):
            bound_us = max(each_us for each_us, _ in chosen)
            plans.append(BoundedPlan(bound_us, Plan(tuple(replica for _, replica in chosen))))
    return sorted(plans, key=lambda each: each.bound_us)


def _bounded(simulator: PlanSimulator, replica: Replica) -> tuple[float, Replica]:
    return float(simulator.replica(replica).free_us.max()), replica


def _placements(allowed: NDArray[np.bool_], has_turns: bool) -> Iterator[tuple[NDArray[np.int32], DeviceSets]]:
    """Each placement with the sets that take turns in it."""
    for places in _all_places(allowed, has_turns):
        possible = _on_places(allowed, places)
        for chosen in itertools.product(*(np.flatnonzero(row).tolist() for row in possible)):
            turns = tuple(place for index, place in enumerate(places) if len(place) > 1)
            if all(index in chosen for index, place in enumerate(places) if len(place) > 1):
                yield np.array([places[index][0] for index in chosen], np.int32), turns


def _on_places(allowed: NDArray[np.bool_], places: DeviceSets) -> NDArray[np.bool_]:
    """[groups, places] where each group may go: on all devices of a place."""
    return np.stack([allowed[:, place].all(axis=1) for place in places], axis=1)


def _all_places(allowed: NDArray[np.bool_], has_turns: bool) -> list[DeviceSets]:
    """The ways to make places of the devices: each alone, or all partitions where stages may be taken in turn."""
    devices = allowed.shape[1]
    return _partitions(devices) if has_turns else [tuple((device,) for device in range(devices))]


def _partitions(devices: int) -> list[DeviceSets]:
    """All partitions of `devices`, each set in order."""
    if not devices:
        return [()]
    last = devices - 1
    found: list[DeviceSets] = []
    for smaller in _partitions(last):
        found.append((*smaller, (last,)))
        found += [(*smaller[:index], (*place, last), *smaller[index + 1 :]) for index, place in enumerate(smaller)]
    return found


def _shares(micro_batches: int, replicas: int) -> Iterator[tuple[int, ...]]:
    """All ways to give each replica at least one of the micro-batches."""
    for cuts in itertools.combinations(range(1, micro_batches), replicas - 1):
        edges = (0, *cuts, micro_batches)
        yield tuple(beyond - first for first, beyond in itertools.pairwise(edges))
