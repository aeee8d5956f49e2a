"""Finds the data types of each node's inputs and outputs, from its type's signature and attributes. In the child."""

from collections.abc import Sequence

from engine.graphs.tensorflow.messages import Message, load_messages
from engine.graphs.tensorflow.op_table import Argument, Signature, registered_ops
from engine.graphs.tensorflow.op_types import INVALID, REFS_FROM


def signatures_of(library: Message) -> dict[str, Signature]:
    """Op type → signature, of TensorFlow's op types and of the functions in a graph's library, which are types too."""
    types_pb2 = load_messages("tensorflow.core.framework.types_pb2")
    names = {number: name for name, number in types_pb2.DataType.items()}
    return registered_ops() | {
        function.signature.name: Signature(
            tuple(Argument.of_message(argument, names) for argument in function.signature.input_arg),
            tuple(Argument.of_message(argument, names) for argument in function.signature.output_arg),
        )
        for function in library.function
    }


class NodeTypes:
    """The types of every node's data inputs and outputs, as DataType numbers.

    `claimed_arguments.require_real_arguments` comes first: it bounds their number.
    """

    def __init__(self, nodes: Sequence[Message], library: Message) -> None:
        types_pb2 = load_messages("tensorflow.core.framework.types_pb2")
        self._numbers: dict[str, int] = dict(types_pb2.DataType.items())
        signatures = signatures_of(library)
        known = [signatures.get(node.op) for node in nodes]
        self.inputs = [
            None if of is None else self._expanded(of.inputs, node) for of, node in zip(known, nodes, strict=True)
        ]
        """[nodes] types of the data inputs, or None where the op type or the number of inputs is unknown"""
        self.outputs = [
            None if of is None else self._expanded(of.outputs, node) for of, node in zip(known, nodes, strict=True)
        ]
        """[nodes] types of the outputs, or None likewise"""

    def _expanded(self, arguments: tuple[Argument, ...], node: Message) -> list[int] | None:
        """The types of `arguments` one by one; None where the attribute with their number is missing or below 0."""
        expanded: list[int] = []
        for argument in arguments:
            types = self._types(argument, node)
            if types is None:
                return None
            expanded += types
        return expanded

    def _types(self, argument: Argument, node: Message) -> list[int] | None:
        """The types of one argument; None where their number is unknown."""
        if argument.is_list:
            if argument.type not in node.attr:
                return None
            return list(node.attr[argument.type].list.type)
        number = INVALID
        if argument.type in self._numbers:
            number = self._numbers[argument.type]
        elif argument.type in node.attr:
            number = node.attr[argument.type].type
        if argument.is_ref:
            number += REFS_FROM
        if not argument.number:
            return [number]
        if argument.number not in node.attr or node.attr[argument.number].i < 0:
            return None
        return [number] * node.attr[argument.number].i
