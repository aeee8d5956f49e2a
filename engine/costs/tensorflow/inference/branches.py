"""Conditions in their lowered form: finds the ops that run on one side alone, and the side that counts.

A Switch sends its data to the side that its condition picks, and a Merge passes on the input that arrives. A step runs
one side: the one that the condition's value picks, where that is known, else the costlier one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.costs.tensorflow.inference.known import Known
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import MERGES, SWITCHES

Sides: TypeAlias = frozenset[tuple[int, int]]
"""(the op that gives the condition, the output of the Switch) of each condition on which an op depends"""
MANY_WAYS = "_SwitchN"
HANDED_ON = frozenset({"Identity", "StopGradient", "Snapshot"})
NO_SIDES: Sides = frozenset()
DEEPEST = 64
"""levels of nested conditions that are distinguished"""


@dataclass(frozen=True, slots=True)
class Branch:
    """One condition."""

    name: str
    taken: str
    """`then`, `else` or `case 2`"""
    ops: int
    """number of ops on all sides"""
    not_taken: tuple[int, ...]
    """ops that do not run"""


def sides_of_ops(
    nodes: Sequence[Message], order: Sequence[int], inputs: Sequence[Sequence[tuple[int, int]]]
) -> list[Sides]:
    """[ops] the sides of conditions on which each op depends; `inputs` [ops] are (op, output), -1 for a control edge.

    A loop's own Switch picks nothing: `inputs` of a loop's Merge has no back edge, and its Switch's condition is a
    LoopCond.
    """
    sides: list[Sides] = [NO_SIDES] * len(nodes)
    conditions = conditions_of(nodes, inputs)
    for op in order:
        node = nodes[op]
        around = [_after(source, output, nodes, conditions, sides) for source, output in inputs[op]]
        if node.op in MERGES and around:
            sides[op] = frozenset.intersection(*around)
        elif around:
            sides[op] = _all_of(around)
    return sides


def _all_of(around: Sequence[Sides]) -> Sides:
    """The union of the sides of an op's inputs, at most `DEEPEST`."""
    if all(each == around[0] for each in around):
        return around[0]
    together = frozenset[tuple[int, int]]().union(*around)
    return together if len(together) <= DEEPEST else frozenset(sorted(together)[:DEEPEST])


def _after(
    source: int,
    output: int,
    nodes: Sequence[Message],
    conditions: Mapping[int, int],
    sides: Sequence[Sides],
) -> Sides:
    """The sides on which a consumer of `source`'s `output` depends."""
    if source not in conditions or output < 0:
        return sides[source]
    condition = conditions[source]
    if nodes[condition].op == "LoopCond" or len(sides[source]) >= DEEPEST:
        return sides[source]
    return sides[source] | {(condition, output)}


def conditions_of(nodes: Sequence[Message], inputs: Sequence[Sequence[tuple[int, int]]]) -> dict[int, int]:
    """Switch → the op that computes its condition, looked up through ops such as Identity that pass it on."""
    switches = [op for op, node in enumerate(nodes) if node.op in SWITCHES or node.op == MANY_WAYS]
    found: dict[int, int] = {}
    first: dict[int, int] = {}
    for switch in switches:
        if len(inputs[switch]) < 2:
            continue
        op = inputs[switch][1][0]
        passed = []
        while op not in first and nodes[op].op in HANDED_ON and inputs[op]:
            passed.append(op)
            op = inputs[op][0][0]
        found[switch] = first.get(op, op)
        first.update(dict.fromkeys(passed, found[switch]))
    return found


def branches_of(
    nodes: Sequence[Message],
    inputs: Sequence[Sequence[tuple[int, int]]],
    sides: Sequence[Sides],
    outputs: Sequence[Sequence[Known]],
    cost: NDArray[np.float64],
) -> list[Branch]:
    """All conditions, inner ones first; `cost` [ops] is the cost of an op if it runs.

    `inputs` [ops] are (op, output), as for `sides_of_ops`.
    """
    ops_of: dict[int, dict[int, list[int]]] = {}
    depth: dict[int, int] = {}
    for op, behind in enumerate(sides):
        for condition, side in behind:
            ops_of.setdefault(condition, {}).setdefault(side, []).append(op)
            depth[condition] = min(depth.get(condition, DEEPEST), len(behind))
    ways = {
        condition: int(nodes[switch].attr["num_outs"].i)
        for switch, condition in conditions_of(nodes, inputs).items()
        if nodes[switch].op == MANY_WAYS
    }
    counted = cost.copy()
    found: list[Branch] = []
    for condition in sorted(depth, key=lambda each: (-depth[each], each)):
        ops_of_side = ops_of[condition]
        taken = _taken(condition, ops_of_side, outputs, counted, ways.get(condition, 0))
        left = sorted(
            {op for side, ops in ops_of_side.items() if side != taken for op in ops} - set(ops_of_side.get(taken, ()))
        )
        counted[left] = 0
        total = len({op for ops in ops_of_side.values() for op in ops})
        word = f"case {taken}" if condition in ways else ("else", "then")[taken]
        found.append(Branch(nodes[condition].name, word, total, tuple(left)))
    return found


def _taken(
    condition: int,
    ops_of_side: Mapping[int, Sequence[int]],
    outputs: Sequence[Sequence[Known]],
    cost: NDArray[np.float64],
    ways: int,
) -> int:
    """The side that the condition's value picks, else the costlier one; of equals the later one.

    `ways` is the number of cases, 0 for `then` and `else`. An index out of range picks the last case.
    """
    value = outputs[condition][0].value if outputs[condition] else None
    if value is None or value.size != 1:
        return max(ops_of_side, key=lambda side: (float(cost[list(ops_of_side[side])].sum()), side))
    if not ways:
        return int(bool(value.reshape(())))
    index = int(value.reshape(()))
    return index if 0 <= index < ways else ways - 1
