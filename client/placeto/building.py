"""Recorded ops as the nodes and edges of node-link JSON."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from placeto.ops import CONSTANT, INPUT, Op, Shapes

SEPARATOR = "/"


def escaped(part: str) -> str:
    """A module's own name as a part of a path."""
    return part.replace("%", "%25").replace(SEPARATOR, "%2F")


def path_of(dotted: str) -> str:
    """`h.0.attn` as `h/0/attn`."""
    return SEPARATOR.join(escaped(part) for part in dotted.split("."))


def joined(path: str, name: str) -> str:
    """The name of something in a module."""
    return f"{path}{SEPARATOR}{name}" if path else name


def give_paths(ops: Sequence[Op]) -> None:
    """Gives an op of no module that of the first op that reads it: sums of gradients, the gradient of the loss."""
    first_reader: dict[int, Op] = {}
    for op in reversed(ops):  # a reader comes later, so that it has its path by now
        for source, _ in op.sources:
            first_reader[source] = op
    for number in range(len(ops) - 1, -1, -1):
        op = ops[number]
        if op.path is None and op.type not in (INPUT, CONSTANT) and number in first_reader:
            op.path = first_reader[number].path


def names_of(ops: Sequence[Op]) -> list[str]:
    """A name for each op, each once: its module's path, and its type."""
    taken: set[str] = set()
    counts: dict[str, int] = {}
    first_paths = _first_readers_paths(ops)
    names = []
    for number, op in enumerate(ops):
        wanted = op.name
        if wanted is None:
            prefix = f"{op.phase}_" if op.phase in ("backward", "optimizer") else ""
            path = op.path if op.path is not None else first_paths.get(number, "")
            wanted = joined(path, prefix + escaped(op.type.rstrip("_") or op.type))
        name = wanted
        while name in taken:
            counts[wanted] = counts.get(wanted, 0) + 1
            name = f"{wanted}_{counts[wanted]}"
        taken.add(name)
        names.append(name)
    return names


def _first_readers_paths(ops: Sequence[Op]) -> dict[int, str]:
    paths: dict[int, str] = {}
    for op in ops:
        for source, _ in op.sources:
            if op.path is not None:
                paths.setdefault(source, op.path)
    return paths


def shapes_of(ops: Sequence[Op]) -> dict[Shapes, int]:
    """The shapes of ops' inputs, each once, and their numbers."""
    found: dict[Shapes, int] = {}
    for op in ops:
        if op.input_shapes is not None:
            found.setdefault(op.input_shapes, len(found))
    return found


def nodes_of(
    ops: Sequence[Op], names: Sequence[str], labels: Iterable[str | None], shapes: Mapping[Shapes, int]
) -> list[dict[str, Any]]:
    """The nodes: what is 0 or none by default is left out."""
    nodes = []
    for op, name, label in zip(ops, names, labels, strict=True):
        node: dict[str, Any] = {"id": name, "type": op.type, "flops": op.flops, "bytes_accessed": op.bytes_accessed}
        node["output_bytes"] = op.output_bytes
        if op.dtype != "float32":
            node["dtype"] = op.dtype
        node |= {key: value for key, value in (("phase", op.phase), ("colocation", label)) if value is not None}
        if op.input_shapes is not None:
            node["input_shapes"] = shapes[op.input_shapes]
        numbers = (("persistent_bytes", op.persistent_bytes), ("parameters", op.parameters))
        node |= {key: number for key, number in numbers if number}
        if op.launches != 1:
            node["launches"] = op.launches
        if any(buffer is not None for buffer in op.buffers):
            node["buffers"] = [
                [names[buffer[0]], buffer[1]] if isinstance(buffer, tuple) else buffer for buffer in op.buffers
            ]
        nodes.append(node)
    return nodes


def edges_of(ops: Sequence[Op], names: Sequence[str]) -> list[dict[str, Any]]:
    """The edges: one for each output that an op reads, and those that only order."""
    edges: list[dict[str, Any]] = []
    for op, target in zip(ops, names, strict=True):
        read = [*op.sources, *((control, None) for control in op.controls)]
        edges.extend({"source": names[source], "target": target, "output": output} for source, output in read)
    return edges
