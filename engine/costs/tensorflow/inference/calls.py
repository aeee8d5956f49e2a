"""Expands calls that stay one op, such as those that XLA compiles, into the ops of their functions, to cost these.

The calls are those that TensorFlow's inliner leaves; the expansion works on a copy: calls become their functions' ops,
conditions Switch and Merge, loops Enter to Exit, as when TensorFlow lowers them. Control edges are left out, since they
cost nothing, except one kind: an op without inputs waits for its loop or its side of a condition.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tensorflow.core.framework import node_def_pb2, types_pb2
from tensorflow.python.framework import op_def_registry

from engine.costs.tensorflow.work_of_types import EXPANDED_CALLS, EXPANDED_IFS, EXPANDED_LOOPS
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import CASES

BOOL = types_pb2.DT_BOOL
DEEPEST = 32
"""levels of nested calls"""
MOST_CONSTANT_BYTES = 16_384
"""bytes of a constant that is copied whole"""
MOST_EXPANDED = 200_000
"""ops, calls and outputs in the expansions of all calls of a graph"""


class CannotExpandError(Exception):
    """A call cannot be expanded: its function is missing, calls itself, or is of an unknown form."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """The ops of an expanded call."""

    nodes: list[Message]
    arguments: list[str]
    """names of the placeholders that stand for the call's inputs"""
    results: list[str]
    """names of the tensors that are the call's outputs"""


def is_call(node: Message, functions: Mapping[str, Message]) -> bool:
    """Whether the op calls functions that can be expanded."""
    return node.op in EXPANDED_CALLS or node.op in functions


def expanded(call: Message, functions: Mapping[str, Message], types: Sequence[int], most: int) -> Expanded:
    """Expand a call into at most `most` ops; `types` are the DataTypes of its inputs. Raises CannotExpandError."""
    expansion = _Expansion(functions, most)
    arguments = [
        expansion.add(f"argument_{index}", "Placeholder", [], dtype=number) for index, number in enumerate(types)
    ]
    copy = node_def_pb2.NodeDef(name="call", op=call.op, input=arguments)
    for key, value in call.attr.items():
        copy.attr[key].CopyFrom(value)
    results = expansion.call(copy, arguments, "call", 0)
    return Expanded(expansion.nodes, arguments, results)


class _Expansion:
    """An expansion in progress: the ops added so far."""

    def __init__(self, functions: Mapping[str, Message], most: int) -> None:
        self._functions = functions
        self._left = most
        self._pivots: list[str] = []
        """the ops that an op without inputs waits for, one a loop or side of a condition, the innermost last"""
        self.nodes: list[Message] = []

    def add(self, name: str, op_type: str, inputs: Sequence[str], dtype: int = 0, **numbers: int) -> str:
        """Add a new node and return its name."""
        node = node_def_pb2.NodeDef(name=name, op=op_type, input=inputs)
        if dtype:
            node.attr["dtype" if op_type == "Placeholder" else "T"].type = dtype
        for key, number in numbers.items():
            node.attr[key].i = number
        return self._keep(node)

    def _keep(self, node: Message) -> str:
        self._charge(1)
        if not node.input and self._pivots:
            node.input.append(f"^{self._pivots[-1]}")
        self.nodes.append(node)
        return str(node.name)

    def _charge(self, count: int) -> None:
        """Count `count` more ops, calls and outputs, at most `most` in all. Raises CannotExpandError.

        Functions that call each other twice over and over would grow without end.
        """
        self._left -= count
        if self._left < 0:
            raise CannotExpandError("too many ops")

    def call(self, node: Message, inputs: Sequence[str], prefix: str, depth: int) -> list[str]:
        """Add the ops of a call and return the tensors that it outputs."""
        self._charge(1)
        if depth > DEEPEST:
            raise CannotExpandError("calls inside calls")
        if node.op in EXPANDED_IFS:
            sides = [_function(node, key) for key in ("else_branch", "then_branch")]
            return self._condition(sides, inputs, prefix, depth, "Switch")
        if node.op in CASES:
            sides = [each.name for each in node.attr["branches"].list.func]
            return self._condition(sides, inputs, prefix, depth, "_SwitchN")
        if node.op in EXPANDED_LOOPS:
            return self._loop(node, inputs, prefix, depth)
        name = (
            node.op
            if node.op in self._functions
            else _function(node, "function" if node.op.startswith("XlaLaunch") else "f")
        )
        return self._body(name, inputs[1:] if node.op == "RemoteCall" else inputs, depth)

    def _body(self, name: str, inputs: Sequence[str], depth: int) -> list[str]:
        """Add the ops of a function whose arguments are `inputs`, and return the tensors that it outputs."""
        function = self._of(name)
        arguments = [argument.name for argument in function.signature.input_arg]
        if len(arguments) > len(inputs):
            raise CannotExpandError("missing arguments")
        tensors = dict(zip(arguments, inputs, strict=False))
        for node in _in_order(function.node_def):
            self._add_inner(node, tensors, depth)
        try:
            return [tensors[function.ret[result.name]] for result in function.signature.output_arg]
        except KeyError:
            raise CannotExpandError("a result without a source") from None

    def _add_inner(self, node: Message, tensors: dict[str, str], depth: int) -> None:
        """Add an op of a function, and note the names of its outputs as the function writes them."""
        try:
            inputs = [tensors[text] for text in node.input if not text.startswith("^")]
        except KeyError:
            raise CannotExpandError("an input without a source") from None
        name = f"op{self._left}"
        if is_call(node, self._functions):
            outputs = self.call(node, inputs, name, depth + 1)
        else:
            self._keep(_copy(node, name, inputs))
            outputs = []
        declared = self._outputs(node)
        if is_call(node, self._functions) and len(outputs) < sum(count for _, count in declared):
            raise CannotExpandError("a function that gives less than its call")
        position = 0
        for argument, count in declared:
            for index in range(count):
                flat = outputs[position] if position < len(outputs) else f"{name}:{position}"
                tensors[f"{node.name}:{argument}:{index}"] = flat
                position += 1

    def _outputs(self, node: Message) -> list[tuple[str, int]]:
        """The name of each output argument of an op, and the number of its tensors."""
        function = self._functions.get(node.op)
        definition = function.signature if function is not None else op_def_registry.get(node.op)
        if definition is None:
            raise CannotExpandError(f"unknown op type {node.op}")
        found = []
        for argument in definition.output_arg:
            if argument.number_attr:
                count = node.attr[argument.number_attr].i
            else:
                count = len(node.attr[argument.type_list_attr].list.type) if argument.type_list_attr else 1
            if count < 0:
                raise CannotExpandError("fewer outputs than none")
            self._charge(count)
            found.append((argument.name, count))
        return found

    def _condition(
        self, sides: Sequence[str], inputs: Sequence[str], prefix: str, depth: int, switch: str
    ) -> list[str]:
        """Add a condition: each input goes through a Switch, each output through a Merge."""
        if not inputs:
            raise CannotExpandError("no condition")
        condition, *data = inputs
        arguments = self._of(sides[0]).signature.input_arg if sides else []
        switched = [
            self.add(f"{prefix}/switch_{index}", switch, [text, condition], dtype=argument.type, num_outs=len(sides))
            for index, (text, argument) in enumerate(zip(data, arguments, strict=False))
        ]
        pivot = self.add(f"{prefix}/pivot", switch, [condition, condition], dtype=BOOL, num_outs=len(sides))
        results = []
        for index, side in enumerate(sides):
            self._pivots.append(self.add(f"{prefix}/pivot_{index}", "NoOp", [f"{pivot}:{index}"]))
            results.append(self._body(side, [f"{name}:{index}" for name in switched], depth + 1))
            self._pivots.pop()
        if len({len(each) for each in results}) > 1:
            raise CannotExpandError("sides that give different numbers of outputs")
        types = [argument.type for argument in self._of(sides[0]).signature.output_arg] if sides else []
        return [
            self.add(f"{prefix}/merge_{index}", "Merge", list(ends), dtype=number, N=len(ends))
            for index, (number, *ends) in enumerate(zip(types, *results, strict=True))
        ]

    def _loop(self, node: Message, inputs: Sequence[str], prefix: str, depth: int) -> list[str]:
        """Add a loop: its variables go from Enter by Merge and Switch through the body to NextIteration, or to Exit."""
        condition, body = _function(node, "cond"), _function(node, "body")
        types = [argument.type for argument in self._of(body).signature.input_arg]
        merges = []
        for index, (text, number) in enumerate(zip(inputs, types, strict=False)):
            enter = self.add(f"{prefix}/enter_{index}", "Enter", [text], dtype=number)
            self.nodes[-1].attr["frame_name"].s = prefix.encode()
            again = f"{prefix}/next_{index}"
            merges.append(self.add(f"{prefix}/merge_{index}", "Merge", [enter, again], dtype=number, N=2))
        if not merges:
            raise CannotExpandError("a loop without variables")
        self._pivots.append(self.add(f"{prefix}/pivot_of_cond", "NoOp", merges[:1]))
        held = self._body(condition, merges, depth + 1)
        self._pivots.pop()
        if len(held) != 1:
            raise CannotExpandError("a condition that gives several values or none")
        holds = self.add(f"{prefix}/condition", "LoopCond", held)
        switches = [
            self.add(f"{prefix}/switch_{index}", "Switch", [merge, holds], dtype=number)
            for index, (merge, number) in enumerate(zip(merges, types, strict=False))
        ]
        self._pivots.append(self.add(f"{prefix}/pivot", "NoOp", [f"{switches[0]}:1"]))
        after = self._body(body, [f"{name}:1" for name in switches], depth + 1)
        self._pivots.pop()
        for index, (text, number) in enumerate(zip(after, types, strict=False)):
            self.add(f"{prefix}/next_{index}", "NextIteration", [text], dtype=number)
        if len(after) != len(merges):
            raise CannotExpandError("a body that gives other variables than it takes")
        return [
            self.add(f"{prefix}/exit_{index}", "Exit", [f"{name}:0"], dtype=number)
            for index, (name, number) in enumerate(zip(switches, types, strict=False))
        ]

    def _of(self, name: str) -> Message:
        if name not in self._functions:
            raise CannotExpandError("a function that is not there")
        return self._functions[name]


def _copy(node: Message, name: str, inputs: Sequence[str]) -> Message:
    """A copy of a function's op under a new name; of a large constant only type and shape, as a placeholder."""
    if node.op == "Const" and node.ByteSize() > MOST_CONSTANT_BYTES and "value" in node.attr:
        copy = node_def_pb2.NodeDef(name=name, op="Placeholder", input=inputs)
        copy.attr["dtype"].type = node.attr["value"].tensor.dtype
        copy.attr["shape"].shape.CopyFrom(node.attr["value"].tensor.tensor_shape)
        return copy
    copy = node_def_pb2.NodeDef(name=name, op=node.op, input=inputs)
    for key, value in node.attr.items():
        copy.attr[key].CopyFrom(value)
    return copy


def _function(node: Message, key: str) -> str:
    """The function that an attribute names."""
    return str(node.attr[key].func.name) if key in node.attr else ""


def _in_order(nodes: Sequence[Message]) -> list[Message]:
    """A function's ops in topological order: a function lists them in any order."""
    node_of_name = {node.name: node for node in nodes}
    done: dict[str, Message] = {}
    waiting: set[str] = set()
    left: dict[str, Iterator[str]] = {}
    """node name → its inputs that have not been visited"""
    for start in nodes:
        path = [start]
        while path:
            node = path[-1]
            waiting.add(node.name)
            before = left.setdefault(node.name, iter(node.input))
            names = (text.partition(":")[0] for text in before if not text.startswith("^"))
            missing = next((name for name in names if name in node_of_name and name not in done), None)
            if missing is None or node.name in done:
                done.setdefault(node.name, path.pop())
                waiting.discard(node.name)
            elif missing in waiting:
                raise CannotExpandError("a cycle")
            else:
                path.append(node_of_name[missing])
    return list(done.values())
