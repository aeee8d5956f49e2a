"""Finds the names in a SavedModel's files of the variables that its functions capture. Runs in a child.

The second form of SavedModel restores its objects, not the graph's variables: for Keras's variables held directly by an
object, the graph's saver restores only copies. A function lists the objects that it captures, and a file of variables
names an object by its path from the root.
"""

from collections.abc import Iterator, Sequence

from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message, load_messages
from engine.graphs.tensorflow.op_types import FUNCTION_CALLS

VALUE = ".ATTRIBUTES/VARIABLE_VALUE"
ASSIGN, RESTORE = "AssignVariableOp", "RestoreV2"
STRING = 7


def keys_of_captured(nodes: Sequence[Message], objects: Message) -> dict[str, str]:
    """Handle's op → the variable's name in the files, for the variables in `objects` that calls in `nodes` capture.

    `objects` is a SavedObjectGraph, empty in the first form of SavedModel.
    """
    keys = dict(_keys(objects))
    found: dict[str, str] = {}
    for node in nodes:
        name = node.attr["f"].func.name if node.op in FUNCTION_CALLS else ""
        if name not in objects.concrete_functions:
            continue
        captured = list(objects.concrete_functions[name].bound_inputs)
        given = [text for text in node.input if not text.startswith("^")]
        for text, number in zip(given[len(given) - len(captured) :], captured, strict=False):
            if number in keys:
                found[producer_of(text)] = keys[number]
    return found


def _keys(objects: Message) -> Iterator[tuple[int, str]]:
    """(variable's number, its name in the files), the name by the shortest path to it, of several the first."""
    seen = {0}
    waiting: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    for number, way in waiting:  # it grows while it is walked
        if not 0 <= number < len(objects.nodes):
            continue
        for child in objects.nodes[number].children:
            if child.node_id not in seen:
                seen.add(child.node_id)
                waiting.append((child.node_id, (*way, _escaped(child.local_name))))
        if objects.nodes[number].WhichOneof("kind") == "variable":
            yield number, "/".join((*way, VALUE))


def _escaped(name: str) -> str:
    """One name of the path, with the escapes that the files use."""
    return name.replace(".", "..").replace("/", ".S")


def restoring(handles: Sequence[Message], keys: Sequence[str], filename: str) -> list[Message]:
    """Ops that restore the variables of `handles`, VarHandleOp each, from the files' tensors `keys` [handles]."""
    if not handles:
        return []
    node_pb2 = load_messages("tensorflow.core.framework.node_def_pb2")
    restore = node_pb2.NodeDef(name=f"captured/{RESTORE}", op=RESTORE, input=[filename])
    made = [restore]
    for last, texts in (("names", keys), ("slices", [""] * len(keys))):
        constant = text_constant(f"captured/{last}", [text.encode() for text in texts])
        restore.input.append(constant.name)
        made.append(constant)
    for output, handle in enumerate(handles):
        number = handle.attr["dtype"].type
        restore.attr["dtypes"].list.type.append(number)
        assign = node_pb2.NodeDef(name=f"captured/{ASSIGN}_{output}", op=ASSIGN)
        assign.input.extend([handle.name, f"{restore.name}:{output}"])
        assign.attr["dtype"].type = number
        made.append(assign)
    return made


def text_constant(name: str, texts: Sequence[bytes]) -> Message:
    """A NodeDef of a constant that holds these texts."""
    node = load_messages("tensorflow.core.framework.node_def_pb2").NodeDef(name=name, op="Const")
    node.attr["dtype"].type = STRING
    tensor = node.attr["value"].tensor
    tensor.dtype = STRING
    tensor.tensor_shape.dim.add().size = len(texts)
    tensor.string_val.extend(texts)
    return node
