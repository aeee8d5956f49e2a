"""Finds outputs that share a buffer with an input or with a variable, as TensorFlow's kernels do. Runs in the child.

- **Views of variables.** ReadVariableOp returns the variable's own buffer, and so does every output of a ref type
  (VariableV2, Assign, AssignAdd, ApplyAdam): its bytes are among the persistent ones. A TemporaryVariable makes its
  buffer when it runs.
- **Passed on.** Identity, Reshape, Enter, Switch and their like return an input as it is; a Merge that of the side that
  is taken; a list's ops the list, whose elements are counted once.
- **In place.** An elementwise op writes into an input that nothing else needs: one that its producer made, that has no
  other consumer, and that has as many bytes. Constants and variables stay.

- **There during the whole step.** The caller holds a fed input until the step ends, and a constant's kernel its tensor.

What TensorFlow copies, or passes on only where addresses happen to be aligned (slices, splits), has its own buffer.
Source: the kernels in tensorflow/core/kernels, which call set_output or forward_input_or_allocate_output.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import OWN_BUFFER, PERSISTENT_BUFFER, STEP_BUFFER
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import ENTERS, EXITS, INPUTS, MERGES, NEXT_ITERATIONS, READS, REFS_FROM, SWITCHES

FIRST_IS_PASSED_ON = frozenset(
    (
        *(*ENTERS, *EXITS, *NEXT_ITERATIONS),
        *("Identity", "RefIdentity", "StopGradient", "PreventGradient", "CheckNumerics", "LoopCond"),
        *("Reshape", "ExpandDims", "Squeeze", "Bitcast", "EnsureShape", "PlaceholderWithDefault"),
        "DestroyTemporaryVariable",
        *("TensorListSetItem", "TensorListPushBack", "TensorListGetItem"),
    )
)
"""op types whose first output is their first input"""
SECOND_IS_PASSED_ON = frozenset(("StackPush", "StackPushV2"))
"""op types whose output is their second input"""
ALL_ARE_THE_FIRST = frozenset((*SWITCHES, "_SwitchN", "TensorListPopBack"))
"""op types all of whose outputs are their first input, or parts of it"""
EACH_IS_PASSED_ON = frozenset(("IdentityN",))
"""op types whose outputs are their inputs, one by one"""
UNARY_IN_PLACE = frozenset(
    (
        *("Abs", "Neg", "Exp", "Expm1", "Log", "Log1p", "Sqrt", "Rsqrt", "Square", "Reciprocal", "Inv", "Sign"),
        *("Sin", "Cos", "Tan", "Tanh", "Sigmoid", "Erf", "Floor", "Ceil", "Round", "Rint", "LogicalNot"),
        *("Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "BiasAdd", "BiasAddV1", "Softmax", "LogSoftmax", "ClipByValue"),
        *("Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Erfc", "Erfinv", "Lgamma", "Digamma"),
        *("Softplus", "Softsign", "MatrixBandPart", "MatrixSetDiag", "ZerosLike", "OnesLike", "Snapshot"),
        *("InplaceUpdate", "InplaceAdd"),
    )
)
"""op types that may write into their first input"""
BINARY_IN_PLACE = frozenset(
    (
        *("Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "FloorDiv", "Pow", "Maximum", "Minimum"),
        *("SquaredDifference", "DivNoNan", "MulNoNan", "LogicalAnd", "LogicalOr"),
        *("FloorMod", "Atan2", "Xlogy", "Xdivy", "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad", "InvGrad"),
        *("ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad"),
        "ReciprocalGrad",
    )
)
"""op types that may write into either of their first two inputs"""
ANY_IN_PLACE = frozenset(("AddN",))
"""op types that may write into any of their inputs"""
FIRST_OR_SECOND_OF_THREE = frozenset(("Select", "SelectV2"))
"""op types that choose between their last two inputs, and may write into either"""
EMPTY_LISTS = frozenset(("EmptyTensorList", "TensorListReserve"))
"""op types that make lists, the second one of a given length"""
FILLING = frozenset((*MERGES, "TensorListPushBack", "TensorListPushBackBatch", "TensorListSetItem"))
"""op types from which on an empty list has elements: a loop's variable has those of all trips"""
DURING_THE_STEP = frozenset((*INPUTS, "Const", "_Arg"))
"""op types whose outputs are there during the whole step"""
STAY = frozenset((*DURING_THE_STEP, "_Recv"))
"""op types whose outputs somebody else holds too"""

TEMPORARY = "TemporaryVariable"
"""an op whose output, a ref, is a buffer of its own and no variable's"""

OutputOfOp = tuple[int, int]
"""an op and its output"""


def buffers_of_outputs(
    nodes: Sequence[Message],
    types: NodeTypes,
    order: Sequence[int],
    output_offset: NDArray[np.int64],
    output_bytes: NDArray[np.int64],
    trips: NDArray[np.int64],
) -> NDArray[np.int64]:
    """[all outputs] as `Costs.buffer_of_output`; `order` is a topological one, without the edges that close loops."""
    return _Buffers(nodes, types, output_offset, output_bytes, trips).of_outputs(order)


class _Buffers:
    """The buffers found so far."""

    def __init__(
        self,
        nodes: Sequence[Message],
        types: NodeTypes,
        output_offset: NDArray[np.int64],
        output_bytes: NDArray[np.int64],
        trips: NDArray[np.int64],
    ) -> None:
        self._nodes, self._types, self._trips = nodes, types, trips
        self._offset, self._bytes = output_offset.tolist(), output_bytes.tolist()
        index_of_name = {node.name: index for index, node in enumerate(nodes)}
        self._inputs = [_data_inputs(node, index_of_name) for node in nodes]
        self._consumers = self._counted_consumers()
        self._owner: list[int] = np.repeat(np.arange(len(nodes)), np.diff(output_offset)).tolist()
        self._made = [0] * len(output_bytes)
        """[all outputs] the output that made the buffer of each"""
        self._found = np.full(len(output_bytes), OWN_BUFFER)
        self._is_free = np.zeros(len(output_bytes), dtype=bool)
        """[all outputs] whether nothing but one consumer needs the buffer, so that it may write there"""
        self._temporary: set[int] = set()
        """outputs that are refs to a TemporaryVariable"""

    def of_outputs(self, order: Sequence[int]) -> NDArray[np.int64]:
        for op in order:
            outputs = range(self._offset[op + 1] - self._offset[op])
            passed = dict(self._passed_on(op, outputs)) if self._trips[op] > 0 else {}
            for output in outputs:
                self._set(op, output, passed.get(output))
        return self._found

    def _set(self, op: int, output: int, source: int | None) -> None:
        """Note the buffer of an output; `source` is the output among its op's inputs that it passes on, if any."""
        index = self._offset[op] + output
        self._made[index] = index
        alone = self._consumers.get(index, 0) <= 1
        if self._nodes[op].op == READS or (source is not None and self._fills(op, output, source)):
            self._found[index] = PERSISTENT_BUFFER
        elif self._is_ref(op, output):
            self._found[index] = self._buffer_of_ref(op, index)
        elif source is not None:
            self._found[index] = source
            self._made[index] = self._made[source]
            self._is_free[index] = alone and self._is_free[source]
        elif self._nodes[op].op in DURING_THE_STEP:
            self._found[index] = STEP_BUFFER
        else:
            self._is_free[index] = alone and self._nodes[op].op not in STAY

    def _is_ref(self, op: int, output: int) -> bool:
        numbers = self._types.outputs[op]
        return numbers is not None and output < len(numbers) and numbers[output] >= REFS_FROM

    def _buffer_of_ref(self, op: int, index: int) -> int:
        """The buffer of the ref `index`, an output of the op: a variable's, or that of the ref that the op takes."""
        taken = self._index(self._inputs[op][0]) if self._inputs[op] else None
        if self._nodes[op].op != TEMPORARY and taken not in self._temporary:
            return PERSISTENT_BUFFER
        self._temporary.add(index)
        return OWN_BUFFER if taken is None else taken

    def _fills(self, op: int, output: int, source: int) -> bool:
        """Whether the output is the first, of a list that was made empty, to have elements: see contents.py."""
        made = self._made[source]
        is_new = self._nodes[self._owner[made]].op in EMPTY_LISTS and self._bytes[made] == 0
        return is_new and output == 0 and self._nodes[op].op in FILLING

    def _passed_on(self, op: int, outputs: range) -> Iterator[tuple[int, int]]:
        """(output, index of the output that it passes on)."""
        op_type, inputs = self._nodes[op].op, self._inputs[op]
        if op_type in FIRST_IS_PASSED_ON:
            yield from self._pairs([0], inputs[:1])
        elif op_type in SECOND_IS_PASSED_ON:
            yield from self._pairs([0], inputs[1:2])
        elif op_type in ALL_ARE_THE_FIRST:
            yield from self._pairs(outputs, inputs[:1] * len(outputs))
        elif op_type in EACH_IS_PASSED_ON:
            yield from self._pairs(outputs, inputs)
        elif op_type in MERGES:
            yield from self._pairs([0], [source for source in inputs if self._comes_first(source)][:1])
        elif (place := self._written_into(op)) is not None:
            yield 0, place

    def _pairs(self, outputs: Sequence[int], sources: Sequence[OutputOfOp]) -> Iterator[tuple[int, int]]:
        for output, source in zip(outputs, sources, strict=False):
            index = self._index(source)
            if index is not None:
                yield output, index

    def _comes_first(self, source: OutputOfOp) -> bool:
        """Whether a Merge gets this input in its first execution."""
        return self._trips[source[0]] > 0 and self._nodes[source[0]].op not in NEXT_ITERATIONS

    def _written_into(self, op: int) -> int | None:
        """The index of the output among the op's inputs into which it writes its first output; None: into none."""
        op_type, inputs = self._nodes[op].op, self._inputs[op]
        if op_type in UNARY_IN_PLACE:
            inputs = inputs[:1]
        elif op_type in BINARY_IN_PLACE:
            inputs = inputs[:2]
        elif op_type in FIRST_OR_SECOND_OF_THREE:
            inputs = inputs[1:]
        elif op_type not in ANY_IN_PLACE:
            return None
        if self._offset[op] == self._offset[op + 1]:
            return None
        for source in inputs:
            index = self._index(source)
            if index is not None and self._may_write(op, source[0], index):
                return index
        return None

    def _may_write(self, op: int, producer: int, index: int) -> bool:
        is_alike = self._bytes[index] == self._bytes[self._offset[op]] and self._trips[producer] == self._trips[op]
        return bool(is_alike and self._is_free[index])

    def _index(self, source: OutputOfOp) -> int | None:
        """The index of an output among all; None if it is not counted."""
        op, output = source
        index = self._offset[op] + output
        return index if index < self._offset[op + 1] else None

    def _counted_consumers(self) -> dict[int, int]:
        """Index of an output → the number of inputs that take it."""
        counts: dict[int, int] = {}
        for op, inputs in enumerate(self._inputs):
            for index in (self._index(source) for source in inputs if self._trips[op] > 0):
                if index is not None:
                    counts[index] = counts.get(index, 0) + 1
        return counts


def _data_inputs(node: Message, index_of_name: Mapping[str, int]) -> list[OutputOfOp]:
    found = []
    for text in node.input:
        if text.startswith("^"):
            break
        name, _, output = text.partition(":")
        found.append((index_of_name[name], int(output or 0)))
    return found
