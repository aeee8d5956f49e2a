"""Stand-ins for custom ops, whose types TensorFlow does not know, while TensorFlow inlines functions; importing this
loads it.

A stand-in is a PyFunc, which may have any inputs and outputs, here of the types that the op's neighbours state, or the
file's own definition (OpDef) of its type. It is never run. It carries the attributes of its op, so that the op can be
put back after inlining.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import op_def_registry

from engine.errors import GraphError, shortened
from engine.graphs.tensorflow.claimed_arguments import MOST_ARGUMENTS
from engine.graphs.tensorflow.graphdef_messages import place_of
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_table import registered_ops
from engine.graphs.tensorflow.op_types import INVALID

STATEFUL, STATELESS, OUTPUT = "PyFunc", "PyFuncStateless", "output"
"""types of stand-ins, and the name of their list of outputs"""
KEPT = "_of_custom_op_"
"""prefix of the attributes that a stand-in keeps for its op, and the mark of a stand-in"""
COLOCATION = "_class"
"""the attribute whose names the inliner changes"""
OWN = ("token", "Tin", "Tout")
"""attributes of a PyFunc"""
ANY = types_pb2.DT_FLOAT
"""the type of a tensor that no op takes, or only custom ops without definitions: any will do"""
TYPES = frozenset(types_pb2.DataType.values())
ALLOWED = "a SavedModel with the definitions of its custom ops, as TensorFlow saves it, or ops that TensorFlow knows"
_NUMBER = re.compile(r"[0-9]{1,9}\Z")


class Body(NamedTuple):
    """The nodes of the graph, or those of a function."""

    nodes: Sequence[Message]
    function: Message | None = None

    def place(self, node: Message) -> str:
        """The place of a fault, for an error."""
        index = next(index for index, each in enumerate(self.nodes) if each is node)
        of_function = "" if self.function is None else f" of function {shortened(self.function.signature.name)}"
        return place_of(node, index) + of_function


@dataclass(frozen=True, slots=True)
class Use:
    """One use of an output as data: an input of an op, or an output of the function."""

    holder: Message
    """NodeDef, or FunctionDef"""
    key: int | str
    """the input's position, or the name of the function's output"""
    output: str
    """in the graph the number of the output, in a function its name and number, such as `values:1`"""
    type: int
    """that is taken there; `INVALID` where unknown"""


def replace_custom_ops(graph: Message, definitions: Mapping[str, Message]) -> dict[str, str]:
    """Put stand-ins in the place of the custom ops of `graph`, a GraphDef, and of its functions.

    `definitions`: op type → OpDef of types that the file defines. Returns the functions that must not be inlined, each
    with the type of an op in it: nothing states the order of that op's outputs, which only have names in a function.
    Raises GraphError for an op whose inputs or outputs have types that nothing states.
    """
    known = registered_ops().keys() | {function.signature.name for function in graph.library.function}
    bodies = [Body(graph.node), *(Body(function.node_def, function) for function in graph.library.function)]
    unordered: dict[str, str] = {}
    for body in bodies:
        custom = {node.name: node for node in body.nodes if node.op not in known}
        if custom:
            replacing = _Replacing(body, custom, graph.library, definitions)
            replacing.replace()
            if body.function is not None and replacing.unordered:
                unordered[body.function.signature.name] = replacing.unordered
    return unordered


class _Replacing:
    """Replaces the custom ops of one body."""

    def __init__(
        self, body: Body, custom: Mapping[str, Message], library: Message, definitions: Mapping[str, Message]
    ) -> None:
        self._body = body
        self._custom = custom
        self.unordered = ""
        """the type of an op whose outputs have no known order, if there is one"""
        self._definitions = definitions
        self._functions = {function.signature.name: function.signature for function in library.function}
        self._types = NodeTypes(body.nodes, library, definitions)
        self._index = {node.name: index for index, node in enumerate(body.nodes)}
        self._arguments = {} if body.function is None else {a.name: a.type for a in body.function.signature.input_arg}

    def replace(self) -> None:
        """Turn the custom ops into stand-ins, and change the names of their outputs where the body has names."""
        uses = self._uses()
        numbers = {name: self._numbers_of_outputs(node, uses[name]) for name, node in self._custom.items()}
        outputs = {name: self._outputs(node, uses[name], numbers[name]) for name, node in self._custom.items()}
        inputs = {name: self._inputs(node, numbers, outputs) for name, node in self._custom.items()}
        for name, node in self._custom.items():
            if self._body.function is not None:
                for use in uses[name]:
                    _take(use, f"{name}:{OUTPUT}:{numbers[name][use.output]}")
            stateful = not uses[name] or self._is_stateful(node)
            _become_stand_in(node, inputs[name], outputs[name], stateful=stateful)

    def _uses(self) -> dict[str, list[Use]]:
        """Custom op → the uses of its outputs."""
        uses: dict[str, list[Use]] = {name: [] for name in self._custom}
        for node in self._body.nodes:
            for position, text in enumerate(node.input):
                name, _, output = text.partition(":")
                if name in uses:
                    uses[name].append(Use(node, position, output, self._taken(node, position)))
        function = self._body.function
        if function is not None:
            for argument in function.signature.output_arg:
                name, _, output = function.ret.get(argument.name, "").partition(":")
                if name in uses:
                    uses[name].append(Use(function, argument.name, output, argument.type))
        return uses

    def _taken(self, node: Message, position: int) -> int:
        """The type that the op takes at this position; `INVALID` where unknown."""
        inputs = self._types.inputs[self._index[node.name]]
        return INVALID if inputs is None or position >= len(inputs) else inputs[position]

    def _given(self, node: Message, number: int | None) -> int:
        """The type of this output of the op; `INVALID` where unknown."""
        outputs = self._types.outputs[self._index[node.name]]
        return INVALID if outputs is None or number is None or number >= len(outputs) else outputs[number]

    def _definition(self, node: Message) -> Message | None:
        """The definition of the op's type; None where there is none."""
        own = self._functions.get(node.op) or self._definitions.get(node.op)
        return own or op_def_registry.get(node.op)

    def _is_stateful(self, node: Message) -> bool:
        """Whether the op has side effects. Without a definition, what its function says: it lists such ops, if any."""
        definition = self._definitions.get(node.op)
        if definition is not None:
            return bool(definition.is_stateful)
        function = self._body.function
        if function is None or not function.control_ret:
            return function is None or bool(function.signature.is_stateful)
        return node.name in function.control_ret.values()

    def _number(self, node: Message, output: str) -> int | None:
        """The number of the `output`, as in `Use`; None where no definition states it."""
        if self._body.function is None:
            return _whole(output)
        wanted, _, inner = output.partition(":")
        definition = self._definition(node)
        start = 0
        for argument in () if definition is None else definition.output_arg:
            if argument.name == wanted:
                return start + _whole(inner)
            start += _size(argument, node)
        return None

    def _numbers_of_outputs(self, node: Message, uses: Sequence[Use]) -> dict[str, int]:
        """Output, as in `Use` → its number; in the order of the names where none is known. Raises GraphError."""
        found = {use.output: self._number(node, use.output) for use in uses}
        numbers = {output: number for output, number in found.items() if number is not None}
        if len(numbers) < len(found):
            if self._definition(node) is not None or len({output.partition(":")[0] for output in found}) > 1:
                self.unordered = node.op
                numbers = {output: number for number, output in enumerate(sorted(found))}
            else:
                numbers = {output: _whole(output.partition(":")[2]) for output in found}
        if max(numbers.values(), default=0) >= MOST_ARGUMENTS:
            raise self._cannot(node, f"it has more than {MOST_ARGUMENTS} outputs")
        return numbers

    def _outputs(self, node: Message, uses: Sequence[Use], numbers: Mapping[str, int]) -> list[int]:
        """[outputs up to the last one that is taken] their types. Raises GraphError."""
        outputs = [ANY] * (max(numbers.values(), default=-1) + 1)
        for use in uses:
            number = numbers[use.output]
            found = use.type or self._given(node, number)
            if found in TYPES and found != INVALID:
                outputs[number] = found
            elif not self._is_open(use.holder):
                raise self._cannot(node, f"the type of its output {number} is unknown")
        return outputs

    def _inputs(
        self, node: Message, numbers: Mapping[str, Mapping[str, int]], outputs: Mapping[str, Sequence[int]]
    ) -> list[int]:
        """[data inputs] their types. Raises GraphError."""
        inputs: list[int] = []
        for position, text in enumerate(node.input):
            if text.startswith("^"):
                break
            name, _, output = text.partition(":")
            if name in self._custom:
                found = outputs[name][numbers[name][output]]
            elif name in self._index:
                source = self._body.nodes[self._index[name]]
                found = self._given(source, self._number(source, output))
            else:
                found = self._arguments.get(name, INVALID)
            found = found or self._taken(node, position)
            if found not in TYPES or found == INVALID:
                raise self._cannot(node, f"the type of its input {shortened(text)} is unknown")
            inputs.append(found)
        return inputs

    def _is_open(self, holder: Message) -> bool:
        """Whether this is a custom op without a definition, which takes any type."""
        return holder is not self._body.function and holder.name in self._custom and self._definition(holder) is None

    def _cannot(self, node: Message, why: str) -> GraphError:
        what = f"its type {shortened(node.op)} is not TensorFlow's own, and {why}, so functions cannot be inlined"
        return GraphError(what, where=self._body.place(node), allowed=ALLOWED, field="file")


def _whole(text: str) -> int:
    """The number in `text`; 0 where there is none."""
    return int(text) if _NUMBER.match(text) else 0


def _size(argument: Message, node: Message) -> int:
    """The number of tensors in an argument of the op."""
    if argument.type_list_attr:
        return len(node.attr[argument.type_list_attr].list.type) if argument.type_list_attr in node.attr else 0
    if argument.number_attr:
        return int(node.attr[argument.number_attr].i) if argument.number_attr in node.attr else 0
    return 1


def _take(use: Use, text: str) -> None:
    """Let the consumer take the tensor `text` there."""
    if isinstance(use.key, int):
        use.holder.input[use.key] = text
    else:
        use.holder.ret[use.key] = text


def _become_stand_in(node: Message, inputs: Sequence[int], outputs: Sequence[int], *, stateful: bool) -> None:
    """Turn the node into its stand-in."""
    for key in [key for key in node.attr if key != COLOCATION]:
        node.attr[KEPT + key].CopyFrom(node.attr[key])
        del node.attr[key]
    node.attr[KEPT].b = True
    node.attr["token"].s = node.op.encode()
    for key, numbers in (("Tin", inputs), ("Tout", outputs)):
        node.attr[key].list.SetInParent()
        node.attr[key].list.type.extend(numbers)
    node.op = STATEFUL if stateful else STATELESS


def put_back(nodes: Iterable[Message]) -> None:
    """Turn the stand-ins among the nodes back into their ops."""
    for node in nodes:
        if node.op not in (STATEFUL, STATELESS) or KEPT not in node.attr:
            continue
        node.op = node.attr["token"].s.decode()
        for key in (*OWN, KEPT):
            del node.attr[key]
        for key in [key for key in node.attr if key.startswith(KEPT)]:
            node.attr[key.removeprefix(KEPT)].CopyFrom(node.attr[key])
            del node.attr[key]
