"""Plans of the stack on all devices: every division, with stages and shares by rule and by simulation; which are run.

Stages are of equal layers on devices in order, or those with which a replica's passes simulate fastest, by all cuts and
orders. Shares are equal, or where micro-batches end first.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import Json
from engine.formats.modules.stages import BEGINNING, SPLIT_SPEC, devices_of_split
from engine.plans.partitions import Division, classes_of_devices, devices_of, divisions
from engine.plans.plan import Plan, Replica
from engine.plans.shares import shares_of
from engine.plans.simulated import PlanSimulator, SimulatedPlan

BEST, MIDDLE, WORST = 3, 6, 3
"""plans that are run"""
Replicas = tuple[Replica, ...]


@dataclass(frozen=True, slots=True)
class TriedPlan:
    """A plan with its division."""

    division: Division
    simulated: SimulatedPlan
    stages: str = "one stage"
    shares: str = "all samples"


class Trials:
    """The plans of a stack of `layers`, with batches of so many micro-batches of `size` samples."""

    def __init__(self, simulator: PlanSimulator, layers: int, size: int, micro_batches: int) -> None:
        self._simulator, self._layers = simulator, layers
        self._size, self._micro_batches = size, micro_batches
        self._placements: dict[tuple[int, ...], NDArray[np.int32]] = {}

    def all(self) -> list[TriedPlan]:
        """Each plan once, the fastest first."""
        classes = classes_of_devices(self._simulator.cluster)
        found: dict[str, TriedPlan] = {}
        for division in divisions(tuple(map(len, classes))):
            if sum(map(sum, division)) == self._simulator.cluster.device_count:
                for tried in self._of_division(division, devices_of(division, classes)):
                    found.setdefault(str([replica.to_json() for replica in tried.simulated.plan.replicas]), tried)
        return sorted(found.values(), key=lambda tried: tried.simulated.batch_time_us)

    def _of_division(self, division: Division, devices: Sequence[tuple[int, ...]]) -> Iterator[TriedPlan]:
        nominal = max(1, self._micro_batches // len(devices))
        for stages, staged in (("equal layers", self._equal), ("best stages", self._best)):
            replicas = tuple(staged(own, max(nominal, len(own))) for own in devices)
            words = stages if max(map(len, devices)) > 1 else "one stage"
            for shares, shared in self._shared(replicas):
                if all(each.micro_batches >= len(each.devices) for each in shared):  # as 1F1B wants
                    yield TriedPlan(division, self._simulator.simulate(Plan(shared)), words, shares)

    def _shared(self, replicas: Replicas) -> Iterator[tuple[str, Replicas]]:
        """The replicas with each way to give them their shares."""
        if len(replicas) == 1:
            yield "all samples", (dataclasses.replace(replicas[0], micro_batches=self._micro_batches),)
            return
        every, more = divmod(self._micro_batches, len(replicas))
        yield "equal shares", _with(replicas, [every + (at < more) for at in range(len(replicas))])
        one_us = [self._alone_us(each, 1) for each in replicas]
        many = max(2, every)
        further_us = [
            (self._alone_us(each, many) - first) / (many - 1) for each, first in zip(replicas, one_us, strict=True)
        ]
        yield "best shares", _with(replicas, shares_of(one_us, further_us, self._micro_batches))

    def _equal(self, devices: tuple[int, ...], micro_batches: int) -> Replica:
        cuts = tuple(self._layers * stage // len(devices) for stage in range(1, len(devices)))
        return self._replica(devices, cuts, micro_batches)

    def _best(self, devices: tuple[int, ...], micro_batches: int) -> Replica:
        """The replica whose passes end first."""
        replicas = (
            self._replica(order, cuts, micro_batches)
            for order in itertools.permutations(devices)
            for cuts in itertools.combinations(range(1, self._layers), len(devices) - 1)
        )
        return min(replicas, key=lambda replica: self._alone_us(replica, micro_batches))

    def _replica(self, devices: tuple[int, ...], cuts: tuple[int, ...], micro_batches: int) -> Replica:
        if cuts not in self._placements:
            prepared = self._simulator.model.prepared
            points: dict[str, Json] = {SPLIT_SPEC: {f"layers.{cut}": BEGINNING for cut in cuts}}
            placement = np.zeros(prepared.grouping.group_count, np.int32)
            placement[prepared.grouping.group_of_op] = devices_of_split(prepared, self._simulator.cluster, points)
            self._placements[cuts] = placement
        return Replica(devices, self._placements[cuts], self._size, micro_batches)

    def _alone_us(self, replica: Replica, micro_batches: int) -> float:
        """When the replica's passes of so many micro-batches have ended."""
        alone = dataclasses.replace(replica, micro_batches=micro_batches)
        return float(self._simulator.replica(alone).free_us.max())


def _with(replicas: Replicas, shares: Sequence[int]) -> Replicas:
    """The replicas with so many micro-batches."""
    pairs = zip(replicas, shares, strict=True)
    return tuple(dataclasses.replace(each, micro_batches=share) for each, share in pairs)


def to_run(tried: Sequence[TriedPlan]) -> list[TriedPlan]:
    """The best and the worst, each of another division, and of the others those at equal distances in the order."""
    best = _of_other_divisions(tried, BEST)
    worst = _of_other_divisions([each for each in reversed(tried) if each not in best], WORST)
    others = [each for each in tried if each not in best and each not in worst]
    places = np.linspace(0, len(others) - 1, MIDDLE + 2)[1:-1].round().astype(int)
    chosen = [*best, *(others[place] for place in dict.fromkeys(places.tolist())), *worst]
    return sorted(chosen, key=lambda each: each.simulated.batch_time_us)


def _of_other_divisions(tried: Sequence[TriedPlan], count: int) -> list[TriedPlan]:
    """The first of each division, `count` of them."""
    first: dict[Division, TriedPlan] = {}
    for each in tried:
        first.setdefault(each.division, each)
    return list(first.values())[:count]
