"""Evaluates a whole graph: the known properties of every output, op by op in topological order.

The sources for an op are: the reading options for an input; the elements of lists and handles; small values;
TensorFlow's shape function; the bound of a length that depends on data. Grappler's inferred shapes fill open lengths.
A walk visits a loop's body once. A loop's variable has the shape with which it enters; where the body makes it larger
by the same length in each trip, it gets its largest shape, and the graph is walked once more. Where it grows in another
way its length stays open, and where its rank changes its whole shape stays open.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from tensorflow.core.framework import types_pb2

from engine.costs.tensorflow.inference import handles
from engine.costs.tensorflow.inference.asking import ShapeFunctions, cleaned
from engine.costs.tensorflow.inference.bounds import NOT_OF_DATA, bounded_outputs, closed_length, largest_slice
from engine.costs.tensorflow.inference.captured import CapturedShapes
from engine.costs.tensorflow.inference.known import (
    OPEN,
    UNKNOWN,
    Items,
    Known,
    KnownShape,
    KnownValue,
    agreed,
    is_known,
    largest,
    numpy_type,
    of_value,
    together,
    value_of_constant,
)
from engine.costs.tensorflow.inference.loops import NEXTS, Loop, Path, Trips
from engine.costs.tensorflow.inference.partial_values import partly_known
from engine.costs.tensorflow.inference.plan import plan_of
from engine.costs.tensorflow.inference.small_values import values_of
from engine.graphs.reading_options import MOST_TRIPS, ReadingOptions
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import ENTERS, EXITS, HANDLES, INVALID, MERGES, REFS_FROM, SWITCHES

VARIANT, STRING = types_pb2.DT_VARIANT, types_pb2.DT_STRING
MOST_ROUNDS = 4
"""walks over one graph: loops that make tensors larger need a second walk, such loops inside others a third; a length
that still grows after the last walk stays open"""
IRREGULAR = -1
"""growth that differs from trip to trip"""
HANDED_THROUGH = frozenset({"LoopCond", *ENTERS, *NEXTS})
STACKS = frozenset({"StackV2", "Stack"})
STACK_PUSHES, STACK_POPS = frozenset({"StackPushV2", "StackPush"}), frozenset({"StackPopV2", "StackPop"})
CONSTANTS = frozenset({"Const", "HostConst"})

Called = Callable[[Message, Sequence[Known]], Sequence[Known] | None]


@dataclass(frozen=True, slots=True)
class Size:
    """An op whose outputs' lengths depend on data."""

    op: int
    length: int
    """the length that counts; OPEN where there is no bound"""
    is_given: bool


@dataclass(slots=True)
class Evaluation:
    """The result of evaluating a graph."""

    outputs: list[list[Known]]
    """[ops] the known properties of each output"""
    inputs: list[list[tuple[int, int]]]
    """[ops] (op, output) of each input without back edges; a control edge's output is -1"""
    order: list[int]
    """the ops in topological order"""
    frames: list[Path]
    """[ops] the loops around it"""
    loops: dict[str, Loop]
    """frame → loop"""
    sizes: list[Size] = field(default_factory=list)

    def inputs_of(self, op: int) -> list[Known]:
        """The data inputs of an op."""
        return [_output(self.outputs, source, output) for source, output in self.inputs[op] if output >= 0]

    def trips(self, op: int, nodes: Sequence[Message]) -> int:
        """Executions of the op in a step: a loop's Enter and Exit count as outside it, its condition runs once more."""
        frames = self.frames[op]
        if nodes[op].op in ENTERS or nodes[op].op in EXITS:
            frames = frames[:-1]
        trips = 1
        for frame in frames:
            trips *= self.loops[frame].trips + (op in self.loops[frame].looks)
        return min(trips, MOST_TRIPS)


def evaluate(
    nodes: Sequence[Message],
    types: NodeTypes,
    arguments: Mapping[int, Sequence[Known]],
    hints: Sequence[Sequence[Known]],
    options: ReadingOptions,
    asked: ShapeFunctions,
    called: "Called | None",
) -> Evaluation:
    """Evaluate the graph.

    `arguments`: op → its outputs, for inputs. `hints` [ops]: each op's outputs as known before. `called` gives the
    outputs of a call that stays one op, None for any other op.
    """
    walk = GraphWalk(nodes, types, arguments, hints, options, asked, called)
    for walked in range(MOST_ROUNDS):
        walk.run()
        if not walk.widen(give_up=walked + 2 >= MOST_ROUNDS):
            break
    return walk.evaluation


class GraphWalk:
    """The mutable state of one graph's evaluation."""

    def __init__(
        self,
        nodes: Sequence[Message],
        types: NodeTypes,
        arguments: Mapping[int, Sequence[Known]],
        hints: Sequence[Sequence[Known]],
        options: ReadingOptions,
        asked: ShapeFunctions,
        called: "Called | None",
    ) -> None:
        self._nodes, self._types, self._arguments, self._hints = nodes, types, arguments, hints
        self._options, self._asked, self._called = options, asked, called
        index_of_name = {node.name: index for index, node in enumerate(nodes)}
        inputs, order, frames, loops = plan_of(nodes, index_of_name)
        self.evaluation = Evaluation([[] for _ in nodes], inputs, order, frames, loops)
        self._trips = Trips(nodes, index_of_name, self.evaluation.outputs)
        self._loop_of_merge = {merge: loop for loop in loops.values() for merge in loop.merges}
        self._counted: set[str] = set()
        self._growth: dict[int, tuple[int, ...] | None] = {}
        self._stack_of_op: dict[int, int] = {}
        self._on_stack: dict[int, Known] = {}
        self._behind_open = [False] * len(nodes)
        self._captured = CapturedShapes(nodes, inputs, self.evaluation.outputs, self._evaluated)
        self._contents: dict[int, tuple[Message, bytes]] = {}
        self._index_of_name = index_of_name

    def run(self) -> None:
        """Evaluate every op."""
        self._counted.clear()
        self.evaluation.sizes.clear()
        self._on_stack.clear()
        outputs = self.evaluation.outputs
        for op in self.evaluation.order:
            outputs[op][:] = self._evaluated(op)
            self._captured.learn(op)
            self._behind_open[op] = self._is_behind_open(op)
        for loop in self.evaluation.loops.values():
            self._count(loop)
        if any(known.number == VARIANT for of_op in outputs for known in of_op):
            self._fill_lists()

    def widen(self, give_up: bool) -> bool:
        """Note the growth of loop variables in a trip; whether any growth is new.

        With `give_up` a length that still grows stays open.
        """
        found: dict[int, tuple[int, ...] | None] = {}
        for merge in self._loop_of_merge:
            before, after = self.evaluation.outputs[merge][:1], self._after(merge)
            if not before or after is None or before[0].shape is None or after.shape is None or after.number in HANDLES:
                continue
            growth = self._grows_by(merge, before[0].shape, after.shape, give_up)
            if growth is None or (growth != self._growth.get(merge) and after.shape != before[0].shape):
                found[merge] = growth
        self._growth |= found
        return bool(found)

    def _is_behind_open(self, op: int) -> bool:
        """Whether a tensor that the op depends on is unknown, which may be why its own lengths are open."""
        if any(self._behind_open[source] for source, output in self.evaluation.inputs[op] if output >= 0):
            return True
        inputs = self.evaluation.inputs_of(op)
        return not all(each.is_whole or (each.number == STRING and is_known(each.shape)) for each in inputs)

    def _grows_by(
        self, merge: int, before: Sequence[int], after: Sequence[int], give_up: bool
    ) -> tuple[int, ...] | None:
        """[dimensions] growth of a loop's variable in a trip, 0 where it shrinks; None if its rank changes."""
        if len(before) != len(after):
            return None
        known = self._growth.get(merge) or (0,) * len(before)
        growth = []
        for first, later, so_far in zip(before, after, known, strict=True):
            step = max(0, later - first) if min(first, later) >= 0 else so_far
            if step > so_far != IRREGULAR:
                so_far = step if so_far == 0 and not give_up else IRREGULAR
            growth.append(so_far)
        return tuple(growth)

    def _evaluated(self, op: int) -> list[Known]:
        """The known properties of the op's outputs."""
        node = self._nodes[op]
        inputs = self.evaluation.inputs_of(op)
        if op in self._arguments:
            return self._with_hints(op, self._arguments[op])
        if node.op in MERGES:
            return self._merged(op, inputs)
        if node.op in EXITS:
            return [self._left(op, inputs[0])] if inputs else [UNKNOWN]
        if (node.op in SWITCHES or node.op == "_SwitchN") and inputs:
            return [inputs[0]] * max(2, len(self._hints[op]), len(self._numbers(op)))
        if node.op in HANDED_THROUGH and inputs:
            return inputs[:1]
        outputs = handles.outputs_of(node, inputs)
        if node.op in STACK_PUSHES | STACK_POPS and inputs:
            outputs = self._stacked(op, node, inputs)
        if outputs is None and self._called is not None:
            outputs = self._called(node, inputs)
        found = list(outputs) if outputs is not None else self._computed(op, node, inputs)
        found = self._with_hints(op, found)
        return self._bounded(op, node, inputs, found)

    def _stacked(self, op: int, node: Message, inputs: Sequence[Known]) -> list[Known] | None:
        """The outputs of a push to or a pop from a stack of TensorFlow 1; the loop of the gradients pops."""
        stack = self._stack(op)
        if node.op in STACK_POPS:
            return [self._on_stack[stack]] if stack in self._on_stack else None
        pushed = inputs[1] if len(inputs) > 1 else UNKNOWN
        self._on_stack[stack] = largest([self._on_stack[stack], pushed]) if stack in self._on_stack else pushed
        return [pushed]

    def _stack(self, op: int) -> int:
        """The stack that an op's handle leads to."""
        passed: list[int] = []
        while op not in self._stack_of_op and self._nodes[op].op not in STACKS and self.evaluation.inputs[op]:
            passed.append(op)
            op = self.evaluation.inputs[op][0][0]
        stack = self._stack_of_op.get(op, op)
        self._stack_of_op.update(dict.fromkeys(passed, stack))
        return stack

    def _computed(self, op: int, node: Message, inputs: Sequence[Known]) -> list[Known]:
        """The outputs by their small values, and by TensorFlow's shape function where these leave a shape open."""
        numbers = self._numbers(op)
        values = value_of_constant(node) if node.op in CONSTANTS else values_of(node, inputs)
        bounded = any(each.bounded for each in inputs)
        found = [Known(number) for number in numbers]
        if values is not None and len(values) >= len(found):
            found = [
                Known(number) if value is None else of_value(value, number, bounded)
                for number, value in zip(numbers, values, strict=False)
            ]
        if found and found[0].value is None and (partial := partly_known(node, inputs)):
            found = [_with_numbers(each, numbers) for each, numbers in zip(found, partial, strict=False)]
        hints = self._hints[op]
        if all(each.shape is not None for each in found) or (
            not bounded and len(hints) == len(found) and all(each.is_whole for each in hints) and not self._growth
        ):
            return found
        clean, content = self._content(op, node)
        asked = self._asked.outputs(clean, content, inputs)
        if asked is None:
            return found
        shapes = [Known(number, shape, bounded=bounded) for number, shape in asked]
        return (
            [together(one, other) for one, other in zip(found, shapes, strict=True)]
            if len(found) == len(shapes)
            else shapes
        )

    def _with_hints(self, op: int, found: Sequence[Known]) -> list[Known]:
        """`found` with its open parts filled from Grappler's hints."""
        hints = self._hints[op]
        filled = [
            together(known, hints[position]) if position < len(hints) else known for position, known in enumerate(found)
        ]
        return [*filled, *hints[len(filled) :]]

    def _bounded(self, op: int, node: Message, inputs: Sequence[Known], found: list[Known]) -> list[Known]:
        """`found` with lengths that depend on data set to the given length or to their bound; notes them in `sizes`."""
        if not any(_is_open(each) for each in found):
            return found
        given = self._options.sizes.get(node.name)
        cut = found if given is not None else [largest_slice(node, inputs, each) for each in found]
        closed, length = bounded_outputs(node, inputs, cut, given)
        if any(one.bounded and not other.bounded for one, other in zip(cut, found, strict=True)):
            length = max(length, closed_length(found, cut))
        is_root = node.op not in NOT_OF_DATA and not self._is_behind_open(op) and any(map(_is_open, closed))
        if length >= 0 or is_root:
            self.evaluation.sizes.append(Size(op, length, given is not None and length >= 0))
        return closed

    def _numbers(self, op: int) -> list[int]:
        """[outputs] the types in the op's signature."""
        numbers = self._types.outputs[op]
        return [] if numbers is None else [number % REFS_FROM for number in numbers]

    def _content(self, op: int, node: Message) -> tuple[Message, bytes]:
        if op not in self._contents:
            clean = cleaned(node)
            self._contents[op] = clean, clean.SerializeToString(deterministic=True)
        clean, content = self._contents[op]
        return clean, content

    def _merged(self, op: int, inputs: Sequence[Known]) -> list[Known]:
        """The outputs of a Merge: a loop's variable as it enters, or the largest end of a condition's sides."""
        index = Known(types_pb2.DT_INT32, ())
        if not inputs:
            return [UNKNOWN, index]
        if op not in self._loop_of_merge or len(inputs) == len(self._nodes[op].input):
            ends = [each for each in inputs if each.number != INVALID] or list(inputs)
            return self._with_hints(op, [largest(ends), index])
        known = inputs[0] if self._trips.is_invariant(op) else replace(inputs[0], value=None, partial=None)
        if op in self._growth:
            known = replace(known, shape=self._widened(op, known.shape), bounded=True)
        return [known, index]

    def _widened(self, merge: int, shape: KnownShape) -> KnownShape:
        """The largest shape of a loop's variable that enters with `shape`."""
        growth, trips = self._growth[merge], self._loop_of_merge[merge].trips
        if growth is None or shape is None or len(growth) != len(shape):
            return None
        pairs = zip(shape, growth, strict=True)
        return tuple(OPEN if length < 0 or step < 0 else length + trips * step for length, step in pairs)

    def _left(self, op: int, inside: Known) -> Known:
        """The output of an Exit: the loop's variable after its last trip."""
        merge = self._merge_of_exit(op)
        if merge is None:
            return replace(inside, value=None, partial=None)
        loop = self._loop_of_merge[merge]
        self._count(loop)
        after = self._after(merge)
        if inside.items is not None and after is not None and after.items is not None:
            items = _grown(inside.items, after.items, loop.trips)
            return replace(inside, items=items, value=None, bounded=inside.bounded or after.bounded)
        number = self._trips.at_the_end(merge, loop)
        if number is None or inside.value is not None or inside.shape != ():
            return inside
        dtype = numpy_type(inside.number)
        if dtype is None or dtype.kind not in "iu" or not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
            return inside
        return replace(inside, value=np.array(number, dtype=dtype))

    def _count(self, loop: Loop) -> None:
        """Set the loop's trips, once a walk: from its condition, from a person, or one."""
        if loop.frame in self._counted:
            return
        self._counted.add(loop.frame)
        loop.trips, loop.source = 1, ""
        self._trips.count(loop)
        given = self._options.trips.get(loop.name)
        if loop.source in ("constant", "length"):
            return
        if given is not None:
            loop.trips, loop.source = given, "given"
        elif not loop.source:
            loop.source = "assumed"

    def _merge_of_exit(self, op: int) -> int | None:
        """The Merge of the loop's variable that an Exit outputs."""
        source = self.evaluation.inputs[op][0][0]
        if self._nodes[source].op in SWITCHES and self.evaluation.inputs[source]:
            source = self.evaluation.inputs[source][0][0]
        return source if source in self._loop_of_merge else None

    def _enter(self, merge: int) -> Known | None:
        inputs = self.evaluation.inputs_of(merge)
        return inputs[0] if inputs else None

    def _after(self, merge: int) -> Known | None:
        """A loop's variable after the body, None where that has not been evaluated."""
        for text in self._nodes[merge].input:
            source = self._index_of_name[producer_of(text)]
            if self._nodes[source].op in NEXTS and self.evaluation.outputs[source]:
                return self.evaluation.outputs[source][0]
        return None

    def _fill_lists(self) -> None:
        """Spread the properties of a list's elements, known where they are added, to all ops that pass the list on.

        A list to which a loop's body adds elements counts, inside the body too, with those of all trips.
        """
        outputs = self.evaluation.outputs
        for merge, loop in self._loop_of_merge.items():
            before, after = self._enter(merge), self._after(merge)
            if before is None or after is None or before.items is None or after.items is None:
                continue
            grown = _grown(before.items, after.items, loop.trips)
            for op in self._takers(merge, loop) if grown != before.items else ():
                outputs[op][:] = [replace(each, items=grown) if each.items else each for each in outputs[op]]
        for op in (*reversed(self.evaluation.order), *self.evaluation.order):
            self._share_items(op)

    def _share_items(self, op: int) -> None:
        """Equalize the properties of a list's elements at an op that passes the list on and at its producer."""
        inputs = self.evaluation.inputs[op]
        if not inputs or not self.evaluation.outputs[op] or self.evaluation.outputs[op][0].number != VARIANT:
            return
        source, position = inputs[0]
        given = self.evaluation.outputs[source]
        if not 0 <= position < len(given) or given[position].items is None:
            return
        for index, taken in enumerate(self.evaluation.outputs[op]):
            items = given[position].items
            if taken.items is None or items is None or taken.number != VARIANT or taken.items.number != items.number:
                continue
            shape = agreed(taken.items.shape, items.shape)
            self.evaluation.outputs[op][index] = replace(taken, items=replace(taken.items, shape=shape))
            given[position] = replace(given[position], items=replace(items, shape=agreed(items.shape, shape)))

    def _takers(self, merge: int, loop: Loop) -> list[int]:
        """The ops of the loop's body that pass the list on, from the variable to the next trip."""
        found = {merge}
        for text in self._nodes[merge].input:
            op = self._index_of_name[producer_of(text)]
            while op not in found and self._nodes[op].op not in ENTERS and self.evaluation.inputs[op]:
                if self.evaluation.frames[op] == loop.path:
                    found.add(op)
                op = self.evaluation.inputs[op][0][0]
        outputs = self.evaluation.outputs
        return sorted(op for op in found if outputs[op] and outputs[op][0].items is not None)


def _grown(before: Items, after: Items, trips: int) -> Items:
    """The elements after all trips of a list that has `before` at the start of a trip and `after` at its end."""
    shape = after.shape if before.shape is None or not is_known(before.shape) else before.shape
    count = before.count
    if before.count >= 0 and after.count >= 0:
        count = max(0, before.count + trips * (after.count - before.count))
    value = after.value if before.count == 0 or before.value == after.value else None
    return Items(before.number or after.number, shape, count, value, before.parts or after.parts)


def _with_numbers(known: Known, numbers: KnownValue | None) -> Known:
    """A scalar or vector with its `numbers`, of which some may be OPEN."""
    dtype = numpy_type(known.number)
    if numbers is None or known.value is not None or dtype is None:
        return known
    if min(numbers.shape, default=1) and numbers.min() >= 0:
        return replace(known, shape=numbers.shape, value=numbers.astype(dtype))
    return replace(known, shape=numbers.shape, partial=tuple(numbers.tolist()))


def _is_open(known: Known) -> bool:
    return known.shape is not None and not is_known(known.shape) and known.number not in HANDLES


def _output(outputs: Sequence[Sequence[Known]], source: int, output: int) -> Known:
    of_source = outputs[source]
    return of_source[output] if output < len(of_source) else UNKNOWN
