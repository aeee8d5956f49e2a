"""The ops of a trace that a recording may have, each with its time.

An op in a trace calls others. The outermost one whose type was recorded stands for all within it, so no time counts
twice; what it was called by, such as `aten::linear`, was recorded as its parts. Where a device runs a recorded op as
several (dropout and attention on the CPU), their common caller stands for them, and in the backward pass the nodes of
autograd that this caller made.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from engine.costs.pytorch.call_tree import BACKWARD_PHASE, CallTree, MarkedSteps
from engine.costs.pytorch.op_families import BACKWARD_OF, BY_FIRST_TENSOR, COMPOSITES, FOREACH, family_of
from engine.costs.pytorch.recorded_calls import TensorShapes
from engine.costs.pytorch.trace_file import ArgumentShapes, list_of_tensors, tensors_of


@dataclass(frozen=True, slots=True)
class ProfiledOp:
    """An execution of an op."""

    type: str
    """as the trace has it"""
    family: str
    phase: str
    module: str
    """the profiler's name of its module; empty where the trace does not say it"""
    shapes: TensorShapes | None
    step: int
    start_us: float
    time_us: float


@dataclass(slots=True)
class ProfiledWork:
    """The ops of a trace."""

    ops: list[ProfiledOp] = field(default_factory=list)
    """those of recorded families, in the order in which they started"""
    others: list[tuple[str, float]] = field(default_factory=list)
    """type and time of other outermost ops"""
    total_us: float = 0.0
    """time of all outermost ops"""
    steps: int = 1
    """marked steps"""


@dataclass(slots=True)
class _Composite:
    """A caller that stands for one recorded op, and the nodes of autograd that it made."""

    first: int
    """number of the first node"""
    past: int
    """number of the first node after them"""
    family: str
    """of its backward op"""
    module: str
    backward: ProfiledOp | None = None
    """its backward op as found so far"""


def work_of(trees: Sequence[CallTree], families: Collection[str]) -> ProfiledWork:
    """The work in `trees`; `families`: those of the recorded ops."""
    steps = MarkedSteps.of(trees)
    work = ProfiledWork(steps=max(len(steps.starts_us), 1))
    module_of_node = _modules_of_nodes(trees)
    composites = _composites(trees, families)
    for tree in trees:
        taken = []
        for index, family in _chosen(tree, families, composites):
            step = steps.step_at(tree.spans[index].start_us)
            if step is not None:
                op = _op(tree, index, family, tree.modules[index] or module_of_node.get(tree.nodes[index], ""), step)
                parts = [op] if family in families else list(_split(op, tree.spans[index].shapes or ()))
                work.ops += parts
                taken += [index] * bool(parts)
        _add_outermost(work, tree, steps, taken, composites)
        _add_backward(tree, steps, composites)
    work.ops += [each.backward for each in composites if each.backward is not None and each.backward.family in families]
    if any(tree.is_on_gpu for tree in trees):
        work.ops = [op for op in work.ops if op.time_us > 0]  # the others launch nothing
    work.ops.sort(key=lambda op: op.start_us)
    return work


def _op(tree: CallTree, index: int, family: str, module: str, step: int) -> ProfiledOp:
    span, shapes = tree.spans[index], tensors_of(tree.spans[index].shapes)
    return ProfiledOp(
        tree.type_of(index),
        family,
        tree.phases[index],
        module,
        shapes[:1] if shapes is not None and family in BY_FIRST_TENSOR else shapes,
        step,
        span.start_us,
        tree.time_us(index),
    )


def _split(op: ProfiledOp, shapes: ArgumentShapes) -> Iterator[ProfiledOp]:
    """One op for each tensor of an op on lists of them, which was recorded so; the time goes by their sizes."""
    lists = [entry for entry in map(list_of_tensors, shapes) if entry]
    of_first = lists[0] if lists else ()
    sizes = [math.prod(shape) for shape in of_first]
    for number, size in enumerate(sizes):
        given = (entry[number] for entry in lists if len(entry) == len(of_first))
        yield replace(
            op,
            family=op.family.removeprefix(FOREACH),
            shapes=tuple(shape for shape in given if shape),
            time_us=op.time_us * size / max(sum(sizes), 1),
        )


def _chosen(tree: CallTree, families: Collection[str], composites: Sequence[_Composite]) -> Iterator[tuple[int, str]]:
    """Index and family of the outermost spans that stand for a recorded op."""
    index = 0
    while index < len(tree.spans):
        family = _family_chosen(tree, index, families)
        if family is not None:
            yield index, family
        is_whole = family is not None or _composite_of(tree, index, composites) is not None
        index = tree.past[index] if is_whole else index + 1


def _family_chosen(tree: CallTree, index: int, families: Collection[str]) -> str | None:
    if not tree.is_op(index):
        return None
    op_type = tree.type_of(index)
    family = family_of(op_type)
    if family in families:
        return family
    if op_type.startswith(FOREACH) and family.removeprefix(FOREACH) in families:
        return family
    whole = COMPOSITES.get(op_type)
    if whole is None or whole not in families or not tree.within(index):
        return None
    parts = (family_of(tree.type_of(inner)) for inner in tree.within(index) if tree.is_op(inner))
    return None if whole in parts else whole


def _modules_of_nodes(trees: Sequence[CallTree]) -> dict[int, str]:
    """Number of a node of autograd → the module in whose call it was made: that of the last op that names it."""
    modules: dict[int, str] = {}
    for tree in trees:
        for index, span in enumerate(tree.spans):
            if span.sequence is not None and tree.nodes[index] < 0 and tree.modules[index]:
                modules[span.sequence] = tree.modules[index]
    return modules


def _composites(trees: Sequence[CallTree], families: Collection[str]) -> list[_Composite]:
    """The callers whose nodes stand for a backward op, in the order of their nodes' numbers."""
    found: list[_Composite] = []
    for tree in trees:
        for index, family in _chosen(tree, families, ()):
            first = tree.spans[index].sequence
            if first is None or tree.type_of(index) not in COMPOSITES:
                continue
            rest = range(tree.past[index], len(tree.spans))
            later = (tree.spans[after].sequence for after in rest if tree.nodes[after] < 0)
            past = next((number for number in later if number is not None and number >= first), first + 1)
            found.append(_Composite(first, past, BACKWARD_OF[family], tree.modules[index]))
    return sorted(found, key=lambda each: each.first)


def _composite_of(tree: CallTree, index: int, composites: Sequence[_Composite]) -> _Composite | None:
    """The caller that made the node of autograd which this span runs; None for all other spans."""
    span = tree.spans[index]
    if not composites or tree.is_op(index) or tree.nodes[index] < 0 or span.sequence != tree.nodes[index]:
        return None
    if span.name.startswith("autograd::"):  # what it runs beside the node adds up gradients
        return None
    place = bisect_right(composites, span.sequence, key=lambda each: each.first) - 1
    return composites[place] if place >= 0 and span.sequence < composites[place].past else None


def _add_backward(tree: CallTree, steps: MarkedSteps, composites: Sequence[_Composite]) -> None:
    """Add the nodes in this thread to the backward ops of the callers that made them."""
    for index, span in enumerate(tree.spans):
        composite = _composite_of(tree, index, composites)
        step = steps.step_at(span.start_us)
        if composite is None or step is None:
            continue
        so_far = composite.backward
        if so_far is None:
            family, module = composite.family, composite.module
            so_far = ProfiledOp(family, family, BACKWARD_PHASE, module, None, step, span.start_us, 0.0)
        composite.backward = replace(so_far, time_us=so_far.time_us + tree.time_us(index))


def _add_outermost(
    work: ProfiledWork, tree: CallTree, steps: MarkedSteps, taken: Sequence[int], composites: Sequence[_Composite]
) -> None:
    """Add the time of the outermost ops, and those of which nothing was taken; `taken` is sorted."""
    index = 0
    while index < len(tree.spans):
        is_op, past = tree.is_op(index), tree.past[index]
        if not is_op and _composite_of(tree, index, composites) is None:
            index += 1
            continue
        if steps.step_at(tree.spans[index].start_us) is not None:
            work.total_us += tree.time_us(index)
            if is_op and bisect_left(taken, index) == bisect_left(taken, past):
                work.others.append((tree.type_of(index), tree.time_us(index)))
        index = past
