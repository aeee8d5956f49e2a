"""Human expert: puts LSTM layers on one device each, or the parallel branches of each block on different devices.

Source: Addanki et al. 2019, section 4.1 ("human expert"); Wu et al. 2016 (arXiv 1609.08144), section 6, for the layers:
layer i of encoder and decoder on device i, attention and softmax with the last.

The papers leave open some choices, made here: with more layers than devices, neighbouring layers share a device; with
more branches than devices, the longest goes first, to the device with the least time of its block; stem, joints and
classifier are on the first device; CPUs are used only if the cluster has no other devices; a group goes where most of
its time belongs, or, if its ops belong nowhere, where most of its bytes come from and go to.

Layers and branches are read from the ops' names, which are scopes separated by slashes, as TensorFlow writes them; case
does not matter:

- layers: `layer_1/step_7` (also `layer_1/forward/step_7`), `multi_rnn_cell/cell_1`, `lstm_1`, `rnn`, `gru_2`; names
  with attention, softmax, logits, projection or loss join the last layer, names with embedding the first;
- branches: `branch_1`, `Branch_1`, `branch5x5`, `branch_pool`, `tower_1`, `comb_iter_1`; the scope before it names the
  block.

`gradients/X/...`, `gradient_tape/X/...` and `optimizer/update_X/...` are read as X. An op without such a name whose
inputs all come from one part belongs to that part, and so does a constant that only one part consumes.
"""

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import InfeasibleError
from engine.events import ShouldStop
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.gradients import NO_OP, forward_ops
from engine.placers.weighted_groups import weighted_graph
from engine.problem import PlacementProblem
from engine.simulator.topology import topological_order

UNKNOWN = -1

_OWN_NAME = re.compile(r"^(?:.*?(?:^|/)(?:gradients|gradient_tape)(?:_[0-9]+)?/|[^/]+/update_)")
_BRANCH = re.compile(r"(?:^|/)((?:branch|tower|comb_iter)(?:_?[0-9]\w*|_pool)|tower)(?:/|$)", re.IGNORECASE)
_UNROLLED_LAYER = re.compile(r"(?:^|/)layer_([0-9]{1,6})/(?:forward/|backward/)?step_[0-9]+(?:/|$)", re.IGNORECASE)
_LAYERS = (
    re.compile(r"(?:^|/)multi_rnn_cell/cell_([0-9]{1,6})(?:_\w+)?(?:/|$)", re.IGNORECASE),
    re.compile(r"(?:^|/)(?:\w+_)?(?:lstm|rnn|gru)(?:_([0-9]{1,6}))?(?:/|$)", re.IGNORECASE),
)
_NUMBERED_LAYER = re.compile(r"(?:^|/)layer_([0-9]{1,6})(?:/|$)", re.IGNORECASE)
_WITH_THE_LAST = re.compile(r"(?:^|/)[^/]*(?:attention|softmax|logits|projection|loss|cross_entropy)", re.IGNORECASE)
_WITH_THE_FIRST = re.compile(r"(?:^|/)[^/]*embedding", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of a recurrent network."""

    layer_of_op: NDArray[np.int64]
    """[ops] counted from 0, or `UNKNOWN`"""
    count: int


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches of a network of blocks."""

    branch_of_op: NDArray[np.int64]
    """[ops] or `UNKNOWN`, such as for the stem or for ops that join the branches of a block"""
    block_of_branch: NDArray[np.int64]
    """[branches] branches are numbered in the order of their blocks' and their own names"""


def read_layers(graph: ComputationGraph) -> Layers | None:
    """The layers of a recurrent network, or None if no name shows one."""
    names = [own_name(name) for name in graph.op_names]
    unrolled = any(_UNROLLED_LAYER.search(name) for name in names)
    number_of_op = [_layer_number(name, unrolled) for name in names]
    numbers = sorted({number for number in number_of_op if number is not None})
    if not numbers:
        return None
    rank = {number: index for index, number in enumerate(numbers)}
    last = len(numbers) - 1
    named = np.array(
        [
            _place_in_layers(name, None if number is None else rank[number], last)
            for name, number in zip(names, number_of_op, strict=True)
        ]
    )
    return Layers(_spread(graph, named), len(numbers))


def read_branches(graph: ComputationGraph) -> Branches | None:
    """The branches of all blocks that have at least two, or None if no name shows one."""
    found = [_BRANCH.search(own_name(name)) for name in graph.op_names]
    keys = [(match.string[: match.start()], match[1].lower()) if match else None for match in found]
    branches = sorted({key for key in keys if key is not None})
    blocks = Counter(block for block, _ in branches)
    branches = [(block, branch) for block, branch in branches if blocks[block] > 1]
    if not branches:
        return None
    index = {key: number for number, key in enumerate(branches)}
    named = np.array([UNKNOWN if key is None else index.get(key, UNKNOWN) for key in keys])
    order = {block: number for number, block in enumerate(sorted({block for block, _ in branches}))}
    return Branches(_spread(graph, named), np.array([order[block] for block, _ in branches]))


def own_name(name: str) -> str:
    """The name by which an op is placed: a gradient takes its forward op's name, an update its variable's."""
    return _OWN_NAME.sub("", name, count=1)


def _layer_number(name: str, unrolled: bool) -> int | None:
    """The number of the layer in a name, or None. With `unrolled`, only names such as `layer_1` show a layer."""
    if unrolled:
        found = _NUMBERED_LAYER.search(name)
        return int(found[1]) if found else None
    for layer in _LAYERS:
        if found := layer.search(name):
            return int(found[1] or 0)
    return None


def _place_in_layers(name: str, layer: int | None, last: int) -> int:
    if _WITH_THE_LAST.search(name):
        return last
    if layer is not None:
        return layer
    return 0 if _WITH_THE_FIRST.search(name) else UNKNOWN


def _spread(graph: ComputationGraph, named: NDArray[np.int64]) -> NDArray[np.int64]:
    """[ops] the parts, spread from named ops to the others: first to gradients, then by inputs, then to constants."""
    part = named.tolist()
    forward = forward_ops(graph.op_names).tolist()
    for op, forward_op in enumerate(forward):
        if part[op] == UNKNOWN and forward_op != NO_OP:
            part[op] = named[forward_op]
    inputs: list[list[int]] = [[] for _ in part]
    consumers: list[list[int]] = [[] for _ in part]
    for source, target in zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True):
        inputs[target].append(source)
        consumers[source].append(target)
    order = topological_order(graph).tolist()
    for op in order:
        if part[op] == UNKNOWN and inputs[op]:
            part[op] = _only({part[source] for source in inputs[op] if part[source] != UNKNOWN or inputs[source]})
    for op in reversed(order):
        if part[op] == UNKNOWN and not inputs[op]:
            part[op] = _only({part[consumer] for consumer in consumers[op]})
    for op, forward_op in enumerate(forward):  # the forward op may have got its part only now
        if part[op] == UNKNOWN and forward_op != NO_OP:
            part[op] = part[forward_op]
    return np.array(part, dtype=np.int64)


def _only(parts: set[int]) -> int:
    return parts.pop() if len(parts) == 1 else UNKNOWN


LEAST_TIME_US = 1e-6
"""added to the time of each op, so that ops without time count too"""


@dataclass(frozen=True, slots=True)
class HumanExpert:
    """Evaluates one placement. Raises InfeasibleError for a graph whose names show neither layers nor branches."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        is_cpu = np.array([device.is_cpu for device in problem.cluster.devices])
        devices = np.flatnonzero(~is_cpu) if not is_cpu.all() else np.arange(len(is_cpu))
        number_of_op = _number_of_op(problem, len(devices))
        device_of_op = np.where(number_of_op == UNKNOWN, UNKNOWN, devices[number_of_op])
        placement = _device_of_group(problem, device_of_op)
        problem.evaluate_episodes(placement[np.newaxis])


def _number_of_op(problem: PlacementProblem, devices: int) -> NDArray[np.int64]:
    """[ops] the index of the op's device among the devices that are used, or `UNKNOWN`."""
    layers = read_layers(problem.graph)
    if layers is not None:
        return _devices_of_layers(layers, devices)
    branches = read_branches(problem.graph)
    if branches is not None:
        return _devices_of_branches(branches, time_of_op(problem), devices)
    raise InfeasibleError(
        "no rule for this graph: its names show neither LSTM layers nor branches of a block",
        where="human_expert",
        allowed="names such as layer_0/step_1, lstm_1, multi_rnn_cell/cell_1, or mixed_0/branch_1",
    )


def time_of_op(problem: PlacementProblem) -> NDArray[np.float64]:
    """[ops] the time in µs on the op's fastest device, plus `LEAST_TIME_US`."""
    return np.asarray(np.nanmin(problem.op_time_us, axis=0) + LEAST_TIME_US)


def _devices_of_layers(layers: Layers, devices: int) -> NDArray[np.int64]:
    """[ops] device i for layer i; with more layers than devices neighbours share one. `UNKNOWN` stays."""
    layer = layers.layer_of_op
    shared = layer * devices // layers.count if layers.count > devices else layer
    return np.where(layer == UNKNOWN, UNKNOWN, shared)


def _devices_of_branches(branches: Branches, time_us: NDArray[np.float64], devices: int) -> NDArray[np.int64]:
    """[ops] the devices by branch: in each block the longest first, each to the least loaded; other ops to device 0."""
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
    """[groups] the device where most of the group's time belongs, else where most of its bytes come from and go to."""
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
