"""The rows that keep stages contiguous, and those by which exchangeable devices are used in one order alone.

Stages are contiguous if the devices have an order along which the data of the forward pass go, and another one for the
backward pass. Exchangeable devices can be numbered along the first, which is therefore fixed among them; where all are
exchangeable, no group may be behind one that takes its data: the sums of x over the first k devices fall along each
edge. Else a column says for each pair of devices which comes first.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import BACKWARD, FORWARD
from engine.placers.milp.linear_model import Columns, LinearModel
from engine.problem import PlacementProblem

EdgeEnds = list[tuple[int, int]]


def edges_of_passes(problem: PlacementProblem, phase: NDArray[np.uint8]) -> tuple[EdgeEnds, EdgeEnds]:
    """Pairs of groups between which data of the forward pass, and of the backward pass, go; `phase` [ops]."""
    graph, group = problem.simulator.executed, problem.simulator.group_of_op
    source, target = graph.edge_source, graph.edge_target
    apart = group[source] != group[target]
    found: list[EdgeEnds] = []
    for of_pass in (FORWARD, BACKWARD):
        inside = apart & (phase[source] == of_pass) & (phase[target] == of_pass)
        ends = zip(group[source[inside]].tolist(), group[target[inside]].tolist(), strict=True)
        found.append(sorted(set(ends)))
    return found[0], found[1]


class OrderRows:
    """The rows of the devices' order. `class_of_device` [devices]: those of one class are exchangeable."""

    def __init__(self, model: LinearModel, on: Columns, class_of_device: NDArray[np.int32]) -> None:
        self._model, self._on, self._class = model, on, class_of_device
        self._passes: list[tuple[Columns, EdgeEnds]] = []

    def use_in_turn(self) -> None:
        """Let no group be on a device before another one is on the exchangeable device before it."""
        for one, other in self._neighbours():
            for group in range(len(self._on)):
                terms = [(self._on[group, other], 1.0), (self._on[:group, one].ravel(), -1.0)]
                self._model.add_row(terms, upper=0.0)

    def keep_contiguous(self, forward: EdgeEnds, backward: EdgeEnds) -> None:
        """Let the data of each pass go along an order of the devices, that of the forward pass along their numbers."""
        if self._class.max() == 0:
            for producer, consumer in forward:
                for behind in range(1, self._on.shape[1]):
                    terms = [(self._on[consumer, :behind], 1.0), (self._on[producer, :behind], -1.0)]
                    self._model.add_row(terms, upper=0.0)
        elif forward:
            self._add_order(forward, fixed=True)
        if backward:
            self._add_order(backward, fixed=False)

    def values(self, placement: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The columns of the orders of a placement, and their values; the placement must be `canonical`."""
        columns, values = [], []
        for before, edges in self._passes:
            place = np.argsort(_device_order(placement, edges, self._on.shape[1]))
            apart = ~np.eye(len(place), dtype=bool)
            columns.append(before[apart])
            values.append((place[:, None] < place[None, :])[apart].astype(np.float64))
        none: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        return np.concatenate(columns or none), np.concatenate(values or [np.zeros(0)])

    def _add_order(self, edges: EdgeEnds, *, fixed: bool) -> None:
        devices = self._on.shape[1]
        before = self._model.new_columns((devices, devices), 1.0, integer=True)
        for one, other in itertools.combinations(range(devices), 2):
            is_fixed = fixed and self._class[one] == self._class[other]
            limit = 1.0 if is_fixed else 0.0
            self._model.add_row([(before[one, other], 1.0)], lower=limit)
            self._model.add_row([(before[one, other], 1.0), (before[other, one], 1.0)], 1.0, 1.0)
        for one, two, three in itertools.permutations(range(devices), 3):
            terms = [(before[one, two], 1.0), (before[two, three], 1.0), (before[one, three], -1.0)]
            self._model.add_row(terms, upper=1.0)
        for producer, consumer in edges:
            for one, other in itertools.permutations(range(devices), 2):
                on = (self._on[producer, one], 1.0), (self._on[consumer, other], 1.0)
                self._model.add_row([*on, (before[one, other], -1.0)], upper=1.0)
        self._passes.append((before, edges))

    def _neighbours(self) -> list[tuple[int, int]]:
        """Each device with the next one of its class."""
        found = []
        for number in range(int(self._class.max()) + 1):
            found += list(itertools.pairwise(np.flatnonzero(self._class == number).tolist()))
        return found


def canonical(
    placement: NDArray[np.int32], class_of_device: NDArray[np.int32], forward: EdgeEnds | None = None
) -> NDArray[np.int32]:
    """[groups] the placement with exchangeable devices numbered in the order of their first groups.

    With the `forward` edges of contiguous stages, in an order along these instead.
    """
    devices = len(class_of_device)
    if forward is not None:
        order = _device_order(placement, forward, devices)
    else:
        used, first = np.unique(placement, return_index=True)
        order = np.concatenate((used[np.argsort(first)], np.setdiff1d(np.arange(devices), used)))
    renamed = np.empty(devices, dtype=np.int32)
    for number in range(int(class_of_device.max()) + 1):
        members = np.flatnonzero(class_of_device == number)
        renamed[[device for device in order.tolist() if class_of_device[device] == number]] = members
    return np.asarray(renamed[placement])


def _device_order(placement: NDArray[np.int32], edges: EdgeEnds, devices: int) -> NDArray[np.int64]:
    """[devices] an order along which `edges` between groups go; of devices that can be next, the lowest is."""
    waits_for = {(int(placement[one]), int(placement[other])) for one, other in edges}
    waits_for = {(one, other) for one, other in waits_for if one != other}
    order: list[int] = []
    while len(order) < devices:
        left = [device for device in range(devices) if device not in order]
        free = [device for device in left if not any(one in left and other == device for one, other in waits_for)]
        assert free, "the stages are not contiguous"
        order.append(free[0])
    return np.array(order)
