"""The search for the plan with the shortest batch.

It begins with the plans that it is given, and is never behind them. Then it goes through candidates, the divisions of
the devices into replicas with a size of micro-batch: first those of single devices, which need no placement, then the
others, in the order of an estimate of passes, fill, drain and one ring. A bound is the time in which all devices
together could run the batch if every op could be divided among the devices of its replica: no plan of that candidate is
faster, and one whose bound is above the best plan is left out. Where a candidate has few plans, all are judged. Else it
is first looked at with quick placements, intervals of equal work; then, those that look fastest first, for each kind of
replica a method of `engine.placers` finds placements of a stream. Replicas that are alike share them. Micro-batches go
where they end first; with costs of any size, unlike replicas also take as many each, of sizes with which they end
together. Plans are simulated whole, gradients and optimizer too, and judged by that.
"""

import dataclasses
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import part_of_cluster
from engine.errors import InfeasibleError, SettingsError
from engine.events import Emit, ShouldStop
from engine.plans.all_plans import all_plans, are_few
from engine.plans.by_batch import ModelByBatch
from engine.plans.candidates import CandidateTimes, SizedDivision
from engine.plans.partitions import Division, classes_of_devices, devices_of, divisions, families_of_classes
from engine.plans.placements import ReplicaPlacements
from engine.plans.plan import Plan, Replica
from engine.plans.replicated_stages import layer_costs, replica_of_stages, replicated_stages
from engine.plans.request import PlanRequest
from engine.plans.shares import shares_of
from engine.plans.simulated import PlanSimulator, SimulatedPlan
from engine.plans.told import PlansTold
from engine.simulator.streams.passes import require_few_devices, require_stream
from engine.simulator.streams.stream import MOST_MICRO_BATCHES

KEPT = 5
"""plans that a search returns, each with another division"""
SHARE_OF_LOOKS = 0.5
"""most of the seconds for first looks at candidates with many plans"""
SHARE_OF_ALL_PLANS = 0.2
"""most of the seconds for all plans of one candidate, where they are few"""
LEAST_IN_TURNS = 3
"""devices from which on a pipeline may have a stage of several"""
TRIED = 3
"""times that a micro-batch goes from the replica that ends last to the one that ends first"""


@dataclass(slots=True)
class FoundPlans:
    """What a search has found."""

    best: list[SimulatedPlan]
    """those that fit in memory, the fastest first, each of another division"""
    simulated: int = 0
    """plans that were simulated"""
    searched: int = 0
    """candidates that were searched"""
    left_out: int = 0
    """candidates that a bound has left out, without being simulated"""
    not_reached: int = 0
    """candidates for which no seconds were left, or that came after the stop"""
    wall_seconds: float = 0.0
    stopped: bool = False
    """whether somebody asked to stop before it had ended"""


def _rank(candidate: SizedDivision) -> tuple[bool, float, int]:
    has_pipelines = any(sum(shape) > 1 for shape in candidate.division)
    return has_pipelines, candidate.estimate_us, -candidate.micro_batch


class PlanSearch:
    """One search; `run` may be called once."""

    def __init__(
        self,
        model: ModelByBatch,
        request: PlanRequest,
        emit: Emit = lambda _: None,
        should_stop: ShouldStop = lambda: False,
    ) -> None:
        """Raises SettingsError for constraints or fixed devices, which plans do not keep, and rules that do not fit."""
        if model.prepared.graph.constraints:
            what, allowed = "plans do not keep the constraints of a file", "a file without constraints"
            raise SettingsError(what, where=model.prepared.graph.name, allowed=allowed)
        if any(model.prepared.graph.devices) and not request.drop_devices:
            what, allowed = "the file fixes ops to devices, and plans do not keep that", "to ignore the file's devices"
            raise SettingsError(what, where=model.prepared.graph.name, allowed=allowed, field="drop_devices")
        require_stream(model.prepared.graph, request.rules.stream(1))
        require_few_devices(request.rules.stream(1), request.cluster.device_count)
        self._model, self._request, self._should_stop = model, request, should_stop
        self.told = PlansTold(emit)
        self._cluster = request.cluster
        self.simulator = PlanSimulator(model, request.cluster, request.rules)
        self._shards = request.rules.shards_optimizer
        self._classes = classes_of_devices(request.cluster)
        self._placements = ReplicaPlacements(model, request, self._left_seconds, should_stop)
        self._times = CandidateTimes(model, request, self.simulator, self._classes)
        self._of_division: dict[Division, SimulatedPlan] = {}
        self._began = time.monotonic()

    def run(self, starts: Sequence[Plan] = ()) -> FoundPlans:
        """Search for the request's seconds, until nothing is left or until `should_stop`.

        Raises InfeasibleError if no plan that fits is found.
        """
        found = FoundPlans([])
        for plan in starts:
            self._judge(plan, found)
        candidates = sorted(self._candidates(), key=_rank)
        looked_at = self._look_at(candidates, found)
        for _, candidate in sorted(looked_at, key=lambda each: each[0]):
            if self._has_room(candidate, found, len(candidates)):
                self._search(candidate, found)
        found.stopped = found.stopped or self._should_stop()
        if not found.stopped:
            self.told.progress(len(candidates), len(candidates))
        found.best = sorted(self._of_division.values(), key=lambda plan: plan.batch_time_us)[:KEPT]
        found.wall_seconds = time.monotonic() - self._began
        if not found.best and found.stopped:
            raise InfeasibleError("no plan that fits in memory was found before the stop")
        if not found.best:
            raise InfeasibleError(
                f"no plan fits in memory ({found.simulated:,} simulated)",
                advice="use more or larger devices, recomputation, or smaller micro-batches",
            )
        return found

    def _look_at(
        self, candidates: Sequence[SizedDivision], found: FoundPlans
    ) -> list[tuple[tuple[bool, float], SizedDivision]]:
        """Search those with few plans; of the others judge a quick one, as long as there are seconds for that.

        Returns the others, each with the rank of its quick plan: those that fit come first, then the fast ones.
        """
        looked_at = []
        until = (1 - SHARE_OF_LOOKS) * self._request.seconds
        for candidate in candidates:
            if not self._has_room(candidate, found, len(candidates)):
                continue
            if not self._is_hopeful(candidate):
                looked_at.append(((True, candidate.estimate_us), candidate))
            elif self._has_few_plans(candidate):
                self._search(candidate, found)
            elif self._left_seconds() > until:
                looked_at.append((self._quick_rank(candidate, found), candidate))
            else:
                looked_at.append(((True, candidate.estimate_us), candidate))
        return looked_at

    def _has_room(self, candidate: SizedDivision, found: FoundPlans, candidates: int) -> bool:
        """Whether there are seconds for a candidate, and its bound is below the best; if not, `found` counts it."""
        self.told.progress(found.left_out + found.not_reached + found.searched, candidates)
        found.stopped = found.stopped or self._should_stop()
        if found.stopped or (self._left_seconds() <= 0 and self._of_division):
            found.not_reached += 1
            return False
        if self._times.bound_us(candidate) >= self._best_us():
            found.left_out += 1
            return False
        return True

    def _is_hopeful(self, candidate: SizedDivision) -> bool:
        """Whether a plan with micro-batches of the candidate's size could be the best; others could in any case."""
        return self._times.even_bound_us(candidate) < self._best_us()

    def _quick_rank(self, candidate: SizedDivision, found: FoundPlans) -> tuple[bool, float]:
        """Whether a plan with quick placements does not fit, and its time; judges it."""
        plan = next(self._plans(candidate, is_quick=True), None)
        return (True, np.inf) if plan is None else self._judge(plan, found)

    def _has_few_plans(self, candidate: SizedDivision) -> bool:
        """Whether all plans can be tried, or there is none."""
        allowed = self._allowed(candidate)
        micro_batches = self._request.batch // candidate.micro_batch
        return not allowed or are_few(allowed, micro_batches, not self._shards)

    def _allowed(self, candidate: SizedDivision) -> list[NDArray[np.bool_]]:
        """[replicas] where each one's groups may go; [] where those of one can go nowhere."""
        devices = devices_of(candidate.division, self._classes)
        allowed = [self._placements.allowed(own, candidate.micro_batch) for own in devices]
        possible = [each for each in allowed if each is not None]
        return possible if len(possible) == len(allowed) else []

    def _search(self, candidate: SizedDivision, found: FoundPlans) -> None:
        """Judge all plans of a candidate where they are few, else those that are likely the best."""
        found.searched += 1
        allowed = self._allowed(candidate)
        if not allowed:
            return
        if self._left_seconds() <= 0:  # as long as nothing fits
            self._quick_rank(candidate, found)
            return
        if self._is_hopeful(candidate):
            self._judge_even(candidate, allowed, found)
        if self._left_seconds() > 0 and self._times.is_uneven(candidate):
            for plan in self._uneven(candidate):
                self._judge(plan, found)

    def _judge_even(self, candidate: SizedDivision, allowed: Sequence[NDArray[np.bool_]], found: FoundPlans) -> None:
        """Judge plans with micro-batches of the candidate's size."""
        if not (self._has_few_plans(candidate) and self._judge_all(candidate, allowed, found)):
            for plan in itertools.chain(self._plans(candidate), self._in_turns(candidate)):
                self._judge(plan, found)
                if self._should_stop():
                    return

    def _judge_all(self, candidate: SizedDivision, allowed: Sequence[NDArray[np.bool_]], found: FoundPlans) -> bool:
        """Judge all plans of a candidate that may be better than the best; whether the seconds for that sufficed."""
        devices = devices_of(candidate.division, self._classes)
        until = time.monotonic() + min(self._left_seconds(), SHARE_OF_ALL_PLANS * self._request.seconds)

        def is_over() -> bool:
            return time.monotonic() > until or self._should_stop()

        size, micro_batches = candidate.micro_batch, self._request.batch // candidate.micro_batch
        plans = all_plans(self.simulator, devices, allowed, size, micro_batches, not self._shards, is_over)
        for each in plans or ():
            if each.bound_us >= self._best_us():
                break
            if is_over():
                return False
            self._judge(each.plan, found)
        return plans is not None

    def _best_us(self) -> float:
        return min((plan.batch_time_us for plan in self._of_division.values()), default=np.inf)

    def _left_seconds(self) -> float:
        return self._request.seconds - (time.monotonic() - self._began)

    def _judge(self, plan: Plan, found: FoundPlans) -> tuple[bool, float]:
        """Whether the plan does not fit or breaks a rule, and its time; keep it if it is the best of its division."""
        simulated = self.simulator.simulate(plan)
        found.simulated += 1
        if np.any(simulated.peak_bytes > self._cluster.usable_bytes) or not self.simulator.keeps_rules(simulated):
            return True, simulated.batch_time_us
        division = self._division_of(plan)
        before = self._of_division.get(division)
        if before is None or simulated.batch_time_us < before.batch_time_us:
            self.told.found(division, simulated)
            self._of_division[division] = simulated
        return False, simulated.batch_time_us

    def _division_of(self, plan: Plan) -> Division:
        """The division of the devices that the plan uses, which may be fewer than its replicas have."""
        used = [replica.used() for replica in plan.replicas]
        return tuple(sorted(tuple(len(devices.intersection(each)) for each in self._classes) for devices in used))

    def micro_batches(self) -> list[int]:
        """The sizes of micro-batches that are tried: those that divide the batch and have known costs."""
        batch = self._request.batch
        doubled = [2**power for power in range(batch.bit_length())]
        sizes = sorted({*doubled, *self._model.samples})
        return [
            size
            for size in sizes
            if batch % size == 0 and batch // size <= MOST_MICRO_BATCHES and self._model.is_known(size)
        ]

    def require_sizes(self) -> list[int]:
        """`micro_batches`, of which there must be some. Raises SettingsError."""
        sizes = self.micro_batches()
        if not sizes:
            read = " or ".join(map(str, self._model.samples))
            what = f"a batch of {self._request.batch} samples cannot be divided into micro-batches of {read}"
            raise SettingsError(what, where="batch", allowed="a multiple, or a second reading", field="batch")
        return sizes

    def _candidates(self) -> Iterator[SizedDivision]:
        sizes = self.require_sizes()
        families = families_of_classes(self._cluster, self._classes)
        for division in divisions(tuple(map(len, self._classes)), families):
            for size in sizes:
                micro_batches = self._request.batch // size
                if micro_batches >= len(division):
                    yield SizedDivision(self._times.estimate_us(division, size, micro_batches), division, size)

    def _plans(self, candidate: SizedDivision, *, is_quick: bool = False) -> Iterator[Plan]:
        """The plans of a candidate: its micro-batches where they end first, and one more or less where it is close."""
        replicas, nominal = self._replicas(candidate, is_quick=is_quick)
        if not replicas:
            return
        micro_batches = self._request.batch // candidate.micro_batch
        first_us, further_us = self._pace(replicas, nominal)
        shares = shares_of(first_us, further_us, micro_batches)
        yield self._with_shares(replicas, shares)
        for _ in range(TRIED):
            shares = self._evened(replicas, shares)
            if not shares:
                return
            yield self._with_shares(replicas, shares)

    def _in_turns(self, candidate: SizedDivision) -> Iterator[Plan]:
        """One pipeline whose stages several devices take in turn, those of each class behind each other."""
        if len(candidate.division) > 1 or sum(candidate.division[0]) < LEAST_IN_TURNS or self._shards:
            return
        devices = devices_of(candidate.division, self._classes)[0]
        class_of = {device: index for index, members in enumerate(self._classes) for device in members}
        size, micro_batches = candidate.micro_batch, self._request.batch // candidate.micro_batch
        work_us = self._times.work_us(size)
        for direction in (1, -1):
            own = sorted(devices, key=lambda device: (direction * work_us[class_of[device]], class_of[device], device))
            part = part_of_cluster(self._cluster, np.array(own))
            layers = layer_costs(self._model.prepared, self._model.costs(size), part, 1 / micro_batches)
            stages = replicated_stages(layers)
            replica = replica_of_stages(stages, own, size, micro_batches)
            if replica is not None and replica.turns and len(stages) > 1:  # one stage in turns is data parallelism
                yield Plan((replica,))

    def _replicas(self, candidate: SizedDivision, *, is_quick: bool = False) -> tuple[list[Replica], int]:
        """The replicas with the nominal number of micro-batches each, and this number; [] if one has no placement."""
        devices = devices_of(candidate.division, self._classes)
        nominal = max(1, self._request.batch // candidate.micro_batch // len(devices))
        size = candidate.micro_batch
        if is_quick:
            placements = [self._placements.quick(own, size) for own in devices]
        else:
            placements = [self._placements.placement(own, size, nominal) for own in devices]
        found = [placement for placement in placements if placement is not None]
        if len(found) < len(devices):
            return [], nominal
        pairs = zip(devices, found, strict=True)
        return [Replica(own, placed, candidate.micro_batch, nominal) for own, placed in pairs], nominal

    def _uneven(self, candidate: SizedDivision) -> Iterator[Plan]:
        """The same number of micro-batches for each replica, of sizes with which they end together."""
        replicas, count = self._replicas(candidate)
        samples = self._request.batch // count
        if not replicas or self._request.batch % count or samples < len(replicas):
            return
        size = candidate.micro_batch
        doubled = [dataclasses.replace(each, micro_batch=2 * size) for each in replicas]
        small_us = np.array([self._alone_us(replica, count) for replica in replicas])
        of_sample_us = (np.array([self._alone_us(replica, count) for replica in doubled]) - small_us) / size
        first_us = small_us - of_sample_us * (size - 1)
        shares = shares_of(first_us.tolist(), of_sample_us.tolist(), samples)
        pairs = zip(replicas, shares, strict=True)
        yield Plan(tuple(dataclasses.replace(replica, micro_batch=share) for replica, share in pairs))

    def _pace(self, replicas: Sequence[Replica], nominal: int) -> tuple[list[float], list[float]]:
        """[replicas] the time of a first micro-batch, and of each further one, by batches of one and of `nominal`."""
        first_us, further_us = [], []
        for replica in replicas:
            one_us = self._alone_us(replica, 1)
            many_us = self._alone_us(replica, max(2, nominal))
            first_us.append(one_us)
            further_us.append((many_us - one_us) / (max(2, nominal) - 1))
        return first_us, further_us

    def _alone_us(self, replica: Replica, micro_batches: int) -> float:
        """When a replica's passes have ended."""
        alone = dataclasses.replace(replica, micro_batches=micro_batches)
        return float(self.simulator.replica(alone).free_us.max())

    def _evened(self, replicas: Sequence[Replica], shares: Sequence[int]) -> list[int]:
        """One micro-batch from the replica that ends last to the one that ends first; [] where none can be given."""
        ends_us = [self._alone_us(replica, share) for replica, share in zip(replicas, shares, strict=True)]
        last, first = int(np.argmax(ends_us)), int(np.argmin(ends_us))
        if last == first or shares[last] == 1:
            return []
        moved = list(shares)
        moved[last] -= 1
        moved[first] += 1
        return moved if self._alone_us(replicas[first], moved[first]) < ends_us[last] else []

    @staticmethod
    def _with_shares(replicas: Sequence[Replica], shares: Sequence[int]) -> Plan:
        pairs = zip(replicas, shares, strict=True)
        return Plan(tuple(dataclasses.replace(replica, micro_batches=share) for replica, share in pairs))


def require_plannable(model: ModelByBatch, request: PlanRequest) -> None:
    """Raise what a search would, before it begins: SettingsError for constraints, or a batch that cannot be divided."""
    PlanSearch(model, request).require_sizes()
