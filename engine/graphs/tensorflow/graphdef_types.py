"""Finds the data types of each node's inputs and outputs, from its type's signature and attributes. In the child."""

from collections.abc import Iterable, Mapping, Sequence

from engine.graphs.tensorflow.messages import Message, load_messages
from engine.graphs.tensorflow.op_table import Argument, Signature, registered_ops
from engine.graphs.tensorflow.op_types import INVALID, REFS_FROM

MOST_ARGUMENTS = 100_000
"""an op that claims more inputs or outputs counts as one of unknown type"""

NO_DEFINITIONS: Mapping[str, Message] = {}


class NodeTypes:
    """The types of every node's data inputs and outputs, as DataType numbers."""

    def __init__(
        self, nodes: Sequence[Message], library: Message, definitions: Mapping[str, Message] = NO_DEFINITIONS
    ) -> None:
        types_pb2 = load_messages("tensorflow.core.framework.types_pb2")
        self._numbers: dict[str, int] = dict(types_pb2.DataType.items())
        functions = (function.signature for function in library.function)
        signatures = self._signatures(definitions.values()) | registered_ops() | self._signatures(functions)
        known = [signatures.get(node.op) for node in nodes]
        self.inputs = [
            None if of is None else self._expanded(of.inputs, node) for of, node in zip(known, nodes, strict=True)
        ]
        """[nodes] types of the data inputs, or None where the op type or the number of inputs is unknown"""
        self.outputs = [
            None if of is None else self._expanded(of.outputs, node) for of, node in zip(known, nodes, strict=True)
        ]
        """[nodes] types of the outputs, or None likewise"""

    def _signatures(self, definitions: Iterable[Message]) -> dict[str, Signature]:
        """Signatures of the file's own OpDefs: of custom ops, and of functions, which can be op types too."""
        names = {number: name for name, number in self._numbers.items()}
        return {
            definition.name: Signature(
                tuple(Argument.of_message(argument, names) for argument in definition.input_arg),
                tuple(Argument.of_message(argument, names) for argument in definition.output_arg),
            )
            for definition in definitions
        }

    def _expanded(self, arguments: tuple[Argument, ...], node: Message) -> list[int] | None:
        """The types of `arguments` one by one; None where an attribute that gives their number is missing or absurd."""
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
        if argument.number not in node.attr or not 0 <= node.attr[argument.number].i <= MOST_ARGUMENTS:
            return None
        return [number] * node.attr[argument.number].i
