"""Which devices to have: the cheapest part of a cluster that reaches a throughput.

The parts are tried in the order of their price; without prices in that of the number of their devices. A part whose
bound is below what is asked is left out: no plan on it is faster than its ops, shared as if they could be cut anywhere,
each with its least time of a sample. A search begins with the best plans of the parts within its own part. So the first
part that reaches is the cheapest one, as far as searches find what there is.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.clusters.cluster import Cluster, part_of_cluster, price_per_hour
from engine.errors import InfeasibleError, SettingsError
from engine.plans.by_batch import ModelByBatch
from engine.plans.partitions import classes_of_devices
from engine.plans.plan import Plan
from engine.plans.request import PlanRequest
from engine.plans.sample_work import SampleWork
from engine.plans.search import PlanSearch
from engine.plans.simulated import SimulatedPlan
from engine.plans.usual import usual_plans
from engine.simulator.streams.figures import US_IN_A_SECOND

MOST_PARTS = 10_000
"""of a cluster that may be tried"""


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """Some devices of a cluster, in its order."""

    devices: tuple[int, ...]
    price_per_hour: float | None
    """of all of them; None where one has no price"""

    def cluster(self, whole: Cluster) -> Cluster:
        """Its devices of the `whole` cluster."""
        return part_of_cluster(whole, np.array(self.devices))


@dataclass(frozen=True, slots=True)
class TriedPart:
    """A part with what was found of it."""

    part: ClusterPart
    most_per_second: float
    """samples a second that no plan on it exceeds"""
    best: SimulatedPlan | None
    """devices are those of the part; None where its bound left it out, or no plan fits"""

    @property
    def samples_per_second(self) -> float:
        """Of the best plan; 0 where there is none, infinite where a batch takes no time."""
        if self.best is None:
            return 0.0
        rate = self.best.samples_per_second
        return math.inf if rate is None else rate


def parts_of(cluster: Cluster) -> list[ClusterPart]:
    """The parts of `cluster`, one of those that are alike: the cheapest first, then those of the fewest devices.

    Beside GPUs all CPUs stay, since they come with the machine. Raises SettingsError where some devices have a price
    and others have none, and for too many parts.
    """
    _require_prices_of_all_or_none(cluster)
    varied, kept = _classes(cluster)
    if (count := math.prod(len(members) + 1 for members in varied)) > MOST_PARTS:
        what, allowed = f"{count:,} parts of the cluster", f"at most {MOST_PARTS:,}"
        raise SettingsError(what, where="cluster", allowed=allowed, field="cluster")
    parts = []
    for counts in itertools.product(*(range(len(members) + 1) for members in varied)):
        taken = [device for members, number in zip(varied, counts, strict=True) for device in members[:number]]
        if taken:
            devices = tuple(sorted([*taken, *kept]))
            parts.append(ClusterPart(devices, price_per_hour(cluster.devices[device] for device in devices)))
    return sorted(parts, key=lambda part: (part.price_per_hour or 0.0, len(part.devices), part.devices))


def _require_prices_of_all_or_none(cluster: Cluster) -> None:
    unknown = sorted({device.kind for device in cluster.devices if device.price_per_hour is None})
    if unknown and any(device.price_per_hour is not None for device in cluster.devices):
        what = f"{', '.join(unknown)} has no price, and others have one"
        raise SettingsError(what, where="cluster", allowed="a price for each device, or for none", field="cluster")


def _classes(cluster: Cluster) -> tuple[list[list[int]], list[int]]:
    """The devices that vary, by classes that are alike and cost the same; and those that all parts have."""
    only_cpus = all(device.is_cpu for device in cluster.devices)
    kept = [index for index, device in enumerate(cluster.devices) if device.is_cpu and not only_cpus]
    varied: list[list[int]] = []
    for members in classes_of_devices(cluster):
        by_price: dict[float | None, list[int]] = {}
        for device in members:
            if device not in kept:
                by_price.setdefault(cluster.devices[device].price_per_hour, []).append(device)
        varied.extend(by_price.values())
    return varied, kept


class Choosing:
    """Searches on parts of one cluster; a search begins with what was found on parts within its own."""

    def __init__(self, model: ModelByBatch, request: PlanRequest, say: Callable[[str], None]) -> None:
        self._model, self._request, self._say = model, request, say
        self._work = SampleWork(model, request.batch)
        self._tried: list[TriedPart] = []

    def cheapest(self, reach: float) -> list[TriedPart]:
        """The parts as they were tried, the last of which is the first that reaches `reach` samples a second.

        Raises InfeasibleError where none does, SettingsError as `parts_of` and for a `reach` of 0 or less.
        """
        if not 0 < reach < math.inf:
            raise SettingsError(f"{reach} samples a second", where="reach", allowed="a number above 0", field="reach")
        for part in parts_of(self._request.cluster):
            if self.tried(part, reach).samples_per_second >= reach:
                return self._tried
        raise InfeasibleError(
            f"no part of the cluster was found to reach {reach:g} samples a second; {self._nearest()}"
        )

    def _nearest(self) -> str:
        """The fastest part that was searched, in words."""
        best = max(self._tried, key=lambda tried: tried.samples_per_second)
        if best.best is None:
            return "no plan on any part can, or fits in memory"
        return (
            f"the fastest, {kinds_words(self._request.cluster, best.part.devices)}, has {best.samples_per_second:.4g}"
        )

    def tried(self, part: ClusterPart, reach: float = 0.0) -> TriedPart:
        """A part with the best plan on it, unless its bound is below `reach`. Raises SettingsError as a search does."""
        most = self.most_per_second(part)
        self._tried.append(TriedPart(part, most, self._searched(part) if most >= reach else None))
        return self._tried[-1]

    def _searched(self, part: ClusterPart) -> SimulatedPlan | None:
        request = replace(self._request, cluster=part.cluster(self._request.cluster))
        search = PlanSearch(self._model, request)
        usual = [simulated.plan for simulated in usual_plans(self._model, request, search).values() if simulated]
        words = kinds_words(self._request.cluster, part.devices)
        try:
            best = search.run([*usual, *self._known_within(part)]).best[0]
        except InfeasibleError:
            self._say(f"{words}: no plan fits in memory")
            return None
        rate = "any" if best.samples_per_second is None else f"{best.samples_per_second:.4g}"
        self._say(f"{words}: {rate} samples a second")
        return best

    def _known_within(self, part: ClusterPart) -> Iterator[Plan]:
        """The plans of parts within `part`, on its devices."""
        index_of = {device: index for index, device in enumerate(part.devices)}
        for tried in self._tried:
            if tried.best is not None and set(tried.part.devices) <= index_of.keys():
                yield moved(tried.best.plan, [index_of[device] for device in tried.part.devices])

    def most_per_second(self, part: ClusterPart) -> float:
        """Samples a second that no plan on `part` exceeds; infinite where they take no time."""
        work_us = self._work.least_us(part.cluster(self._request.cluster), self._work.extreme_sizes())
        return US_IN_A_SECOND / work_us if work_us > 0 else math.inf


def moved(plan: Plan, devices: Sequence[int]) -> Plan:
    """`plan` with the device `devices[d]` in place of each device d."""
    replicas = (replace(each, devices=tuple(devices[device] for device in each.devices)) for each in plan.replicas)
    return Plan(tuple(replicas))


def kinds_words(cluster: Cluster, devices: Sequence[int]) -> str:
    """`2xRTX4090+CPU`."""
    kinds = [cluster.devices[device].kind for device in devices]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    return "+".join(kind if count == 1 else f"{count}x{kind}" for kind, count in counts.items())
