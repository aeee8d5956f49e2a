"""Which ops PyTorch must run on one device.

A module runs where it is, and what a hook can move are the inputs of its call. So ops that are run directly in a module
are together, with those of its parameters, and an op that a module runs on what its children gave it is where they are.
"""

from collections.abc import Collection, Iterable, Sequence

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
    units = _Units()
    _join_whole(units, set(whole), paths)
    for op in ops:
        if op.path is not None:
            _join_with_what_it_reads(units, ops, op, op.path)
    labels = [None if op.path is None else units.of(op.path) or ROOT_LABEL for op in ops]
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


def _join_with_what_it_reads(units: _Units, ops: Sequence[Op], op: Op, path: str) -> None:
    for number, _ in op.sources:
        source = ops[number]
        if source.path is None or source.path == path:
            continue
        if source.type in OWNED or (op.call is not None and op.call.encloses(source.call)):
            units.join(path, source.path)
