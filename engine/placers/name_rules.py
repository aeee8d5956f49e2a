"""What a person reads from the names and the structure of a graph: LSTM layers, or parallel branches of blocks.

Names are scopes with a slash in between, as TensorFlow writes them; case does not matter. Read are:

- layers: `layer_1/step_7` (also `layer_1/forward/step_7`), `multi_rnn_cell/cell_1`, `lstm_1`, `rnn`, `gru_2`; the last
  layer has what is called attention, softmax, logits, projection or loss, the first what is called embedding;
- branches: `branch_1`, `Branch_1`, `branch5x5`, `branch_pool`, `tower_1`, `comb_iter_1`, and the block is what stands
  before.

`gradients/X/...`, `gradient_tape/X/...` and `optimizer/update_X/...` are read as X. What has no such name and takes
from one part alone belongs to that, and so does a constant that one part alone takes.
"""

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.graphs.gradients import NO_OP, forward_ops
from engine.graphs.graph import ComputationGraph
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
    """A recurrent network."""

    layer_of_op: NDArray[np.int64]
    """[ops] counted from 0, or `UNKNOWN`"""
    count: int


@dataclass(frozen=True, slots=True)
class Branches:
    """A network of blocks."""

    branch_of_op: NDArray[np.int64]
    """[ops] or `UNKNOWN`: the stem, what joins the branches of a block, ..."""
    block_of_branch: NDArray[np.int64]
    """[branches] branches are numbered in the order of their blocks' and their own names"""


def read_layers(graph: ComputationGraph) -> Layers | None:
    """The layers of a recurrent network; None where no name tells of one."""
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
    """The branches of blocks that have at least two; None where no name tells of one."""
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
    """The name of what an op belongs to: of a gradient that of its forward op, of an update that of its variable."""
    return _OWN_NAME.sub("", name, count=1)


def _layer_number(name: str, unrolled: bool) -> int | None:
    """The number of the layer that a name tells. `unrolled`: the graph has layers with steps, so `layer_1` is one."""
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
    """[ops] the parts, with those that have no name of their own: gradients, then by inputs, sources by consumers."""
    part = named.tolist()
    forward = forward_ops(graph.op_names).tolist()
    for op, of in enumerate(forward):
        if part[op] == UNKNOWN and of != NO_OP:
            part[op] = named[of]
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
    for op, of in enumerate(forward):  # whose forward op has found its part only now
        if part[op] == UNKNOWN and of != NO_OP:
            part[op] = part[of]
    return np.array(part, dtype=np.int64)


def _only(parts: set[int]) -> int:
    return parts.pop() if len(parts) == 1 else UNKNOWN
