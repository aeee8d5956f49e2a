"""The module paths of a recording's ops: `h/0/attn/addmm` is an op of the module `h.0.attn`."""

import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.errors import GraphError
from engine.graphs.graph import ComputationGraph
from engine.graphs.origin import Origin
from engine.prepared import PreparedGraph

HELD: Final = frozenset({"parameter", "buffer"})
"""types of ops that stand for a tensor of a module, which has a path of its own"""
BESIDE: Final = frozenset({"input", "constant", "state"})
"""types of ops that belong to no module, or follow their parameter"""


def require_modules(origin: Origin) -> None:
    """Raise GraphError for a graph that is no recording of a PyTorch model."""
    if not origin.is_recording:
        raise GraphError(
            "its ops have no module paths",
            where="the graph",
            allowed="a recording of a PyTorch model, made by placeto.record",
            field="file",
        )


def path_of(parts: Sequence[str]) -> str:
    """The path as PyTorch spells it."""
    return ".".join(part.replace("%2F", "/").replace("%25", "%") for part in parts)


def module_paths(graph: ComputationGraph, beside: Collection[str]) -> list[tuple[str, ...] | None]:
    """[ops] the module of each, or of a parameter or buffer its own path; None for ops that belong to no module.

    An op right in a module that must be where one of its children is, by its label, counts as the child's. `beside` are
    the outermost scopes that are no modules.
    """
    return [
        None
        if op_type in BESIDE or name.partition("/")[0] in beside
        else _below(tuple(name.split("/")[: None if op_type in HELD else -1]), labels)
        for name, op_type, labels in zip(graph.op_names, graph.op_types, graph.colocation, strict=True)
    ]


def _below(path: tuple[str, ...], labels: Sequence[str]) -> tuple[str, ...]:
    """The path of a label that lies in the module at `path`, else `path` itself."""
    for label in labels:
        parts = tuple(label.split("/"))
        if len(parts) > len(path) and parts[: len(path)] == path and "" not in parts:
            return parts
    return path


def _turns(graph: ComputationGraph) -> list[int]:
    """[ops] the number of each; of a parameter or buffer that of the first op which takes it."""
    turns = list(range(graph.op_count))
    first: dict[int, int] = {}
    for source, target in zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True):
        first[source] = min(first.get(source, target), target)
    return [first.get(op, op) if graph.op_types[op] in HELD else op for op in turns]


@dataclass(slots=True)
class ModuleTree:
    """A module, or a tensor that one holds, with the devices of what lies in it."""

    path: tuple[str, ...] = ()
    turn: int = sys.maxsize
    """when the step comes to it: the number of its first op that runs"""
    own: set[int] = field(default_factory=set)
    """devices of the ops right in it"""
    devices: set[int] = field(default_factory=set)
    """devices of all ops in it"""
    children: "dict[str, ModuleTree]" = field(default_factory=dict)

    @staticmethod
    def of(prepared: PreparedGraph, device_of_op: Sequence[int]) -> "ModuleTree":
        """The modules of a graph whose ops lie on `device_of_op`, [ops]."""
        root, turns = ModuleTree(), _turns(prepared.graph)
        for op, path in enumerate(module_paths(prepared.graph, prepared.origin.beside)):
            if path is not None:
                root.add(path, turns[op], device_of_op[op])
        return root

    def add(self, path: tuple[str, ...], turn: int, device: int) -> None:
        """Put an op on `device` into the module at `path`, below this one."""
        tree = self
        for depth in range(len(path) + 1):
            tree.devices.add(device)
            tree.turn = min(tree.turn, turn)
            if depth < len(path):
                tree = tree.children.setdefault(path[depth], ModuleTree(path[: depth + 1]))
        tree.own.add(device)

    def below(self) -> "Iterator[ModuleTree]":
        """This module and all in it."""
        yield self
        for child in self.children.values():
            yield from child.below()

    def whole(self) -> "Iterator[ModuleTree]":
        """The largest modules, and tensors that one holds, each on one device: together all that lies in this one."""
        if len(self.devices) <= 1:
            yield self
            return
        for child in self.children.values():
            yield from child.whole()
