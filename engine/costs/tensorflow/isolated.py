"""Finds the work of single ops, each by itself: in closed form, or by TensorFlow's estimator. Runs in the child.

The estimator gets a graph of unconnected ops, whose inputs are separate nodes of the known shapes. Ops that are alike
are in it once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorflow.core.framework import node_def_pb2, types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from engine.costs.arithmetic import ALWAYS_OURS, HEAVY, moved_bytes_of, operations_of
from engine.costs.tensorflow import grappler
from engine.costs.tensorflow.estimable import OF_UNKNOWN_ARITHMETIC
from engine.costs.tensorflow.inference.asking import stand_in, write_shape
from engine.costs.tensorflow.inference.known import Known
from engine.costs.tensorflow.inference.queries import Query, tensor_of
from engine.costs.tensorflow.shapes import MOST_BYTES
from engine.costs.tensorflow.work_of_types import EXPANDED_CALLS, WITHOUT_COST, hidden_work
from engine.costs.unknown import Unknown
from engine.errors import CostError
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_table import registered_ops
from engine.graphs.tensorflow.op_types import HANDLES

HANDED_ON = frozenset(
    {
        *("Enter", "Exit", "Merge", "Switch", "NextIteration", "LoopCond", "_SwitchN"),
        *("RefEnter", "RefExit", "RefMerge", "RefSwitch", "RefNextIteration"),
    }
)
"""ops of loops and conditions: they pass tensors on without a copy"""
IN_CLOSED_FORM = ALWAYS_OURS | OF_UNKNOWN_ARITHMETIC | HEAVY
"""op types for which the estimator is not asked"""
MOST_COUNTED = grappler.MOST_OPERATIONS
MOST_LENGTH = 2**63 - 1
MOST_QUESTIONS = 100
"""calls of the estimator, on ever smaller graphs, where it refuses some op"""


@dataclass(frozen=True, slots=True)
class OpWork:
    """The work of one execution of an op."""

    operations: int = 0
    moved_bytes: int = 0
    temporary_bytes: int = 0
    unknown: Unknown = Unknown.NOT_SAID


def works_of(queries: Iterable[Query]) -> dict[tuple[Any, ...], OpWork]:
    """Key of a query → its work."""
    unique = {query.key: query for query in queries}
    found: dict[tuple[Any, ...], OpWork] = {}
    left: list[Query] = []
    for key, query in unique.items():
        work = _work_without_estimator(query)
        if work is None:
            left.append(query)
        else:
            found[key] = work
    return found | _estimated(left)


def _work_without_estimator(query: Query) -> OpWork | None:
    """The work of an op that needs no estimator; None for any other."""
    op_type = query.node.op
    if op_type in WITHOUT_COST:
        return OpWork()
    if reason := Unknown.FUNCTION if op_type in EXPANDED_CALLS else hidden_work(op_type):
        return OpWork(unknown=reason)
    if not query.is_whole:
        return OpWork(unknown=Unknown.INPUT_SHAPE)
    tensors = (*query.inputs, *query.outputs)
    longest = max((length for each in tensors for length in each.shape or ()), default=0)
    if longest > MOST_LENGTH or max((each.bytes for each in tensors), default=0) > MOST_BYTES:
        return OpWork(unknown=Unknown.OVERFLOW)
    if op_type in HANDED_ON:
        return OpWork()
    if op_type not in registered_ops():
        return OpWork(unknown=Unknown.TYPE)
    has_lists = any(each.number == types_pb2.DT_VARIANT for each in (*query.inputs, *query.outputs))
    if op_type in IN_CLOSED_FORM or has_lists:
        return _in_closed_form(query)
    return None


def _in_closed_form(query: Query) -> OpWork:
    inputs, outputs = ([tensor_of(each) for each in side] for side in (query.inputs, query.outputs))
    operations = operations_of(query.node, inputs, outputs)
    moved_bytes = moved_bytes_of(query.node, inputs, outputs)
    if operations is None and query.node.op in OF_UNKNOWN_ARITHMETIC | HEAVY:
        return OpWork(unknown=Unknown.ARITHMETIC)
    if max(operations or 0, moved_bytes) > MOST_COUNTED:
        return OpWork(unknown=Unknown.OVERFLOW)
    return OpWork(operations or 0, moved_bytes)


def _estimated(queries: Sequence[Query]) -> dict[tuple[Any, ...], OpWork]:
    """The work by the estimator, in one graph or, where it refuses, in ever smaller halves; the rest in closed form."""
    found: dict[tuple[Any, ...], OpWork] = {}
    waiting = [queries] if queries else []
    for _ in range(MOST_QUESTIONS):
        if not waiting:
            break
        some = waiting.pop()
        try:
            found |= _answered(some)
        except CostError:
            middle = len(some) // 2
            waiting += [some[middle:], some[:middle]] if middle else []
    return found | {query.key: _in_closed_form(query) for query in queries if query.key not in found}


def _answered(queries: Sequence[Query]) -> dict[tuple[Any, ...], OpWork]:
    """The work by the estimator, all in one graph. Raises CostError where it refuses one of the ops."""
    graph = _IsolatedOps()
    names = [graph.add(query) for query in queries]
    work = grappler.work_of(grappler.item_of(graph.meta_graph), names)
    found = {}
    for index, query in enumerate(queries):
        if work.unknown[index]:
            found[query.key] = _in_closed_form(query)
        else:
            found[query.key] = OpWork(
                int(work.operations[index]), int(work.moved_bytes[index]), int(work.temporary_bytes[index])
            )
    return found


class _IsolatedOps:
    """A graph of ops that are not connected with each other."""

    def __init__(self) -> None:
        self.meta_graph = meta_graph_pb2.MetaGraphDef()
        self._sources: dict[tuple[Any, ...], str] = {}

    def add(self, query: Query) -> str:
        """Add the op and its inputs, and return the op's name."""
        inputs = [self._source(known) for known in query.inputs]
        node = self.meta_graph.graph_def.node.add()
        node.CopyFrom(query.node)
        node.name = f"op_{len(self.meta_graph.graph_def.node)}"
        node.input[:] = inputs
        return str(node.name)

    def _source(self, known: Known) -> str:
        """The name of a node that stands for an input: a constant where its value is known, else a variable."""
        value = None if known.value is None or known.number in HANDLES else known.value
        key = (known.number, known.shape, None if value is None else value.tobytes(), known.items)
        if key not in self._sources:
            source = self.meta_graph.graph_def.node.add()
            source.CopyFrom(_handle(known) if known.number == types_pb2.DT_RESOURCE else _tensor(known, value))
            source.name = f"source_{len(self._sources)}"
            self._sources[key] = source.name
        return self._sources[key]


def _tensor(known: Known, value: Any) -> Message:
    """A constant, or a variable: the estimator keeps its shape, but forgets the shape of a fed tensor."""
    source = stand_in(known.number, known.shape, value)
    if source.op == "Placeholder":
        source.op = "VariableV2"
    return source


def _handle(known: Known) -> Message:
    source = node_def_pb2.NodeDef(op="VarHandleOp")
    items = known.items
    source.attr["dtype"].type = items.number if items is not None and items.number else types_pb2.DT_FLOAT
    write_shape(source.attr["shape"].shape, None if items is None else items.shape)
    return source


def summed(parts: Sequence[tuple[Query, int]], works: Mapping[tuple[Any, ...], OpWork]) -> OpWork:
    """The work of a call: the sum over its ops times their trips."""
    operations = moved_bytes = temporary_bytes = 0
    for query, trips in parts:
        work = works[query.key]
        if work.unknown:
            return OpWork(unknown=Unknown.FUNCTION)
        operations += trips * work.operations
        moved_bytes += trips * work.moved_bytes
        temporary_bytes = max(temporary_bytes, work.temporary_bytes)
    if max(operations, moved_bytes) > MOST_COUNTED:
        return OpWork(unknown=Unknown.OVERFLOW)
    return OpWork(operations, moved_bytes, temporary_bytes)
