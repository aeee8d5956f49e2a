"""Which ops PyTorch must run on one device.

A module runs where it is, and what a hook can move are the inputs of its call. So ops that are run directly in a module
are together, with those of its parameters, and an op that a module runs on what its children gave it is where they are.

Where a module's own ops meet nothing but what its children or they themselves gave, no hook of the module has anything
to move: then each of them follows the children that it reads, and the first children need not be where the last are, as
in a language model that adds embeddings before its blocks and views the norm's output behind them.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import TypeGuard

from placeto.ops import OWNED, Op

ROOT_LABEL = "/"
"""of the unit to which the model's own ops belong"""


class _Units:
    """Sets of module paths that grow together."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def of(self, path: str) -> str:
        """The path that stands for the set: the shortest, and of those the first met."""
        parents = self._parents
        parents.setdefault(path, path)
        while parents[path] != path:
            parents[path] = parents[parents[path]]
            path = parents[path]
        return path

    def join(self, one: str, other: str) -> None:
        one, other = self.of(one), self.of(other)
        if one != other:
            first, second = sorted((one, other), key=lambda path: (_depth(path), path))
            self._parents[second] = first


def _depth(path: str) -> int:
    return path.count("/") + 1 if path else 0


def colocation_labels(ops: Sequence[Op], whole: Collection[str], paths: Iterable[str]) -> list[str | None]:
    """A label for each op: the shortest path of a module in its unit; None for what can be anywhere.

    Args:
        ops: In the order in which they ran.
        whole: Paths of modules that are not split.
        paths: Of all modules.
    """
    units, homes = _Units(), homes_of(ops)
    _join_whole(units, set(whole), paths)
    for number, op in enumerate(ops):
        home = homes[number]
        if home is not None:
            units.of(home)
            _join_with_what_it_reads(units, ops, homes, op, home)
    labels = [None if home is None else units.of(home) or ROOT_LABEL for home in homes]
    consumers: list[set[str | None]] = [set() for _ in ops]
    for op, label in zip(ops, labels, strict=True):
        for source, _ in op.sources:
            consumers[source].add(label)
    for number, op in enumerate(ops):
        if op.path is None and len(consumers[number]) == 1:
            labels[number] = next(iter(consumers[number]))
    return labels


def _join_whole(units: _Units, whole: set[str], paths: Iterable[str]) -> None:
    for path in paths:
        parts = path.split("/")
        for count in range(len(parts)):
            if "/".join(parts[:count]) in whole:
                units.join("/".join(parts[:count]), path)
                break


def _join_with_what_it_reads(units: _Units, ops: Sequence[Op], homes: Sequence[str | None], op: Op, home: str) -> None:
    for number, _ in op.sources:
        source, its_home = ops[number], homes[number]
        if its_home is None or its_home == home:
            continue
        if source.type in OWNED or (op.call is not None and op.call.encloses(source.call)):
            units.join(home, its_home)


def homes_of(ops: Sequence[Op]) -> list[str | None]:
    """The path of the module with which each op goes: its own, or that of a child which its module's own op follows.

    Other children that such an op reads are joined by it, see `colocation_labels`.
    """
    own: dict[str, list[int]] = {}
    readers: list[list[int]] = [[] for _ in ops]
    for number, op in enumerate(ops):
        if op.path is not None:
            own.setdefault(op.path, []).append(number)
        for source, _ in op.sources:
            readers[source].append(number)
    homes: list[str | None] = [op.path for op in ops]
    containers = {path.rpartition("/")[0] for path in own if path}
    for path in containers & own.keys():
        for number, home in _followed(ops, readers, path, own[path]).items():
            homes[number] = home
    return homes


def _followed(ops: Sequence[Op], readers: Sequence[list[int]], path: str, own: Sequence[int]) -> dict[int, str]:
    """Op right in the module `path` → the child that it follows; empty where the module must stay in one place.

    Ops that read each other are a part. It follows what it reads of children, in the backward pass what reads it there.
    A part that reads something else besides needs a hook of its module, as one with weights does.
    """
    parts = _Units()
    needs_hook: set[int] = set()
    children: dict[int, list[str]] = {}
    for number in own:
        op, part = ops[number], str(number)
        if op.type in OWNED:
            return {}
        for source, _ in op.sources:
            other = ops[source]
            if other.path == path:
                parts.join(part, str(source))
            elif op.call is not None and other.type not in OWNED and _is_below(other.path, path):
                children.setdefault(number, []).append(other.path)
            elif op.call is not None:
                needs_hook.add(number)
        if op.call is None:
            reading = (ops[reader].path for reader in readers[number])
            children.setdefault(number, []).extend(each for each in reading if _is_below(each, path))
    of_part: dict[str, list[str]] = {}
    for number, paths in children.items():
        of_part.setdefault(parts.of(str(number)), []).extend(paths)
    if any(of_part.get(parts.of(str(number))) for number in needs_hook):
        return {}
    return {
        number: min(found, key=lambda each: (_depth(each), each))
        for number in own
        if (found := of_part.get(parts.of(str(number))))
    }


def _is_below(path: str | None, container: str) -> TypeGuard[str]:
    return path is not None and path != container and (not container or path.startswith(f"{container}/"))
