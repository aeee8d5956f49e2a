"""The times of collectives: how long replicas take to add up their gradients, and to share what they have updated.

- `ring`: the members stand in a ring. Each step every member sends one part in N of the bytes to the next, all at the
  same time, so a step takes as long as the slowest link of the ring. An all-reduce is N − 1 steps of a reduce-scatter
  and N − 1 steps of an all-gather (Patarasuk and Yuan 2009).
- `tree`: up a binary tree and down again. The bytes flow in small parts, so each direction takes the latencies of the
  longest way, and the bytes once over the slowest link; a parent of two children takes and gives them twice.
- Where links go through host memory, a member cannot send and receive at one time: bytes count twice.

The ring's order is the one whose slowest link is the fastest, exact for up to `MOST_EXACT` members, else a greedy one.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention

MOST_EXACT = 7
"""members up to which all orders of a ring are tried"""


class Algorithm(StrEnum):
    """How replicas add up their gradients."""

    FASTEST = "fastest"
    """ring or tree, whichever is faster for these bytes"""
    RING = "ring"
    TREE = "tree"


@dataclass(frozen=True, slots=True)
class Ring:
    """Members in the order of a ring."""

    members: tuple[int, ...]
    """devices of the cluster"""
    latency_us: NDArray[np.float64]
    """[members] of the link from each to the next"""
    us_of_byte: NDArray[np.float64]
    """[members] likewise the time of a byte"""

    def part_us(self, steps: int, total_bytes: float) -> float:
        """The time of `steps` steps, each with one part in N of the bytes."""
        return float(steps * (self.latency_us + self.us_of_byte * total_bytes / len(self.members)).max())


class Collectives:
    """The collectives of one cluster; what is found of a set of members is kept."""

    def __init__(self, cluster: Cluster, algorithm: Algorithm = Algorithm.FASTEST) -> None:
        self._latency_us = cluster.latency_us
        ways = 2.0 if cluster.contention in (Contention.HOST, Contention.SENDER) else 1.0
        self._us_of_byte = ways / cluster.bandwidth_bytes_per_us
        self._algorithm = algorithm
        self._rings: dict[tuple[int, ...], Ring] = {}

    def all_reduce_us(self, members: Sequence[int], total_bytes: int) -> float:
        """The time in which each of `members`, devices, has the sum of what each of them has, of `total_bytes`."""
        if len(members) < 2:
            return 0.0
        found = []
        if self._algorithm is not Algorithm.TREE:
            found.append(self.ring_of(members).part_us(2 * (len(members) - 1), total_bytes))
        if self._algorithm is not Algorithm.RING:
            found.append(self._tree_us(members, total_bytes))
        return min(found)

    def reduce_scatter_us(self, members: Sequence[int], total_bytes: int) -> float:
        """The time in which each of `members` has its part in N of the sum, by a ring; an all-gather takes as long."""
        if len(members) < 2:
            return 0.0
        return self.ring_of(members).part_us(len(members) - 1, total_bytes)

    def ring_of(self, members: Sequence[int]) -> Ring:
        """The ring of `members`, which are different devices."""
        key = tuple(sorted(members))
        if key not in self._rings:
            order = self._best_order(key) if len(key) <= MOST_EXACT else self._greedy_order(key)
            following = np.roll(order, -1)
            self._rings[key] = Ring(
                tuple(order), self._latency_us[order, following], self._us_of_byte[order, following]
            )
        return self._rings[key]

    def _best_order(self, members: tuple[int, ...]) -> list[int]:
        first, rest = members[0], members[1:]
        orders = np.array([[first, *order] for order in itertools.permutations(rest)])
        following = np.roll(orders, -1, axis=1)
        slowest = self._us_of_byte[orders, following].max(axis=1)
        latest = self._latency_us[orders, following].max(axis=1)
        return [int(member) for member in orders[np.lexsort((latest, slowest))[0]]]

    def _greedy_order(self, members: tuple[int, ...]) -> list[int]:
        """From the first member on, always the nearest of those that are left."""
        order, left = [members[0]], list(members[1:])
        while left:
            here = order[-1]
            nearest = min(left, key=lambda other: (self._us_of_byte[here, other], self._latency_us[here, other], other))
            order.append(nearest)
            left.remove(nearest)
        return order

    def _tree_us(self, members: Sequence[int], total_bytes: int) -> float:
        """Up and down a binary tree in the ring's order; a parent of two takes, and gives, the bytes twice."""
        order = np.array(self.ring_of(members).members)
        child = np.arange(1, len(order))
        parent = (child - 1) // 2
        children = np.bincount(parent, minlength=len(order))[parent]
        return sum(
            _longest_way_us(self._latency_us[source, target])
            + float((children * self._us_of_byte[source, target]).max() * total_bytes)
            for source, target in ((order[child], order[parent]), (order[parent], order[child]))
        )


def _longest_way_us(latency_us: NDArray[np.float64]) -> float:
    """The longest way between the root of a binary tree and a leaf; `latency_us` [members without the root]."""
    ways = [0.0]
    for index, us in enumerate(latency_us.tolist()):
        ways.append(ways[index // 2] + us)
    return max(ways)
