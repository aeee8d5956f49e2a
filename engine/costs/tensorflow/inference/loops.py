"""While loops in their lowered form: their frames, and the trips that their bodies run.

A loop is the ops between the Enter and the Exit ops of one frame. Its condition is a LoopCond; each of its variables is
a Merge of an Enter and a NextIteration, which a Switch sends to the body or to an Exit. The trips follow from the
condition where it compares a number that grows by a known step with a known number.
Source: tensorflow/core/common_runtime/lower_while_op.cc; Yu et al., Dynamic Control Flow in Large-Scale Machine
Learning (EuroSys 2018), section 4.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.costs.tensorflow.inference.known import Known
from engine.graphs.reading_options import MOST_TRIPS
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import ENTERS, EXITS, MERGES, SWITCHES

NEXTS = frozenset({"NextIteration", "RefNextIteration"})
PASSED_ON = frozenset({"Identity", "StopGradient", "Snapshot", "LoopCond", *SWITCHES, *NEXTS})
"""ops that pass their first input on"""
TESTS = frozenset({"Less", "LessEqual", "Greater", "GreaterEqual", "NotEqual"})
SUMS = frozenset({"Add", "AddV2", "Sub"})
DEEPEST = 64
"""limit on the ops followed from a condition to its operands, on conditions joined by `and`, and on nested loops"""
_LOWERED = re.compile(r"(.+)/enter/_[0-9]+\Z")

Path = tuple[str, ...]


@dataclass(slots=True)
class Loop:
    """A while loop: the ops of one frame."""

    frame: str
    path: Path
    """the frames around it, then its own"""
    name: str = ""
    """the name that people see"""
    enters: list[int] = field(default_factory=list)
    merges: list[int] = field(default_factory=list)
    exits: list[int] = field(default_factory=list)
    nexts: list[int] = field(default_factory=list)
    condition: int = -1
    """the LoopCond"""
    looks: set[int] = field(default_factory=set)
    """the ops that run once more than the body: the condition, the variables' Merge and Switch"""
    ops: int = 0
    """number of ops that run once a trip"""
    trips: int = 1
    source: str = ""
    """one of `TRIPS_FROM`; empty until it is known"""
    too_many: bool = False
    """whether the file claims more trips than are counted"""


@dataclass(frozen=True, slots=True)
class Linear:
    """A number that is `start` in the first trip and grows by `step` in each trip."""

    start: int
    step: int = 0
    is_constant: bool = True
    """whether it follows from constants in the file alone, not from lengths"""
    is_bounded: bool = False
    """whether it is an upper bound"""


def frame_of_ops(
    nodes: Sequence[Message],
    order: Sequence[int],
    sources: Sequence[Sequence[int]],
    nexts_of_merge: Mapping[int, Sequence[int]],
) -> tuple[list[Path], dict[str, Loop]]:
    """[ops] the frames around each op (an Enter's and an Exit's own frame included), and all loops by frame.

    `order` is a topological one; `sources` [ops] are the ops behind each op's inputs, those that close a loop left out,
    `nexts_of_merge` (Merge → NextIterations) these.
    """
    frames: list[Path] = [()] * len(nodes)
    loops: dict[str, Loop] = {}
    for op in order:
        around = (frames[source][:-1] if nodes[source].op in EXITS else frames[source] for source in sources[op])
        frame = max(around, key=len, default=())
        node = nodes[op]
        if node.op in ENTERS and len(frame) < DEEPEST:
            name = node.attr["frame_name"].s.decode("utf-8", "replace")
            frame = (*frame, name)
            loops.setdefault(name, Loop(name, frame)).enters.append(op)
        frames[op] = frame
        if frame and frame[-1] in loops:
            _note(loops[frame[-1]], op, node.op)
            if _starts_trip(op, nodes, sources):
                loops[frame[-1]].looks.add(op)
    for loop in loops.values():
        loop.looks |= _ops_of_condition(loop, nodes, sources, nexts_of_merge, frames)
    _name(loops, nodes)
    return frames, loops


def _starts_trip(op: int, nodes: Sequence[Message], sources: Sequence[Sequence[int]]) -> bool:
    """Whether the op is the Merge or the Switch of a loop's variable."""
    types = {nodes[source].op for source in sources[op]}
    if nodes[op].op in MERGES:
        return not ENTERS.isdisjoint(types)
    return nodes[op].op in SWITCHES and "LoopCond" in types


def _ops_of_condition(
    loop: Loop,
    nodes: Sequence[Message],
    sources: Sequence[Sequence[int]],
    nexts_of_merge: Mapping[int, Sequence[int]],
    frames: Sequence[Path],
) -> set[int]:
    """The LoopCond and the ops of the frame, and of loops inside it with their bodies, that it needs."""
    seen: set[int] = set()
    waiting = [loop.condition] if loop.condition >= 0 else []
    depth = len(loop.path)
    while waiting:
        op = waiting.pop()
        is_inside = frames[op][:depth] == loop.path and not (nodes[op].op in ENTERS and len(frames[op]) == depth)
        if is_inside and op not in seen:
            seen.add(op)
            waiting += sources[op]
            if len(frames[op]) > depth:
                waiting += nexts_of_merge.get(op, ())
    return seen


def _note(loop: Loop, op: int, op_type: str) -> None:
    """Add an op to its role in the loop: exit, merge, next iteration or condition."""
    if op_type in EXITS:
        loop.exits.append(op)
    elif op_type not in ENTERS:
        loop.ops += 1
    if op_type in MERGES:
        loop.merges.append(op)
    elif op_type in NEXTS:
        loop.nexts.append(op)
    elif op_type == "LoopCond":
        loop.condition = op


def _name(loops: Mapping[str, Loop], nodes: Sequence[Message]) -> None:
    """Name each loop after the op from which it was lowered, else after its frame; names are unique."""
    taken: set[str] = set()
    for loop in loops.values():
        lowered = _LOWERED.match(nodes[loop.enters[0]].name)
        wanted = lowered[1] if lowered else loop.frame
        loop.name = wanted if wanted not in taken else loop.frame
        taken.add(loop.name)


class Trips:
    """Counts a loop's trips, from its condition and the known operands of its comparison."""

    def __init__(
        self, nodes: Sequence[Message], index_of_name: Mapping[str, int], outputs: Sequence[Sequence[Known]]
    ) -> None:
        """`outputs` [ops] are the outputs known so far."""
        self._nodes, self._index_of_name, self._outputs = nodes, index_of_name, outputs

    def count(self, loop: Loop) -> None:
        """Set the loop's `trips` and `source`; `source` stays empty where the condition does not show the trips."""
        if loop.condition < 0 or not self._nodes[loop.condition].input:
            return
        tests, is_all = self._tests(self._nodes[loop.condition].input[0])
        found = [self._of_test(op, loop) for op in tests]
        counted = [each for each in found if each is not None]
        if not counted:
            return
        trips = min(count for count, _, _ in counted)
        if trips > MOST_TRIPS:
            loop.too_many = True
            return
        loop.trips = trips
        if len(counted) < len(found) or not is_all or any(bounded for _, _, bounded in counted):
            loop.source = "at most"
        else:
            loop.source = "constant" if all(constant for _, constant, _ in counted) else "length"

    def at_the_end(self, merge: int, loop: Loop) -> int | None:
        """The final value of a loop's variable, None where unknown."""
        linear = self._of_merge(merge, 0) if loop.source in ("constant", "length") else None
        return None if linear is None else linear.start + linear.step * loop.trips

    def is_invariant(self, merge: int) -> bool:
        """Whether the body passes the loop's variable on unchanged."""
        return self._first(self._next(merge)) == merge

    def _next(self, merge: int) -> str:
        """The tensor that is the variable's value in the next trip."""
        for text in self._nodes[merge].input:
            if self._nodes[self._op(text)].op in NEXTS:
                return str(text)
        return str(self._nodes[merge].name)

    def _op(self, text: str) -> int:
        return self._index_of_name[producer_of(text)]

    def _first(self, text: str) -> int:
        """The op that computes the tensor, looked up through ops that pass their input on."""
        op = self._op(text)
        for _ in range(DEEPEST):
            if self._nodes[op].op not in PASSED_ON or not self._nodes[op].input:
                break
            op = self._op(self._nodes[op].input[0])
        return op

    def _tests(self, text: str) -> tuple[list[int], bool]:
        """The conditions that must all hold, and whether the list is complete."""
        found: list[int] = []
        seen: set[int] = set()
        waiting = [text]
        while waiting and len(found) < DEEPEST:
            op = self._first(waiting.pop())
            if op in seen:
                continue
            seen.add(op)
            if self._nodes[op].op == "LogicalAnd" and len(self._nodes[op].input) > 1:
                waiting += self._nodes[op].input[:2]
            else:
                found.append(op)
        return found, not waiting

    def _of_test(self, op: int, loop: Loop) -> tuple[int, bool, bool] | None:
        """Trips while the test holds, whether constants give them, and whether they are a bound; None if unknown."""
        node = self._nodes[op]
        value = self._outputs[op][0].value if self._outputs[op] else None
        if value is not None and value.size == 1:
            return None if bool(value.reshape(())) else (0, True, False)
        if node.op not in TESTS or len(node.input) < 2:
            return None
        lines: dict[int, Linear | None] = {}
        one, other = (self._linear(text, loop, 0, lines) for text in node.input[:2])
        if one is None or other is None:
            return None
        if node.op.startswith("Greater"):
            one, other = other, one
        gap, step = other.start - one.start, one.step - other.step
        trips = _trips_until(gap, step, node.op)
        if trips is None:
            return None
        return trips, one.is_constant and other.is_constant, one.is_bounded or other.is_bounded

    def _linear(self, text: str, loop: Loop, depth: int, found: dict[int, Linear | None]) -> Linear | None:
        """The tensor as a linear number over the trips, None where it is not; `found` keeps the answer for each op."""
        op = self._first(text)
        if op not in found:
            found[op] = self._line(op, text, loop, depth, found)
        return found[op]

    def _line(self, op: int, text: str, loop: Loop, depth: int, found: dict[int, Linear | None]) -> Linear | None:
        node = self._nodes[op]
        if op in loop.merges:
            return self._of_merge(op, depth)
        number = self._number(op, text)
        if number is not None:
            return Linear(number, 0, self._is_constant(op), self._outputs[op][0].bounded)
        if depth > DEEPEST or node.op not in SUMS or len(node.input) < 2:
            return None
        one, other = (self._linear(each, loop, depth + 1, found) for each in node.input[:2])
        if one is None or other is None:
            return None
        sign = -1 if node.op == "Sub" else 1
        constant = one.is_constant and other.is_constant
        bounded = one.is_bounded or other.is_bounded
        return Linear(one.start + sign * other.start, one.step + sign * other.step, constant, bounded)

    def _of_merge(self, merge: int, depth: int) -> Linear | None:
        """A variable of the loop as a linear number over the trips, None where it is not."""
        enters = [text for text in self._nodes[merge].input if self._nodes[self._op(text)].op in ENTERS]
        is_variable = len(enters) == 1 and self._next(merge) != self._nodes[merge].name
        start = self._number(self._op(enters[0]), enters[0]) if is_variable else None
        if start is None or depth > DEEPEST:
            return None
        step = self._step(self._next(merge), merge, 0)
        enter = self._op(enters[0])
        return None if step is None else Linear(start, step, self._is_constant(enter), self._outputs[enter][0].bounded)

    def _step(self, text: str, merge: int, depth: int) -> int | None:
        """The growth of the variable on its way to tensor `text` in one trip, None where unknown."""
        op = self._first(text)
        node = self._nodes[op]
        if op == merge:
            return 0
        if depth > DEEPEST or node.op not in SUMS or len(node.input) < 2:
            return None
        first, second = node.input[:2]
        for variable, constant in ((first, second), (second, first)):
            number = self._number(self._first(constant), constant)
            if number is not None and (node.op != "Sub" or variable == first):
                inner = self._step(variable, merge, depth + 1)
                return None if inner is None else inner + (-number if node.op == "Sub" else number)
        return None

    def _number(self, op: int, text: str) -> int | None:
        """The single integer that an op outputs, None where unknown."""
        position = int(text.partition(":")[2] or 0) if self._op(text) == op else 0
        outputs = self._outputs[op]
        value = outputs[position].value if position < len(outputs) else None
        if value is None or value.size != 1 or value.dtype.kind not in "iuf":
            return None
        number = float(value.reshape(()))
        if value.dtype.kind != "f":
            return int(value.reshape(()))
        return int(number) if np.isfinite(number) and number == math.floor(number) else None

    def _is_constant(self, op: int, depth: int = 0) -> bool:
        """Whether a number is a constant in the file, not the length of a tensor."""
        while (self._nodes[op].op in ENTERS or self._nodes[op].op in PASSED_ON) and self._nodes[op].input:
            op = self._op(self._nodes[op].input[0])
        node = self._nodes[op]
        if node.op in ("Max", "Min", "Sum", "Prod", "Cast", "Minimum", "Maximum"):
            data = [self._op(text) for text in node.input if not text.startswith("^")]
            return depth < DEEPEST and all(self._is_constant(source, depth + DEEPEST // 4) for source in data)
        return node.op in ("Const", "Range")


def _trips_until(gap: int, step: int, op_type: str) -> int | None:
    """Number of x = 0, step, 2·step … before `x < gap` (or the comparison `op_type`) fails; None: it never fails."""
    if op_type == "NotEqual":
        return gap // step if step and gap % step == 0 and gap // step >= 0 else None
    if op_type.endswith("Equal"):
        gap += 1
    if gap <= 0:
        return 0
    return None if step <= 0 else -(-gap // step)
