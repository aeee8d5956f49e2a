"""Stand-ins with which an experiment takes seconds: children in this process, families of small graphs."""

import importlib
from collections.abc import Callable
from pathlib import Path

from engine.child.parent import Results
from engine.events import Json
from engine.prepared import PreparedGraph
from engine.zoo.families.family import PreparedFamily
from engine.zoo.families.members import members


def children_in(folder: Path) -> Callable[..., Results]:
    """In place of `run_in_child`: runs the child's function in this process, with `folder` as its own."""

    def here(target: str, order: dict[str, Json], *_: object, **__: object) -> Results:
        module, function = target.split(":")
        found: Results = getattr(importlib.import_module(module), function)(order, folder, lambda *_: None)
        return found

    return here


def family_of(graph: Callable[[int], PreparedGraph]) -> Callable[..., PreparedFamily]:
    """In place of `prepared_family`: as many members of a split, each the `graph` of its number."""

    def family(name: str, *_: object, seed: int, count: int, only: str) -> PreparedFamily:
        kept = sum(member.split == only for member in members(name, seed, count))
        graphs = tuple(graph(index) for index in range(kept))
        return PreparedFamily(name, graphs, graphs)

    return family
