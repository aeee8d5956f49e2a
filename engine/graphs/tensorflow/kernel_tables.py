"""Tables of the data types for which TensorFlow has kernels, without loading TensorFlow.

`python -m engine.graphs.tensorflow.kernel_tables` writes both tables from the installed TensorFlow, which must be the
package with GPU support (`tensorflow`, not `tensorflow-cpu`); it needs no GPU. A table holds op type → a list of
alternatives, each `T=FLOAT,HALF shape=INT32` (attribute and the types that it may hold), or empty for any types. No
alternative: no device of that class can run it.

- `GPU_TABLE`: each op type that has a kernel for CPUs, with its alternatives for GPUs.
- `CPU_TABLE`: each op type that GPUs run with types that CPUs do not, with its alternatives for CPUs.

Source: tensorflow.python.framework.kernels.get_all_registered_kernels, TensorFlow 2.21.
"""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

from engine.graphs.tensorflow.messages import Message, load_messages
from engine.graphs.tensorflow.op_types import INVALID, REFS_FROM

GPU_TABLE = Path(__file__).with_name("tensorflow_gpu_kernels.json")
CPU_TABLE = Path(__file__).with_name("tensorflow_cpu_kernels.json")
ANY_DEVICE = "DEFAULT"
"""device type of kernels that every device runs"""
PREFIX = "DT_"
Alternative: TypeAlias = Mapping[str, frozenset[int]]
"""attribute → numbers of the data types that it may hold; a missing attribute may hold any"""
_Kernel: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""((attribute, names of its types), ...), sorted"""


@cache
def kernels_of(table: Path) -> dict[str, list[Alternative]]:
    """Op type → alternatives, from the file `table`."""
    numbers = load_messages("tensorflow.core.framework.types_pb2").DataType
    rows: dict[str, list[str]] = json.loads(table.read_text("utf-8"))

    @cache
    def parsed(text: str) -> Alternative:
        alternative = {}
        for part in text.split():
            key, _, names = part.partition("=")
            alternative[key] = frozenset(numbers.Value(PREFIX + name) for name in names.split(","))
        return alternative

    return {op_type: [parsed(text) for text in texts] for op_type, texts in rows.items()}


def has_kernel(node: Message, alternatives: Sequence[Alternative] | None) -> bool:
    """Whether one of the `alternatives` takes the node's types; true for None, which stands for unknown ones."""
    if alternatives is None:
        return True
    return any(all(_fits(node, key, allowed) for key, allowed in each.items()) for each in alternatives)


def refused_types(node: Message, alternatives: Sequence[Alternative]) -> str:
    """The names of the node's types that the `alternatives` do not take; empty where it is not a matter of types."""
    refused = sorted({number for each in alternatives for number in _refused(node, each)})
    return "" if INVALID in refused else ", ".join(map(_type_name, refused))


def _fits(node: Message, key: str, allowed: frozenset[int]) -> bool:
    """Whether the attribute `key` holds allowed types; a missing one is at its default, which counts as fitting."""
    if key not in node.attr:
        return True
    value = node.attr[key]
    if value.HasField("list"):
        return allowed.issuperset(value.list.type)
    return value.type == INVALID or value.type % REFS_FROM in allowed


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


def tables_of_installed_tensorflow() -> dict[Path, str]:
    """The content of each table for the installed TensorFlow; loads TensorFlow."""
    from tensorflow.core.framework import types_pb2
    from tensorflow.python.framework import kernels

    found: dict[str, dict[str, set[_Kernel]]] = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        if not kernel.label:  # labelled kernels run only where a node names the label
            of_type = found.setdefault(kernel.op, {"CPU": set(), "GPU": set()})
            allowed = tuple(
                sorted(
                    (each.name, tuple(sorted(map(types_pb2.DataType.Name, each.allowed_values.list.type))))
                    for each in kernel.constraint
                    if each.allowed_values.list.type  # a few kernels need a value of another attribute
                )
            )
            for device_class, kernels_of_class in of_type.items():
                if kernel.device_type in (device_class, ANY_DEVICE):
                    kernels_of_class.add(allowed)
    return {
        GPU_TABLE: _table({op_type: each["GPU"] for op_type, each in found.items() if each["CPU"]}),
        CPU_TABLE: _table(
            {op_type: each["CPU"] for op_type, each in found.items() if _lacks(each["CPU"], each["GPU"])}
        ),
    }


def _table(kernels_of_type: Mapping[str, set[_Kernel]]) -> str:
    """The text of a table."""
    lines = (
        f"{json.dumps(op_type)}: {json.dumps(_alternatives(kernels))}"
        for op_type, kernels in sorted(kernels_of_type.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lacks(cpu: set[_Kernel], gpu: set[_Kernel]) -> bool:
    """Whether some types have a kernel for GPUs and none for CPUs."""
    there = [dict(each) for each in _single(cpu)]
    return any(
        not any(all(of_gpu.get(key, name) == name for key, name in each.items()) for each in there)
        for of_gpu in map(dict, _single(gpu))
    )


def _single(kernels: Iterable[_Kernel]) -> set[tuple[tuple[str, str], ...]]:
    """Each combination of single types that the kernels take."""
    return {
        tuple(zip((key for key, _ in kernel), names, strict=True))
        for kernel in kernels
        for names in itertools.product(*(names for _, names in kernel))
    }


def _alternatives(kernels: Iterable[_Kernel]) -> list[str]:
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
    for path, text in tables_of_installed_tensorflow().items():
        path.write_text(text, "utf-8")
