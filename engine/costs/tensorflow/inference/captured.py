"""Infers the shapes of variables that the file lacks, from ops that allow only one shape.

A function's GraphDef that is written without `add_shapes` reads its variables through handles of unknown shape. The
result of a variable's reshape, or of an addition of it as a bias, shows its number of elements; the result of a
product's reshape shows the number of columns of the product's matrix.
"""

import math
from collections.abc import Callable, Sequence

from engine.costs.tensorflow.inference.known import Items, Known, is_known
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import ENTERS, READS

HANDED_ON = frozenset({"Identity", "Cast", "StopGradient", *ENTERS})
NORMS = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
TELLING = frozenset({"Reshape", "BiasAdd", "BiasAddV1", *NORMS})
"""op types that may show the shape of a variable that they take"""
LONGEST_WAY = 16
"""ops on the path from a variable's handle to an op that takes its value"""


class CapturedShapes:
    """Learns the shapes of variables while a graph is evaluated."""

    def __init__(
        self,
        nodes: Sequence[Message],
        inputs: Sequence[Sequence[tuple[int, int]]],
        outputs: Sequence[list[Known]],
        evaluate: Callable[[int], list[Known]],
    ) -> None:
        """`inputs` and `outputs` as in `Evaluation`; `evaluate` evaluates one op again."""
        self._nodes, self._inputs, self._outputs, self._evaluate = nodes, inputs, outputs, evaluate

    def learn(self, op: int) -> None:
        """Set the shapes of variables that follow from an op that has just been evaluated."""
        node = self._nodes[op]
        if node.op not in TELLING or not self._outputs[op]:
            return
        shape = self._outputs[op][0].shape
        if node.op == "Reshape":
            if shape is not None and is_known(shape):
                self._learn_from_reshape(op, math.prod(shape))
            return
        length = None if not shape else shape[1 if _is_channels_first(node) and len(shape) > 1 else -1]
        if length is not None and length >= 0:
            for position in range(1, 5 if node.op in NORMS else 2):
                self._settle(op, position, (length,), [op])

    def _learn_from_reshape(self, op: int, elements: int) -> None:
        """Set the shape of a variable, or of a product's matrix, that op `op` reshapes to `elements` elements."""
        if self._settle(op, 0, (elements,), [op]) or not self._inputs[op]:
            return
        product = self._inputs[op][0][0]
        node = self._nodes[product]
        if node.op != "MatMul" or len(self._inputs[product]) < 2 or _flag(node, "transpose_b"):
            return
        source, position = self._inputs[product][0]
        known = self._outputs[source][position].shape if position < len(self._outputs[source]) else None
        if known is None or len(known) != 2 or not is_known(known):
            return
        rows, inner = reversed(known) if _flag(node, "transpose_a") else known
        if rows > 0 and elements % rows == 0:
            self._settle(product, 1, (inner, elements // rows), [product, op])

    def _settle(self, taker: int, position: int, shape: tuple[int, ...], again: Sequence[int]) -> bool:
        """Set the shape of the variable at an input if it is unknown, and evaluate its takers, the ops `again`, anew.

        False where the input is no variable, or one of known shape.
        """
        way = self._way_to_handle(taker, position)
        if way is None:
            return False
        handle, *passing = way
        known = self._outputs[handle][0]
        number = next(int(self._nodes[op].attr["dtype"].type) for op in passing if self._nodes[op].op == READS)
        if known.items is not None and is_known(known.items.shape):
            return False
        self._outputs[handle][0] = Known(known.number, known.shape, None, Items(number, shape))
        for op in (*passing, *again):
            self._outputs[op][:] = self._evaluate(op)
        return True

    def _way_to_handle(self, taker: int, position: int) -> list[int] | None:
        """The path from a variable's handle to the input of `taker`, as ops; None where the input is no variable."""
        way: list[int] = []
        has_read = False
        op = taker
        for _ in range(LONGEST_WAY):
            if position >= len(self._inputs[op]) or self._inputs[op][position][1] < 0:
                return None
            op, position = self._inputs[op][position][0], 0
            node = self._nodes[op]
            way.append(op)
            if node.op == "Placeholder":
                return way[::-1] if has_read else None
            has_read = has_read or node.op == READS
            if node.op != READS and node.op not in HANDED_ON:
                return None
        return None


def _flag(node: Message, key: str) -> bool:
    return key in node.attr and bool(node.attr[key].b)


def _is_channels_first(node: Message) -> bool:
    return "data_format" in node.attr and node.attr["data_format"].s.startswith(b"NC")
