"""Graphs with loops, drawn from a random generator: nested ones, recurrent and independent bodies, branches.

Every op of a body depends on a value of its trip, as TensorFlow's do: a trip begins with its NextIterations.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.engine.simulator.unrolled import LoopedGraph, LoopedOp

TIMES_US = (0.0, 0.0, 1.0, 3.0, 10.0, 40.0)
SIZES = (0, 4, 100, 2000)
MOST_EXECUTIONS = 300
"""of a drawn graph's innermost bodies, so that unrolled graphs stay small"""


class LoopDrawing:
    """Draws one graph; `place` puts the ops of a loop's variable on one device, as TensorFlow does, others anywhere."""

    def __init__(self, rng: np.random.Generator, deepest: int) -> None:
        self._rng, self._deepest = rng, deepest
        self.graph = LoopedGraph()
        self._unit: list[str] = []
        """[ops] the name of the op with which each shares a device"""
        self._loops: tuple[str, ...] = ()
        self._looks_in: frozenset[str] = frozenset()
        start = [self._op("Const", ()) for _ in range(2)]
        self._constants: list[str] = []
        """what enters the innermost loop once, for all its trips"""
        self._elements([*start, *self._loop(start, 1)], int(rng.integers(0, 4)), 1)

    def place(self, devices: int) -> NDArray[np.int32]:
        """[ops] a random device for each op."""
        device_of = {name: int(self._rng.integers(devices)) for name in dict.fromkeys(self._unit)}
        return np.array([device_of[name] for name in self._unit], dtype=np.int32)

    def _op(
        self, op_type: str, inputs: Sequence[str], with_: str = "", outside: bool = False, taken: bool = True
    ) -> str:
        """Add an op; `with_` names the op whose device it shares, `outside` puts it outside the innermost loop."""
        name = f"{op_type}_{len(self.graph.ops)}"
        loops = self._loops[:-1] if outside else self._loops
        plain = op_type in ("MatMul", "Test")
        self.graph.ops.append(
            LoopedOp(
                name,
                op_type,
                tuple(inputs),
                loops,
                self._looks_in & set(loops),
                float(self._rng.choice(TIMES_US)) if plain else 0.0,
                int(self._rng.choice(SIZES)),
                taken,
            )
        )
        self._unit.append(with_ or name)
        return name

    def _some(self, values: Sequence[str], most: int) -> list[str]:
        count = min(len(values), int(self._rng.integers(1, most + 1)))
        return [values[at] for at in sorted(self._rng.choice(len(values), count, replace=False))]

    def _elements(self, values: Sequence[str], count: int, executions: int) -> list[str]:
        """Add ops, branches and loops that use `values`; returns all values."""
        known = list(values)
        for _ in range(count):
            kind = self._rng.random()
            if kind < 0.35 and len(self._loops) < self._deepest:
                known += self._loop(known, executions)
            elif kind < 0.45:
                known.append(self._branch(known))
            else:
                known.append(self._op("MatMul", [*self._some(known, 2), *self._some_constants()]))
        return known

    def _some_constants(self) -> list[str]:
        return self._some(self._constants, 1) if self._constants and self._rng.random() < 0.4 else []

    def _branch(self, values: Sequence[str]) -> str:
        taken = self._op("MatMul", self._some(values, 1))
        other = self._op("MatMul", self._some(values, 1), taken=False)
        return self._op("Merge", [taken, other])

    def _loop(self, values: Sequence[str], executions: int) -> list[str]:
        """Add a loop of one to three variables; returns what leaves it."""
        loop, around = f"loop{len(self.graph.trips)}", self._looks_in
        self.graph.trips[loop] = trips = int(self._rng.integers(0, min(20, MOST_EXECUTIONS // executions) + 1))
        self._loops = (*self._loops, loop)
        given = self._some(values, 3)
        enters = [self._op("Enter", [value], outside=True) for value in given]
        of_all = [*values, *self._constants]
        constants = [self._op("Enter", self._some(of_all, 1), outside=True) for _ in range(self._rng.integers(0, 3))]
        self._looks_in = around | {loop}
        merges = [self._op("Merge", [enter], enter) for enter in enters]
        condition = self._condition(merges)
        switches = [self._op("Switch", [merge, condition], enter) for merge, enter in zip(merges, enters, strict=True)]
        self._looks_in, outer_constants, self._constants = around, self._constants, constants
        inside = self._elements(switches, int(self._rng.integers(1, 5)), executions * max(trips, 1))
        self._constants = outer_constants
        for enter, merge, switch in zip(enters, merges, switches, strict=True):
            self._close(merge, switch if self._rng.random() < 0.2 else str(self._rng.choice(inside)), enter)
        left = [
            self._op("Exit", [switch], enter, outside=True)
            for switch, enter in zip(switches, enters, strict=True)
            if self._rng.random() < 0.8
        ]
        self._loops = self._loops[:-1]
        return left

    def _condition(self, merges: Sequence[str]) -> str:
        test = self._op("Test", self._some(merges, 2))
        if self._rng.random() < 0.3:
            test = self._op("Test", [test])
        return self._op("LoopCond", [test])

    def _close(self, merge: str, value: str, unit: str) -> None:
        """Let `value` be the variable's next one."""
        following = self._op("NextIteration", [value], unit)
        at = next(index for index, op in enumerate(self.graph.ops) if op.name == merge)
        merged = self.graph.ops[at]
        self.graph.ops[at] = LoopedOp(
            merged.name, "Merge", (*merged.inputs, following), merged.loops, merged.looks_in, 0.0, merged.bytes
        )
