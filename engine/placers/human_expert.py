"""The human expert: LSTM layers one a device, or the parallel branches of each block on different devices.

Source: Addanki et al. 2019, section 4.1 ("human expert"); Wu et al. 2016 (arXiv 1609.08144), section 6, for the layers:
layer i of encoder and decoder on device i, attention and softmax with the last.

What a person sees is read from names (`name_rules.py`). What the papers leave open: with more layers than devices
neighbouring ones share a device; with more branches than devices the longest goes first, to the device with the least
of its block; stem, joints and classifier are on the first device; CPUs of a cluster that has other devices are left
out; a group goes where most of its time belongs, or else where most of its bytes come from and go.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import InfeasibleError
from engine.events import EmitFromPlacer, ShouldStop
from engine.list_scheduling.group_graph import weighted_graph
from engine.placers.episodes import evaluate_as_episodes
from engine.placers.name_rules import UNKNOWN, Branches, Layers, read_branches, read_layers
from engine.placers.placer import Placement
from engine.problem import Budget, PlacementProblem

LEAST_TIME_US = 1e-6
"""of an op, so that groups without time vote too"""


@dataclass(frozen=True, slots=True)
class HumanExpert:
    """One placement. Raises InfeasibleError for a graph whose names tell of neither layers nor branches."""

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        is_cpu = np.array([device.is_cpu for device in problem.cluster.devices])
        devices = np.flatnonzero(~is_cpu) if not is_cpu.all() else np.arange(len(is_cpu))
        number_of_op = _number_of_op(problem, len(devices))
        device_of_op = np.where(number_of_op == UNKNOWN, UNKNOWN, devices[number_of_op])
        placement = _device_of_group(problem, device_of_op)
        return evaluate_as_episodes(problem, placement[np.newaxis], emit, first_episode=1)


def _number_of_op(problem: PlacementProblem, devices: int) -> NDArray[np.int64]:
    """[ops] the device by the rule, counted among those that are used, or `UNKNOWN`."""
    layers = read_layers(problem.graph)
    if layers is not None:
        return _devices_of_layers(layers, devices)
    branches = read_branches(problem.graph)
    if branches is not None:
        return _devices_of_branches(branches, time_of_op(problem), devices)
    raise InfeasibleError(
        "no rule for a graph whose names tell of neither LSTM layers nor branches of a block",
        where="human_expert",
        allowed="names such as layer_0/step_1, lstm_1, multi_rnn_cell/cell_1, or mixed_0/branch_1",
    )


def time_of_op(problem: PlacementProblem) -> NDArray[np.float64]:
    """[ops] on its fastest device"""
    return np.asarray(np.nanmin(problem.op_time_us, axis=0) + LEAST_TIME_US)


def _devices_of_layers(layers: Layers, devices: int) -> NDArray[np.int64]:
    """[ops] layer i on device i; with more layers than devices neighbours share one. `UNKNOWN` stays so."""
    layer = layers.layer_of_op
    shared = layer * devices // layers.count if layers.count > devices else layer
    return np.where(layer == UNKNOWN, UNKNOWN, shared)


def _devices_of_branches(branches: Branches, time_us: NDArray[np.float64], devices: int) -> NDArray[np.int64]:
    """[ops] in each block the longest branch first, each to the device with the least of the block; else the first."""
    branch = branches.branch_of_op
    known, count = branch != UNKNOWN, len(branches.block_of_branch)
    length_us = np.bincount(branch[known], weights=time_us[known], minlength=count)
    device_of_branch = np.zeros(count, np.int64)
    load_us = np.zeros((int(branches.block_of_branch.max()) + 1, devices))
    for one in np.argsort(-length_us, kind="stable").tolist():
        block = branches.block_of_branch[one]
        device_of_branch[one] = np.argmin(load_us[block])
        load_us[block, device_of_branch[one]] += length_us[one]
    return np.where(known, device_of_branch[branch], 0)


def _device_of_group(problem: PlacementProblem, device_of_op: NDArray[np.int64]) -> NDArray[np.int32]:
    """[groups] by the time of the ops that belong somewhere, else by the bytes to and from groups that do."""
    groups, devices = problem.group_count, problem.device_count
    votes, known = np.zeros((groups, devices)), device_of_op != UNKNOWN
    group_of_op = problem.grouping.group_of_op
    np.add.at(votes, (group_of_op[known], device_of_op[known]), time_of_op(problem)[known])
    votes[~problem.allowed] = -1.0
    placed = np.where(votes.max(axis=1) > 0, votes.argmax(axis=1), UNKNOWN)
    graph = weighted_graph(problem)
    while (placed == UNKNOWN).any():
        before = placed.copy()
        for group in np.flatnonzero(before == UNKNOWN).tolist():
            near = np.where(problem.allowed[group], graph.load_by_device(group, placed, devices), -1.0)
            if near.max() > 0:
                placed[group] = int(near.argmax())
        if np.array_equal(before, placed):
            placed = np.where(placed == UNKNOWN, problem.allowed.argmax(axis=1), placed)
    return placed.astype(np.int32)
