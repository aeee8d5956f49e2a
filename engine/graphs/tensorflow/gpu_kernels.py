"""Finds the ops that no GPU can run, and why, from a table of TensorFlow's kernels, without loading TensorFlow.

`python -m engine.graphs.tensorflow.gpu_kernels` writes `tensorflow_gpu_kernels.json` from the installed TensorFlow,
which must be the package with GPU support (`tensorflow`, not `tensorflow-cpu`); it needs no GPU. An op type stands in
that file if it has a kernel for CPUs, with the data types for which it has one for GPUs too: a list of alternatives,
each `T=FLOAT,HALF shape=INT32` (attribute and the types that it may hold), or empty for any types. No alternative: no
GPU can run it.

A kernel for GPUs counts also where some of its inputs and outputs lie in the host's memory (shapes, small integers,
handles): TensorFlow places such an op on the GPU, and moves nothing. So an Add of int32 may go to a GPU, but a variable
of int32 may not. An op without a kernel for CPUs, and an op of a type that is not TensorFlow's own, counts as able to
run anywhere. Source: tensorflow.python.framework.kernels.get_all_registered_kernels, TensorFlow 2.21.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.messages import Message, load_messages
from engine.graphs.tensorflow.op_types import INVALID, REFS_FROM

TABLE_FILE = Path(__file__).with_name("tensorflow_gpu_kernels.json")
GPU_DEVICES = ("GPU", "DEFAULT")
"""device types of kernels that a GPU runs; DEFAULT stands for every device"""
PREFIX = "DT_"
STRING = 7
Alternative = Mapping[str, frozenset[int]]
"""attribute → numbers of the data types that it may hold; a missing attribute may hold any"""

GPU_PLATFORMS = frozenset({b"CUDA", b"ROCM"})
"""names in the attribute `platforms` of a module that XLA compiles"""
OTHER_PLATFORM = "its module is for other platforms than GPUs"
NO_KERNEL = "TensorFlow has no GPU kernel for it"
_REASONS = (
    (("Summary",), "it writes summaries"),
    (("Table", "Vocab"), "it works on a lookup table"),
    (("Queue", "Barrier", "Accumulator", "Stage", "RecordInput"), "it works on a queue"),
    (("Dataset", "Iterator"), "it belongs to a data pipeline"),
    (("Reader", "ReadFile", "WriteFile", "Files", "Save", "Restore", "Checkpoint"), "it reads or writes files"),
    (("PyFunc",), "it calls Python"),
    (("Print",), "it prints"),
    (("Decode", "Encode", "Parse"), "it decodes or encodes data"),
)
"""(parts of op types, what such an op does); the first row that fits counts"""
_STRINGS = "it works on strings"


def cpu_reasons(nodes: Sequence[Message], types: NodeTypes) -> tuple[str, ...]:
    """[nodes] why no GPU can run the node; empty where one can."""
    table = _table()
    return tuple(
        "" if _runs_on_gpu(node, table.get(node.op)) else _reason(node, types, index)
        for index, node in enumerate(nodes)
    )


def _runs_on_gpu(node: Message, alternatives: Sequence[Alternative] | None) -> bool:
    """Whether one of the `alternatives` takes the node's types; true for None, which stands for unknown ones."""
    if _is_for_other_platforms(node):
        return False
    if alternatives is None:
        return True
    return any(all(_fits(node, key, allowed) for key, allowed in each.items()) for each in alternatives)


def _is_for_other_platforms(node: Message) -> bool:
    """Whether the node holds a module that names its platforms, and no GPU among them."""
    if node.op != "XlaCallModule" or "platforms" not in node.attr:
        return False
    platforms = {bytes(name).upper() for name in node.attr["platforms"].list.s}
    return bool(platforms) and not platforms & GPU_PLATFORMS


def _fits(node: Message, key: str, allowed: frozenset[int]) -> bool:
    """Whether the attribute `key` holds allowed types; a missing one is at its default, which counts as fitting."""
    if key not in node.attr:
        return True
    value = node.attr[key]
    if value.HasField("list"):
        return allowed.issuperset(value.list.type)
    return value.type == INVALID or value.type % REFS_FROM in allowed


def _reason(node: Message, types: NodeTypes, index: int) -> str:
    """The reason why no GPU can run the node."""
    if _is_for_other_platforms(node):
        return OTHER_PLATFORM
    for parts, reason in _REASONS:
        if any(part in node.op for part in parts):
            return reason
    used = [*(types.inputs[index] or ()), *(types.outputs[index] or ())]
    if any(number % REFS_FROM == STRING for number in used):
        return _STRINGS
    refused = sorted({number for each in _table()[node.op] for number in _refused(node, each)})
    if not refused or INVALID in refused:
        return NO_KERNEL
    return f"TensorFlow has no GPU kernel for it on {', '.join(map(_type_name, refused))}"


def _refused(node: Message, alternative: Alternative) -> Iterable[int]:
    """The numbers of the node's types that this alternative does not take."""
    for key, allowed in alternative.items():
        if not _fits(node, key, allowed):
            value = node.attr[key]
            held = value.list.type if value.HasField("list") else [value.type % REFS_FROM]
            yield from (number for number in held if number not in allowed)


def _type_name(number: int) -> str:
    """The name of a data type, such as `int32` for the number of DT_INT32."""
    known: Mapping[int, Message] = load_messages(
        "tensorflow.core.framework.types_pb2"
    ).DataType.DESCRIPTOR.values_by_number
    return known[number].name.removeprefix(PREFIX).lower() if number in known else f"type {number}"


@cache
def _table() -> dict[str, list[Alternative]]:
    """Op type → alternatives, from `TABLE_FILE`."""
    numbers = load_messages("tensorflow.core.framework.types_pb2").DataType
    rows: dict[str, list[str]] = json.loads(TABLE_FILE.read_text("utf-8"))

    @cache
    def parsed(text: str) -> Alternative:
        alternative = {}
        for part in text.split():
            key, _, names = part.partition("=")
            alternative[key] = frozenset(numbers.Value(PREFIX + name) for name in names.split(","))
        return alternative

    return {op_type: [parsed(text) for text in texts] for op_type, texts in rows.items()}


def table_of_installed_tensorflow() -> str:
    """The content of `TABLE_FILE` for the installed TensorFlow; loads TensorFlow."""
    from tensorflow.core.framework import types_pb2
    from tensorflow.python.framework import kernels

    found: dict[str, dict[str, set[tuple[tuple[str, tuple[str, ...]], ...]]]] = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        if not kernel.label:  # labelled kernels run only where a node names the label
            of_type = found.setdefault(kernel.op, {"CPU": set(), "GPU": set()})
            side = "GPU" if kernel.device_type in GPU_DEVICES else kernel.device_type
            allowed = (
                (each.name, tuple(sorted(types_pb2.DataType.Name(number) for number in each.allowed_values.list.type)))
                for each in kernel.constraint
                if each.allowed_values.list.type  # a few kernels need a value of another attribute
            )
            of_type.setdefault(side, set()).add(tuple(sorted(allowed)))
            if kernel.device_type == "DEFAULT":
                of_type["CPU"].add(())
    lines = [
        f"{json.dumps(op_type)}: {json.dumps(_alternatives(of_type['GPU']))}"
        for op_type, of_type in sorted(found.items())
        if of_type["CPU"]
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _alternatives(kernels: Iterable[tuple[tuple[str, tuple[str, ...]], ...]]) -> list[str]:
    """The kernels' constraints as texts; constraints that differ in one attribute alone become one."""
    rows = {tuple((key, frozenset(names)) for key, names in kernel) for kernel in kernels}
    for key in sorted({key for row in rows for key, _ in row}):
        joined: dict[tuple[tuple[str, frozenset[str]], ...], set[str]] = {}
        without = set()
        for row in rows:
            names = dict(row).get(key)
            if names is None:
                without.add(row)
            else:
                joined.setdefault(tuple(each for each in row if each[0] != key), set()).update(names)
        rows = without | {tuple(sorted((*rest, (key, frozenset(names))))) for rest, names in joined.items()}
    return sorted(
        " ".join(f"{key}={','.join(sorted(name.removeprefix(PREFIX) for name in names))}" for key, names in row)
        for row in rows
    )


if __name__ == "__main__":
    TABLE_FILE.write_text(table_of_installed_tensorflow(), "utf-8")
