"""The placements of single replicas that a search for plans uses: found once for all that are alike."""

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, part_of_cluster
from engine.errors import CostError, GraphError, InfeasibleError, PlacementError
from engine.events import ShouldStop
from engine.graphs.grouping.nesting import Levels
from engine.plans.by_batch import ModelByBatch
from engine.plans.replicated_stages import layer_costs, replicated_stages, work_period_us
from engine.plans.request import PlanRequest
from engine.plans.simulated import alike
from engine.prepared import PreparedGraph
from engine.problem import Budget
from engine.run.problem import RunProblem
from engine.run.request import RunRequest
from engine.run.run import Run

SHARE_OF_A_REPLICA = 0.05
"""most of the seconds for the placements of one kind of replica"""
EVALUATIONS = 2_000
NO_PLACEMENT = (InfeasibleError, PlacementError, GraphError, CostError)
"""what says that no placement fits some devices"""


class ReplicaPlacements:
    """Finds where the groups of a replica run, by the request's method."""

    def __init__(
        self, model: ModelByBatch, request: PlanRequest, left_seconds: Callable[[], float], should_stop: ShouldStop
    ) -> None:
        """`left_seconds`: of the search."""
        self._model, self._request = model, request
        self._left_seconds, self._should_stop = left_seconds, should_stop
        self._found: dict[tuple[object, ...], NDArray[np.int32] | None] = {}
        self._quick: dict[tuple[object, ...], NDArray[np.int32] | None] = {}
        self._allowed_on: dict[tuple[object, ...], NDArray[np.bool_] | None] = {}

    def allowed(self, devices: tuple[int, ...], size: int) -> NDArray[np.bool_] | None:
        """[groups, devices] where each group may go in a replica on `devices`; None where one can go nowhere."""
        part = part_of_cluster(self._request.cluster, np.array(devices))
        key = alike(part)
        if key not in self._allowed_on:
            try:
                problem = RunProblem(*self._asked(part, size, 1), lambda _: None, None).problem
                self._allowed_on[key] = problem.allowed
            except NO_PLACEMENT:
                self._allowed_on[key] = None
        return self._allowed_on[key]

    def _asked(self, part: Cluster, size: int, nominal: int) -> tuple[PreparedGraph, RunRequest]:
        """A run that places a replica's stream of `nominal` micro-batches on `part`."""
        prepared = dataclasses.replace(self._model.prepared, costs=self._model.costs(size), levels=Levels())
        seconds = max(0.2, min(self._left_seconds(), SHARE_OF_A_REPLICA * self._request.seconds))
        return prepared, RunRequest(
            part,
            self._request.method,
            Budget(EVALUATIONS, seconds),
            self._request.seed,
            drop_devices=self._request.drop_devices,
            baselines=(),
            robustness=False,
            stream=self._request.rules.stream(nominal),
        )

    def placement(self, devices: tuple[int, ...], size: int, nominal: int) -> NDArray[np.int32] | None:
        """[groups] the best placement of a stream of `nominal` micro-batches found on `devices`; None if none fits."""
        part = part_of_cluster(self._request.cluster, np.array(devices))
        key = (alike(part), size, nominal)
        if key not in self._found:
            self._found[key] = self._placed(part, size, nominal)
        return self._found[key]

    def _placed(self, part: Cluster, size: int, nominal: int) -> NDArray[np.int32] | None:
        if part.device_count == 1:
            return np.zeros(self._model.prepared.grouping.group_count, np.int32)
        try:
            report = Run(*self._asked(part, size, nominal), lambda _: None, self._should_stop).execute(None)
        except NO_PLACEMENT:  # no placement fits these devices
            return None
        return np.array(report["device_of_group"], np.int32)

    def quick(self, devices: tuple[int, ...], size: int) -> NDArray[np.int32] | None:
        """[groups] intervals of the groups, whose busiest device has the least work; None where there are none."""
        part = part_of_cluster(self._request.cluster, np.array(devices))
        key = (alike(part), size)
        if key not in self._quick:
            allowed = self.allowed(devices, size)
            self._quick[key] = None if allowed is None else self._quick_split(part, size, allowed)
        return self._quick[key]

    def _quick_split(self, part: Cluster, size: int, allowed: NDArray[np.bool_]) -> NDArray[np.int32] | None:
        """The better of two orders: the devices that are fast at the first layer first, or last."""
        layers = layer_costs(self._model.prepared, self._model.costs(size), part, 1.0)
        time_us = np.where(allowed.T, layers.time_us, np.inf)
        fast_first = np.argsort(time_us.sum(axis=1), kind="stable")
        found: list[tuple[float, NDArray[np.int32]]] = []
        for order in (fast_first, fast_first[::-1]):
            ordered = dataclasses.replace(layers, time_us=time_us[order])
            stages = replicated_stages(ordered, most_workers=1)
            if stages:
                counts = [stage.beyond - stage.first for stage in stages]
                devices = [order[stage.first_device] for stage in stages]
                placement = np.repeat(devices, counts).astype(np.int32)
                found.append((work_period_us(ordered, stages), placement))
        return min(found, key=lambda each: each[0])[1] if found else None
