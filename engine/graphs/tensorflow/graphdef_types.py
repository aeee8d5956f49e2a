"""Finds the data types of each node's inputs and outputs, from its type's signature and attributes. In the child."""

from collections.abc import Iterable, Mapping, Sequence

from engine.graphs.tensorflow.messages import Message, load_messages
from engine.graphs.tensorflow.op_table import Argument, Signature, registered_ops
from engine.graphs.tensorflow.op_types import INVALID, REFS_FROM

NO_DEFINITIONS: Mapping[str, Message] = {}


def signatures_of(library: Message, definitions: Mapping[str, Message] = NO_DEFINITIONS) -> dict[str, Signature]:
    """Op type → signature, of TensorFlow's op types, of the file's own `definitions`, and of the functions in a graph's
    library, which can be op types too."""
    functions = (function.signature for function in library.function)
    return _signatures(definitions.values()) | registered_ops() | _signatures(functions)


def _signatures(definitions: Iterable[Message]) -> dict[str, Signature]:
    types_pb2 = load_messages("tensorflow.core.framework.types_pb2")
    names = {number: name for name, number in types_pb2.DataType.items()}
    return {
        definition.name: Signature(
            tuple(Argument.of_message(argument, names) for argument in definition.input_arg),
            tuple(Argument.of_message(argument, names) for argument in definition.output_arg),
        )
        for definition in definitions
    }


class NodeTypes:
    """The types of every node's data inputs and outputs, as DataType numbers.

    `claimed_arguments.require_real_arguments` comes first: it bounds their number.
    """

    def __init__(
        self, nodes: Sequence[Message], library: Message, definitions: Mapping[str, Message] = NO_DEFINITIONS
    ) -> None:
        types_pb2 = load_messages("tensorflow.core.framework.types_pb2")
        self._numbers: dict[str, int] = dict(types_pb2.DataType.items())
        signatures = signatures_of(library, definitions)
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
