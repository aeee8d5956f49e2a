"""Names of ops and scopes as a person knows them: without what the export of a model puts around them.

An exported Keras model calls a function that calls the model: its ops are named
`StatefulPartitionedCall_1/StatefulPartitionedCall/functional_1/dense_1/MatMul`, and a person knows `dense_1/MatMul`.
Three kinds of parts are left out:

- wrappers: the scopes of inlined calls (`StatefulPartitionedCall`, `PartitionedCall_3`, `jit_step`, and the `Func` of
  TensorFlow's inliner), wherever they stand, and what is before a first slash (`/encoder/layer.0/MatMul`);
- repetitions: the body of a loop or of a branch is a function, whose ops have their whole path once more:
  `lstm/while/body/_27/lstm/while/MatMul` is `lstm/while/MatMul`. The loop's own scope stays;
- the root: the scopes that all ops with work share, such as the model's own name. Ops without work (variables, inputs,
  constants) may lie outside. In a training step, where the optimiser lies outside, it is the only scope that Keras
  names by itself (`functional_1`, `sequential`, `model_2`), or the only one with gradients on a tape.

Parts keep their order, and an op its last part. Where two ops would get one name, the parts in which they differ come
back. Everything here takes time in proportion to the length of the names, which are untrusted text.
"""

import re
from collections.abc import Sequence
from itertools import zip_longest

from engine.graphs.graph import ComputationGraph

CALL = r"(?:(?:Stateful)?PartitionedCall|Func)(?:_[0-9]+)?|jit_\w+"
"""the scope of an inlined call"""
WRAPPER = re.compile(rf"(?:{CALL})?")
"""such a scope, or the empty one before a first slash: exporters to ONNX write `/encoder/layer.0/MatMul`"""
LOOP = re.compile(r"(?:while|cond)(?:_[0-9]+)?")
"""the scope of a loop or branch: never part of the root"""
INLINED = frozenset({"body", "cond", "then", "else"})
"""with a number such as `_27` behind them: the function of a loop or branch"""
NUMBER = re.compile(r"_[0-9]+")
BRANCHES = frozenset({"then", "else"})
"""of those, the ones that say more than the loop's own scope"""
AROUND_ROOTS = re.compile(r"(?:gradient_tape|gradients|replica)(?:_[0-9]+)?")
"""scopes that a training step puts around those of the model"""
RESTARTED_IN = re.compile(rf"(?:{CALL})|(?:{LOOP.pattern})|(?:{AROUND_ROOTS.pattern})")
"""behind these a path may begin anew"""
TAPE = re.compile(r"gradient_tape(?:_[0-9]+)?")
KERAS_ROOT = re.compile(r"(?:functional|sequential|model)(?:_[0-9]+)*")
NOT_THE_MODEL = frozenset({"compile_loss", "loss"})
"""scopes with gradients that are none of a model's own"""
WITHOUT_WORK = frozenset(
    {
        *("Assign", "AssignVariableOp", "Const", "Identity", "IdentityN", "MergeV2Checkpoints", "NoOp", "Placeholder"),
        *("PlaceholderV2", "PlaceholderWithDefault", "ReadVariableOp", "RestoreV2", "SaveV2", "ShardedFilename"),
        *("StringJoin", "VarHandleOp", "VarIsInitializedOp", "Variable", "VariableV2"),
    }
)
"""types of ops that may lie outside of the root"""
ROUNDS = 4
"""in which parts come back to ops of one name, before they get their whole names"""

Parts = tuple[str, ...]


class ShortNames:
    """The short names of a graph's ops, and of its scopes."""

    def __init__(self, op_names: Sequence[str], op_types: Sequence[str]) -> None:
        """`op_names` [ops] are unique; `op_types` [ops] are empty where the format has none."""
        self._scopes: dict[str, _Scope] = {}
        last_of_op, row_of_op = [], []
        for name in op_names:
            end = name.rfind("/") + 1
            row = self._scopes.get(name[:end])
            if row is None:
                row = self._scopes[name[:end]] = _Scope(name[:end])
            last_of_op.append(name[end:])
            row_of_op.append(row)
        working = {row for row, op_type in zip(row_of_op, op_types, strict=True) if op_type not in WITHOUT_WORK}
        self.root = _root_of([row.shown for row in self._scopes.values() if row in working])
        """the parts that are left out as the model's own"""
        for row in self._scopes.values():
            row.leave_out(self.root)
        self.of_op: tuple[str, ...] = tuple(_told_apart(row_of_op, last_of_op))
        """[ops] unique; of each op its last part, and of the parts before it those that are shown"""
        self.of_op_named: dict[str, str] = dict(zip(op_names, self.of_op, strict=True))
        """the same by the names in the file"""

    @staticmethod
    def of(graph: ComputationGraph) -> "ShortNames":
        """Those of `graph`."""
        return ShortNames(graph.op_names, graph.op_types)

    def of_scope(self, scope: str) -> str:
        """The short name of a scope, such as `lstm_1/while`; of one that ops' names leave out, its last part."""
        row = self._scopes.get(f"{scope}/")
        if row is None:
            row = _Scope(f"{scope}/")
            row.leave_out(self.root)
        return "/".join(row.shown) or scope.rpartition("/")[2] or scope


def _told_apart(rows: "Sequence[_Scope]", lasts: Sequence[str]) -> list[str]:
    """[ops] the names, with parts brought back until no two ops have one. `rows` [ops], `lasts` [ops]: last parts."""
    # an op whose last part is empty has nothing to be called by but its whole name
    rows = [row if last else row.whole() for row, last in zip(rows, lasts, strict=True)]
    begins = {row: row.begin for row in set(rows)}
    names = [begins[row] + last for row, last in zip(rows, lasts, strict=True)]
    for attempt in range(ROUNDS + 2):
        alike = _alike(names)
        if not alike:
            return names
        for ops in alike:
            own = [rows[op].copy() for op in ops]
            if attempt >= ROUNDS or not _bring_back(own):
                own = [row.whole() for row in own]
            for op, row in zip(ops, own, strict=True):
                rows[op] = row
                names[op] = row.begin + lasts[op]
    return [row.whole().begin + last for row, last in zip(rows, lasts, strict=True)]


def _alike(names: Sequence[str]) -> list[list[int]]:
    """The ops of each name that several have."""
    if len(set(names)) == len(names):
        return []
    ops_of_name: dict[str, list[int]] = {}
    for op, name in enumerate(names):
        ops_of_name.setdefault(name, []).append(op)
    return [ops for ops in ops_of_name.values() if len(ops) > 1]


class _Scope:
    """A scope, with the places of those of its parts that are shown."""

    __slots__ = ("kept", "parts")

    def __init__(self, begin: str) -> None:
        """`begin`: of ops' names, such as `block/branch/`; empty outside of all scopes."""
        self.parts: Parts = tuple(begin.split("/")[:-1])
        self.kept = _without_repetitions(self.parts)

    @property
    def shown(self) -> Parts:
        return tuple(self.parts[place] for place in self.kept)

    @property
    def begin(self) -> str:
        """The beginning of the short names of its ops."""
        return "".join(f"{part}/" for part in self.shown)

    def leave_out(self, root: Parts) -> None:
        """Leave out `root`, at the beginning or behind the scopes of a training step."""
        shown = self.shown
        begin = _parts_around(shown)
        if root and shown[begin : begin + len(root)] == root:
            self.kept = self.kept[:begin] + self.kept[begin + len(root) :]

    def show(self, place: int) -> bool:
        """Show this part too; whether it was not."""
        if place in self.kept:
            return False
        self.kept = sorted([*self.kept, place])
        return True

    def copy(self) -> "_Scope":
        """The same, to be changed for one op."""
        row = object.__new__(_Scope)
        row.parts, row.kept = self.parts, self.kept
        return row

    def whole(self) -> "_Scope":
        """The scope with all its parts."""
        row = self.copy()
        row.kept = list(range(len(self.parts)))
        return row


def _without_repetitions(parts: Parts) -> list[int]:
    """The places of the parts without wrappers, and without a path that is there once more."""
    kept: list[int] = []
    around = 0  # of the first parts kept, those that a training step puts around the model's
    place = 0
    while place < len(parts):
        part, before = parts[place], parts[place - 1] if place else ""
        # the places of the path up to here; a function's own mark, such as `body`, is none of it
        path = range(around, len(kept) - (before in INLINED and kept[-1:] == [place - 1]))
        if WRAPPER.fullmatch(part):
            place += 1
        elif before in INLINED and NUMBER.fullmatch(part) and (again := _again(parts, kept, path, place + 1)):
            if before not in BRANCHES and path.stop < len(kept):
                kept.pop()
            place += 1 + again
        elif (
            RESTARTED_IN.fullmatch(before) and not LOOP.fullmatch(part) and (again := _again(parts, kept, path, place))
        ):
            place += again
        else:
            around += around == len(kept) and AROUND_ROOTS.fullmatch(part) is not None
            kept.append(place)
            place += 1
    return kept


def _again(parts: Parts, kept: Sequence[int], path: range, begin: int) -> int:
    """The number of parts from `begin` on that repeat the first ones of `path`; wrappers between them count."""
    place, same = begin, path.start
    while place < len(parts) and same < path.stop:
        if not WRAPPER.fullmatch(parts[place]):
            if parts[place] != parts[kept[same]]:
                break
            same += 1
        place += 1
    return place - begin if same > path.start else 0


def _parts_around(parts: Sequence[str]) -> int:
    """The number of first parts that a training step puts around the model's."""
    return next((index for index, part in enumerate(parts) if not AROUND_ROOTS.fullmatch(part)), len(parts))


def _root_of(working: Sequence[Parts]) -> Parts:
    """The parts that the scopes of all ops with work share, or the one that is a model's; empty if there is neither."""
    inside = [parts[_parts_around(parts) :] for parts in working]
    shared = _shared(inside)
    if shared:
        return shared
    known = {parts[0] for parts in inside if parts and KERAS_ROOT.fullmatch(parts[0])}
    on_tape = {
        parts[around]
        for parts in working
        if (around := _parts_around(parts)) < len(parts) and TAPE.fullmatch(parts[0])
        if parts[around] not in NOT_THE_MODEL
    }
    with_scopes = {parts[0] for parts in inside if len(parts) > 1}
    for roots in (known, on_tape):
        if len(roots) == 1 and roots <= with_scopes and not any(LOOP.fullmatch(root) for root in roots):
            return tuple(roots)
    return ()


def _shared(paths: Sequence[Parts]) -> Parts:
    """The first parts of all, up to a loop; a part is left to one of them at least."""
    if not paths:
        return ()
    shared = paths[0]
    for parts in paths:
        pairs = zip(shared, parts, strict=False)
        shared = shared[: next((index for index, (one, other) in enumerate(pairs) if one != other), len(parts))]
    until = next((index for index, part in enumerate(shared) if LOOP.fullmatch(part)), len(shared))
    return shared[: min(until, max(map(len, paths)) - 1)]


def _bring_back(rows: Sequence[_Scope]) -> bool:
    """Show the first part in which the scopes differ, a wrapper only where no other does; whether that shows more."""
    without_wrappers = [[place for place, part in enumerate(row.parts) if not WRAPPER.fullmatch(part)] for row in rows]
    everything = [list(range(len(row.parts))) for row in rows]
    for places_of_row in (without_wrappers, everything):
        for column in zip_longest(*places_of_row):
            placed = list(zip(rows, column, strict=True))
            if len({None if place is None else row.parts[place] for row, place in placed}) > 1:
                shown = [row.show(place) for row, place in placed if place is not None]
                if any(shown):
                    return True
    return False
