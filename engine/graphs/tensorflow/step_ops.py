"""Finds the ops that a training or inference step runs in a graph that also initialises, saves and summarises.

An op belongs to the step unless everything that needs it only prepares variables, saves or restores them, or writes
summaries. Those ends of the graph are found by types and by data, not by names:

- An assignment initialises if its value depends on no input and no variable. TensorFlow 1 names the initialiser of the
  variable `v` `v/Assign`: such a one may read other variables.
- What `RestoreV2` gives is restored, and what depends on nothing but whether variables are initialised is a check.
- A NoOp belongs where all that it waits for belongs.
- Where summaries alone depend on the graph's inputs, they are the step.

Source: tensorflow/python/training/saver.py; tensorflow/python/ops/variables.py.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntFlag, StrEnum

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.tensorflow.op_types import FUNCTION_CALLS, INPUTS, READS, VARIABLES


class Beside(StrEnum):
    """What an op beside the step is for, as the end of a sentence on several ops."""

    INITIALISES = "set variables or tables to their start, or check that they are set"
    SAVES = "save or restore variables"
    SUMMARISES = "write summaries"
    READS = "read variables for nothing else"


class _Depends(IntFlag):
    """What a value depends on."""

    NOTHING = 0
    INPUT = 1
    VARIABLE = 2
    FILE = 4
    """the files of variables"""
    STATUS = 8
    """whether a variable is initialised"""


ASSIGNMENTS = frozenset({"Assign", "AssignVariableOp"})
CHECKS = frozenset({"IsVariableInitialized", "VarIsInitializedOp"})
RESTORES = frozenset({"Restore", "RestoreSlice", "RestoreV2"})
SAVES = frozenset({"Save", "SaveSlices", "SaveV2", "MergeV2Checkpoints"})
FILENAMES = frozenset(
    {"Const", "Placeholder", "PlaceholderWithDefault", "StringJoin", "ShardedFilename", "Select", "SelectV2"}
)
"""types of ops from which a saver makes the names of its files"""
GROUPS = "NoOp"
_TABLES = re.compile(r"InitializeTable\w*|LookupTableImport(V2)?")
_SUMMARIES = re.compile(
    r"(Merge|(Write)?(Scalar|Histogram|Image|Audio)|Tensor|Write(RawProto|Graph)?)Summary(V2)?|AudioSummaryV2"
    r"|(Flush|Close)SummaryWriter|CreateSummary(File|Db)Writer"
)
_GIVES_DATA = re.compile(r"\w*(GetNext|Dequeue|Unstage|ReaderRead)\w*")


@dataclass(frozen=True, slots=True)
class StepOps:
    """The ops of a graph's step, and what the others are for."""

    runs: NDArray[np.bool_]
    """[ops] whether the step runs the op"""
    beside: dict[Beside, int]
    """number of the other ops by what they are for, without empty ones"""


def step_ops(graph: ComputationGraph) -> StepOps | None:
    """The ops of the step; None where all ops belong to it, also in a graph that does nothing but, say, initialise."""
    types = np.array([_kind_by_type(op_type) is not None or op_type in ASSIGNMENTS for op_type in graph.op_types])
    if not types.any():
        return None
    ends = _Ends(graph)
    if not ends.of_step:
        return None
    runs = _all_behind([*ends.of_step, *ends.alone], ends.sources)
    if not (runs & ends.takes_data).any():
        runs |= _all_behind(ends.summaries_of_data, ends.sources)
    if runs.all():
        return None
    return StepOps(runs, _counts(ends, runs))


def _counts(ends: "_Ends", runs: NDArray[np.bool_]) -> dict[Beside, int]:
    """Number of the ops beside the step by what they are for; an op that is for several counts for the first."""
    counted = runs.copy()
    counts: dict[Beside, int] = {}
    for kind in Beside:
        behind = _all_behind([op for op, of_op in enumerate(ends.kind) if of_op == kind], ends.sources) & ~counted
        counted |= behind
        if behind.any():
            counts[kind] = int(behind.sum())
    return counts


class _Ends:
    """The ops that nothing needs, sorted by whether they belong to the step."""

    def __init__(self, graph: ComputationGraph) -> None:
        self._graph = graph
        ops = graph.op_count
        self.data: list[list[int]] = [[] for _ in range(ops)]
        """[ops] producers of data"""
        self.sources: list[list[int]] = [[] for _ in range(ops)]
        """[ops] all producers"""
        self.consumers: list[list[int]] = [[] for _ in range(ops)]
        """[ops] ops that take its data"""
        needed = np.zeros(ops, dtype=np.bool_)
        needed[graph.edge_source] = True
        needed[graph.back_edges[:, 0]] = True
        edges = zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True)
        for source, target, output in [*edges, *((one, other, 0) for one, other in graph.back_edges.tolist())]:
            self.sources[target].append(source)
            if output != CONTROL:
                self.data[target].append(source)
                self.consumers[source].append(target)
        self._depends = self._dependences()
        self.kind: list[Beside | None] = [self._kind(op, not needed[op]) for op in range(ops)]
        """[ops] what an op beside the step is for; None for ops of the step, and for those that others decide"""
        self._join_groups()
        self.of_step: list[int] = []
        """ends that do the work of the step"""
        self.alone: list[int] = []
        """ops without inputs that nothing needs: they are read, but make no step"""
        self._sort(np.flatnonzero(~needed).tolist())

    @property
    def takes_data(self) -> NDArray[np.bool_]:
        """[ops] whether the op gives the step its data: a placeholder, a queue."""
        return np.array([_dependence_of_type(each) is _Depends.INPUT for each in self._graph.op_types])

    @property
    def summaries_of_data(self) -> list[int]:
        """Summaries that depend on the graph's inputs."""
        kinds = enumerate(zip(self.kind, self._depends, strict=True))
        return [op for op, (kind, on) in kinds if kind is Beside.SUMMARISES and on & _Depends.INPUT]

    def _dependences(self) -> list[_Depends]:
        """[ops] what the op's outputs depend on."""
        own = [_dependence_of_type(op_type) for op_type in self._graph.op_types]
        found = [_Depends.NOTHING if depends is None else depends for depends in own]
        waiting = [op for op, depends in enumerate(found) if depends]
        while waiting:
            op = waiting.pop()
            for target in self.consumers[op]:
                if own[target] is None and found[op] & ~found[target]:
                    found[target] |= found[op]
                    waiting.append(target)
        return found

    def _kind(self, op: int, is_end: bool) -> Beside | None:
        """What the op is for, by its type and data."""
        op_type, depends = self._graph.op_types[op], self._depends[op]
        if op_type in ASSIGNMENTS:
            return self._kind_of_assignment(op)
        if (kind := _kind_by_type(op_type)) is not None or not is_end:
            return kind
        if op_type == READS or (op_type == "Identity" and self._is_read(op)):
            return Beside.READS
        if depends & (_Depends.INPUT | _Depends.VARIABLE):
            return None
        if depends & _Depends.FILE:
            return Beside.SAVES
        return Beside.INITIALISES if depends & _Depends.STATUS else None

    def _kind_of_assignment(self, op: int) -> Beside | None:
        """Whether the op initialises or restores its variable, which is its first input."""
        if len(self.data[op]) < 2:
            return None
        variable, value = self.data[op][0], self._depends[self.data[op][-1]]
        names = self._graph.op_names
        if value & _Depends.INPUT or (value & _Depends.VARIABLE and names[op] != f"{names[variable]}/Assign"):
            return None
        return Beside.SAVES if value & _Depends.FILE else Beside.INITIALISES

    def _is_read(self, op: int) -> bool:
        """Whether an Identity is a variable's own read, as TensorFlow 1 adds one to each."""
        return len(self.sources[op]) == 1 and self._graph.op_types[self.sources[op][0]] in VARIABLES

    def _join_groups(self) -> None:
        """Set the kind of each op that only waits for others, where all of them are beside the step."""
        types = self._graph.op_types
        groups = [op for op, op_type in enumerate(types) if self._is_group(op, op_type)]
        waits_of: dict[int, list[int]] = {}
        left: dict[int, int] = {}
        for group in groups:
            waits = [op for op in self.sources[group] if op not in self.data[group] or types[op] not in FILENAMES]
            left[group] = len(waits)
            for op in waits:
                waits_of.setdefault(op, []).append(group)
        waiting = [op for op in waits_of if self.kind[op] is not None]
        for op in waiting:  # it grows while it is walked
            for group in waits_of.get(op, ()):
                left[group] -= 1
                if not left[group]:
                    self.kind[group] = self.kind[op]
                    waiting.append(group)

    def _is_group(self, op: int, op_type: str) -> bool:
        """Whether the op does nothing but wait: a NoOp, or the filename that a saver gives back."""
        if not self.sources[op]:
            return False
        if op_type == GROUPS:
            return True
        has_control = len(self.sources[op]) > len(self.data[op])
        return op_type == "Identity" and has_control and self._graph.op_types[self.data[op][0]] in FILENAMES

    def _sort(self, ends: Sequence[int]) -> None:
        """Sort the `ends`; of a NoOp that waits for ops of both sorts, those of the step count as ends."""
        waiting, seen = list(ends), set(ends)
        while waiting:
            op = waiting.pop()
            if self.kind[op] is not None:
                continue
            sources = self.sources[op]
            if not sources:
                self.alone.append(op)
            elif self._graph.op_types[op] == GROUPS and any(self.kind[source] is not None for source in sources):
                waiting += [source for source in sources if source not in seen]
                seen.update(sources)
            else:
                self.of_step.append(op)


def _kind_by_type(op_type: str) -> Beside | None:
    if op_type in SAVES or op_type in RESTORES:
        return Beside.SAVES
    if op_type in CHECKS or _TABLES.fullmatch(op_type):
        return Beside.INITIALISES
    return Beside.SUMMARISES if _SUMMARIES.fullmatch(op_type) else None


def _dependence_of_type(op_type: str) -> _Depends | None:
    """What the outputs of the type depend on, whatever the op takes; None: on that."""
    if op_type in RESTORES:
        return _Depends.FILE
    if op_type in CHECKS:
        return _Depends.STATUS
    if op_type in VARIABLES:
        return _Depends.VARIABLE
    if op_type in INPUTS or op_type in FUNCTION_CALLS or _GIVES_DATA.fullmatch(op_type):
        return _Depends.INPUT
    return None


def _all_behind(ops: Iterable[int], sources: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """[ops] whether the op is one of `ops`, or one of these needs it."""
    found = np.zeros(len(sources), dtype=np.bool_)
    waiting = list(ops)
    found[waiting] = True
    while waiting:
        for source in sources[waiting.pop()]:
            if not found[source]:
                found[source] = True
                waiting.append(source)
    return found
