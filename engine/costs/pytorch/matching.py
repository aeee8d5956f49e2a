"""Matches the ops of a trace to those of a recording, and gives each recorded op its measured time.

Within a step, ops of one type, with inputs of the same shapes, in the same phase and module are matched in the order in
which they occur; what is left is matched with less of these. An op's time is the median over the steps.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TypeAlias

import numpy as np

from engine.costs.cost_model import GraphWithShapes
from engine.costs.costs import Costs
from engine.costs.measured import LEAST_SHARE, StepStats
from engine.costs.pytorch.call_tree import require_few_steps, trees_of
from engine.costs.pytorch.op_families import BY_FIRST_TENSOR, family_of
from engine.costs.pytorch.profiled_ops import ProfiledOp, ProfiledWork, work_of
from engine.costs.pytorch.recorded_calls import RecordedCalls, TensorShapes
from engine.costs.pytorch.trace_file import ALLOWED, FIELD, Trace, trace_of
from engine.errors import GraphError, shortened
from engine.graphs.graph import PHASES
from engine.number_words import counted, part_words, time_words

CPU, GPU = "CPU", "GPU"
MOST_NAMED = 5
"""types named in a remark"""


@dataclass(frozen=True, slots=True)
class RecordedOp:
    """An op of the recording that has work."""

    index: int
    """of the op in its graph"""
    type: str
    family: str
    phase: str
    module: str
    shapes: TensorShapes | None


KeyOf: TypeAlias = Callable[[RecordedOp | ProfiledOp], Hashable]
"""what must be equal; None where it is not known"""


def _in_module(op: RecordedOp | ProfiledOp) -> Hashable:
    return (op.phase, op.family, op.shapes, op.module) if op.module and op.shapes is not None else None


def _in_phase(op: RecordedOp | ProfiledOp) -> Hashable:
    return (op.phase, op.family, op.shapes) if op.shapes is not None else None


def _anywhere(op: RecordedOp | ProfiledOp) -> Hashable:
    return (op.family, op.shapes) if op.shapes is not None else None


def _by_first_tensor(op: RecordedOp | ProfiledOp) -> Hashable:
    return (op.phase, op.family, op.shapes[0]) if op.shapes else None


def _in_module_alone(op: RecordedOp | ProfiledOp) -> Hashable:
    return (op.phase, op.family, op.module) if op.module else None


def _in_phase_alone(op: RecordedOp | ProfiledOp) -> Hashable:
    return op.phase, op.family


KEYS: tuple[KeyOf, ...] = (_in_module, _in_phase, _anywhere, _by_first_tensor)
"""from the strictest on"""
KEYS_WITHOUT_SHAPES: tuple[KeyOf, ...] = (_in_module_alone, _in_phase_alone)
"""for executions of which no shapes are known"""


@dataclass(slots=True)
class Matches:
    """What is in both, and what is in the trace alone."""

    executions: dict[int, list[ProfiledOp]] = field(default_factory=lambda: defaultdict(list))
    """index of a recorded op → its executions, at most one a step"""
    others: list[tuple[str, float]] = field(default_factory=list)
    """type and time of executions that no recorded op has"""

    def time_us(self) -> float:
        """Of all executions."""
        return sum(op.time_us for ops in self.executions.values() for op in ops)


@dataclass(frozen=True, slots=True)
class ProfilerTrace:
    """Measured times in a trace of torch.profiler."""

    trace: Trace

    def stats_in(self, graph: GraphWithShapes, costs: Costs) -> tuple[StepStats, tuple[str, ...]]:
        """The stats of the recorded ops that are in the trace, and remarks. Raises GraphError for another model's."""
        if graph.calls is None:
            what = "node-link JSON that is no recording of PyTorch has its times in itself"
            raise GraphError(what, allowed="no measured times beside it", field=FIELD)
        recorded, light = _recorded_ops(graph, graph.calls, costs)
        work = work_of(trees_of(self.trace), {op.family for op in recorded})
        remarks: tuple[str, ...] = ()
        if all(op.shapes is None for op in work.ops) or all(op.shapes is None for op in recorded):
            lacking = "trace" if any(op.shapes is not None for op in recorded) else "recording"
            remarks = (f"The {lacking} has no shapes of inputs, so ops are matched by type, phase and order alone.",)
            recorded = [replace(op, shapes=None) for op in recorded]
            work.ops = [replace(op, shapes=None) for op in work.ops]
        if work.steps == 1:
            work.steps, work.ops = _told_apart(work.ops, recorded)
        found = matches_of(recorded, work.ops)
        others = _not_recorded(found, work, light)
        _require_same_model(found, others)
        return (
            _stats(found, graph.graph.op_names, CPU if self.trace.device_us is None else GPU),
            (*remarks, *_remarks(found, recorded, work, others)),
        )


def profiler_trace_of(content: bytes) -> ProfilerTrace:
    """The trace in a file. Raises GraphError."""
    return ProfilerTrace(trace_of(content))


def _recorded_ops(graph: GraphWithShapes, calls: RecordedCalls, costs: Costs) -> tuple[list[RecordedOp], set[str]]:
    """The recorded ops with work, and the types of those without, such as views."""
    instances = calls.instances()
    has_work = (costs.flops > 0) | (costs.moved_bytes > 0)
    found, light = [], set()
    for index, (name, op_type) in enumerate(zip(graph.graph.op_names, graph.graph.op_types, strict=True)):
        if not has_work[index]:
            light.add(op_type)
            continue
        family, shapes = family_of(op_type), calls.shapes[index]
        shapes = shapes[:1] if shapes is not None and family in BY_FIRST_TENSOR else shapes
        phase = PHASES[int(graph.graph.phase[index])] if len(graph.graph.phase) else ""
        module = instances.get(name.rpartition("/")[0], "")
        found.append(RecordedOp(index, op_type, family, phase, module, shapes))
    return found, light


def _told_apart(ops: Sequence[ProfiledOp], recorded: Sequence[RecordedOp]) -> tuple[int, list[ProfiledOp]]:
    """How many steps a trace without marks has, and its ops with the step of each.

    Most ops occur as often in it as their number in the recording times its steps.
    """
    in_recording = Counter(map(_type_and_shapes, recorded))
    in_trace = Counter(map(_type_and_shapes, ops))
    ratios: Counter[int] = Counter()
    for key, count in in_recording.items():
        ratios[in_trace[key] // count] += count if in_trace[key] % count == 0 else 0
    ratios.pop(0, None)
    steps = max(ratios, key=lambda ratio: (ratios[ratio], -ratio)) if ratios else 1
    require_few_steps(steps)
    seen: Counter[Hashable] = Counter()
    told = []
    for op in ops:
        key = _type_and_shapes(op)
        per_step = -(-in_trace[key] // steps)
        told.append(replace(op, step=seen[key] // per_step))
        seen[key] += 1
    return steps, told


def _type_and_shapes(op: RecordedOp | ProfiledOp) -> Hashable:
    return op.family, op.shapes


def matches_of(recorded: Sequence[RecordedOp], profiled: Iterable[ProfiledOp]) -> Matches:
    """Match the recorded ops to the executions of each step."""
    found = Matches()
    of_step: dict[int, list[ProfiledOp]] = defaultdict(list)
    for op in profiled:
        of_step[op.step].append(op)
    for ops in of_step.values():
        left = list(recorded)
        for key_of in KEYS:
            left, ops = _paired(left, ops, key_of, found)
        without = [op for op in ops if op.shapes is None]
        found.others += [(op.type, op.time_us) for op in ops if op.shapes is not None]
        for key_of in KEYS_WITHOUT_SHAPES:
            left, without = _paired(left, without, key_of, found)
        found.others += [(op.type, op.time_us) for op in without]
    return found


def _paired(
    recorded: Sequence[RecordedOp], ops: Sequence[ProfiledOp], key_of: KeyOf, found: Matches
) -> tuple[list[RecordedOp], list[ProfiledOp]]:
    """Add to `found` the pairs of one key, each in order; returns what is left of both."""
    waiting: dict[Hashable, deque[RecordedOp]] = defaultdict(deque)
    for each in recorded:
        waiting[key_of(each)].append(each)
    left = []
    for op in ops:
        key = key_of(op)
        if key is not None and waiting[key]:
            found.executions[waiting[key].popleft().index].append(op)
        else:
            left.append(op)
    still = {each.index for queue in waiting.values() for each in queue}
    return [each for each in recorded if each.index in still], left


def _not_recorded(found: Matches, work: ProfiledWork, light: Collection[str]) -> list[tuple[str, float]]:
    """Type and time of each execution that no recorded op has, without views and the like."""
    return [(op_type, time_us) for op_type, time_us in (*found.others, *work.others) if op_type not in light]


def _require_same_model(found: Matches, others: Sequence[tuple[str, float]]) -> None:
    """Raise GraphError if ops of the recording take less than LEAST_SHARE of the time of all."""
    matched_us = found.time_us()
    total_us = matched_us + sum(time_us for _, time_us in others)
    if not total_us:
        raise GraphError("its ops take no time", allowed=ALLOWED, field=FIELD)
    if matched_us < LEAST_SHARE * total_us:
        share = part_words(matched_us / total_us)
        what = f"the run is of another graph: ops that were recorded take {share} of the time of its ops"
        raise GraphError(what, allowed="a trace of the recorded step, with inputs of the same shapes", field=FIELD)


def _stats(found: Matches, names: Sequence[str], device_class: str) -> StepStats:
    ops = sorted(found.executions)
    return StepStats(
        names=tuple(names[op] for op in ops),
        classes=(device_class,) * len(ops),
        time_us=np.array([median(each.time_us for each in found.executions[op]) for op in ops]),
        temporary_bytes=np.full(len(ops), -1, dtype=np.int64),
        is_kernel=np.full(len(ops), device_class == GPU, dtype=np.bool_),
        output=np.empty((0, 3), dtype=np.int64),
    )


def _remarks(
    found: Matches, recorded: Sequence[RecordedOp], work: ProfiledWork, others: Sequence[tuple[str, float]]
) -> Iterator[str]:
    """What matched and what did not, for people."""
    matched_us, total_us = found.time_us() / work.steps, work.total_us / work.steps
    yield (
        f"{len(found.executions):,} of {counted(len(recorded), 'recorded op')} with work are in the trace "
        f"({counted(work.steps, 'step')}); they take {time_words(matched_us)} a step, "
        f"{part_words(matched_us / total_us)} of the {time_words(total_us)} of its ops."
    )
    lost = Counter(op.type for op in recorded if op.index not in found.executions)
    if lost:
        yield f"Recorded ops that are not in the trace keep their estimates: {_named(lost)}."
    counts: Counter[str] = Counter()
    times: dict[str, float] = defaultdict(float)
    for op_type, time_us in others:
        counts[op_type] += 1
        times[op_type] += time_us
    if times:
        longest = {op_type: counts[op_type] for op_type in sorted(times, key=lambda each: -times[each])}
        taken = time_words(sum(times.values()) / work.steps)
        yield f"Ops of the trace that were not recorded, {taken} a step, the longest first: {_named(longest)}."


def _named(counts: Mapping[str, int]) -> str:
    """The first types with their numbers: `index × 4, le × 1 and 2 more types`."""
    shown = [f"{shortened(op_type)} × {count}" for op_type, count in list(counts.items())[:MOST_NAMED]]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {counted(more, 'more type')}" if more > 0 else "")
