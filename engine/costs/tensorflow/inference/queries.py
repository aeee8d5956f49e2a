"""Queries for the work of an op: the op by itself, or the ops of its functions, with inputs and outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tensorflow.core.framework import types_pb2

from engine.costs.arithmetic import TensorOf, operations_of
from engine.costs.tensorflow.inference.asking import ShapeFunctions, cleaned
from engine.costs.tensorflow.inference.branches import branches_of, sides_of_ops
from engine.costs.tensorflow.inference.calls import MOST_EXPANDED, CannotExpandError, Expanded, expanded, is_call
from engine.costs.tensorflow.inference.known import Items, Known, shape_of_message
from engine.costs.tensorflow.inference.walk import Evaluation, evaluate
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import HANDLES, READS

WITHOUT_WORK = frozenset({"Placeholder", "Const", "NoOp", "VarHandleOp"})
"""op types of a function's body that do no work"""


@dataclass(frozen=True, slots=True)
class Query:
    """A query for the work of one op by itself."""

    node: Message
    """type and attributes alone"""
    inputs: tuple[Known, ...]
    outputs: tuple[Known, ...]
    key: tuple[Any, ...]
    """equal for ops that are alike"""

    @property
    def is_whole(self) -> bool:
        """Whether everything that its cost depends on is known."""
        return all(each.is_whole for each in (*self.inputs, *self.outputs))

    @property
    def is_bounded(self) -> bool:
        """Whether its cost is an upper bound."""
        return any(each.bounded for each in (*self.inputs, *self.outputs))


def query_of(node: Message, inputs: Sequence[Known], outputs: Sequence[Known]) -> Query:
    """The query for the work of `node`."""
    clean = cleaned(node)
    content = clean.SerializeToString(deterministic=True)
    sides = tuple(tuple(map(_key, side)) for side in (inputs, outputs))
    return Query(clean, tuple(inputs), tuple(outputs), (content, *sides))


def tensor_of(known: Known) -> TensorOf | None:
    """The tensor for the closed forms: for a handle its variable, None for lists, tables and for unknown shapes."""
    if known.items is not None and known.number in HANDLES:
        shape = known.items.shape
        whole = (
            known.number != types_pb2.DT_VARIANT
            and known.items.count >= 0
            and shape is not None
            and min(shape, default=0) >= 0
        )
        return TensorOf(known.items.number, shape) if whole and shape is not None else None
    if known.shape is None or not known.is_whole or known.number in HANDLES:
        return None
    return TensorOf(known.number, known.shape)


def _key(known: Known) -> tuple[Any, ...]:
    value = None if known.value is None else known.value.tobytes()
    return known.number, known.shape, value, known.items


class Calls:
    """Evaluates calls that stay one op: their outputs, and the work in their functions."""

    def __init__(self, functions: Mapping[str, Message], library: Message, asked: ShapeFunctions) -> None:
        self._functions, self._library, self._asked = functions, library, asked
        self._left = MOST_EXPANDED
        self._found: dict[tuple[Any, ...], tuple[list[Message], Evaluation, list[Known]] | None] = {}

    def is_call(self, node: Message) -> bool:
        """Whether the op calls functions that can be expanded."""
        return is_call(node, self._functions)

    def outputs(self, node: Message, inputs: Sequence[Known]) -> list[Known] | None:
        """The outputs of a call; None where it cannot be expanded, and for other ops."""
        if not self.is_call(node):
            return None
        found = self._evaluated(node, inputs)
        return None if found is None else found[2]

    def queries(self, node: Message, inputs: Sequence[Known]) -> list[tuple[Query, int]] | None:
        """(query, trips) for each op in a call; None where it cannot be expanded."""
        found = self._evaluated(node, inputs)
        if found is None:
            return None
        nodes, evaluation, _ = found
        idle = _not_taken(nodes, evaluation)
        queries = []
        for op, inner in enumerate(nodes):
            if inner.op not in WITHOUT_WORK and op not in idle:
                query = query_of(inner, evaluation.inputs_of(op), evaluation.outputs[op])
                queries.append((query, evaluation.trips(op, nodes)))
        return queries

    def variables_read(self, node: Message, inputs: Sequence[Known]) -> dict[int, int]:
        """Input of a call → bytes of the variable that the call reads through it, with unknown lengths as one."""
        found = self._evaluated(node, inputs)
        if found is None:
            return {}
        nodes, evaluation, _ = found
        argument = {each.name: position for position, each in enumerate(nodes[: len(inputs)])}
        return {
            argument[inner.input[0]]: evaluation.outputs[op][0].bytes
            for op, inner in enumerate(nodes)
            if inner.op == READS and inner.input and inner.input[0] in argument and evaluation.outputs[op]
        }

    def _evaluated(
        self, node: Message, inputs: Sequence[Known]
    ) -> tuple[list[Message], Evaluation, list[Known]] | None:
        clean = cleaned(node)
        key = (clean.SerializeToString(deterministic=True), tuple((*_key(each), each.bounded) for each in inputs))
        if key not in self._found:
            self._found[key] = self._evaluate(clean, inputs)
        return self._found[key]

    def _evaluate(self, node: Message, inputs: Sequence[Known]) -> tuple[list[Message], Evaluation, list[Known]] | None:
        try:
            ops = expanded(node, self._functions, [each.number for each in inputs], self._left)
        except CannotExpandError:
            return None
        self._left -= len(ops.nodes)
        index_of_name = {each.name: index for index, each in enumerate(ops.nodes)}
        arguments = {index_of_name[name]: [known] for name, known in _arguments(ops, inputs).items()}
        types = NodeTypes(ops.nodes, self._library)
        hints: list[list[Known]] = [[] for _ in ops.nodes]
        evaluation = evaluate(ops.nodes, types, arguments, hints, ReadingOptions(), self._asked, None)
        results = []
        for text in ops.results:
            name, _, output = text.partition(":")
            outputs = evaluation.outputs[index_of_name[name]]
            results.append(outputs[int(output or 0)] if int(output or 0) < len(outputs) else Known(0))
        return ops.nodes, evaluation, results


def _arguments(ops: Expanded, inputs: Sequence[Known]) -> dict[str, Known]:
    """A call's inputs by name; a handle without a known variable gets the shape that the file gives its read."""
    arguments = dict(zip(ops.arguments, inputs, strict=True))
    for node in ops.nodes:
        handle = arguments.get(node.input[0]) if node.op == READS and node.input else None
        shapes = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else []
        if handle is not None and handle.number == types_pb2.DT_RESOURCE and handle.items is None and len(shapes) == 1:
            items = Items(node.attr["dtype"].type, shape_of_message(shapes[0]))
            arguments[node.input[0]] = replace(handle, items=items)
    return arguments


def _not_taken(nodes: Sequence[Message], evaluation: Evaluation) -> set[int]:
    """The ops on the untaken sides of conditions."""
    sides = sides_of_ops(nodes, evaluation.order, evaluation.inputs)
    if not any(sides):
        return set()
    cost = np.zeros(len(nodes))
    for op, node in enumerate(nodes):
        inputs, outputs = evaluation.inputs_of(op), evaluation.outputs[op]
        operations = operations_of(node, [tensor_of(each) for each in inputs], [tensor_of(each) for each in outputs])
        cost[op] = evaluation.trips(op, nodes) * ((operations or 0) + sum(each.bytes for each in outputs))
    return {
        op
        for branch in branches_of(nodes, evaluation.inputs, sides, evaluation.outputs, cost)
        for op in branch.not_taken
    }
