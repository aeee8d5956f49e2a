"""The spans of one thread as a tree: what ran within what, in which phase, module and step."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from engine.costs.pytorch.trace_file import ANNOTATION, FIELD, MODULE, OP, OPTIMIZER_STEP, PYTHON, STEP, Span, Trace
from engine.errors import GraphError
from engine.graphs.graph import PHASES

BACKWARD_NODE = "autograd::engine::evaluate_function"
"""the span of a node of autograd that runs"""
NAMESPACE = "aten::"
_, FORWARD_PHASE, BACKWARD_PHASE, OPTIMIZER_PHASE = PHASES
MOST_STEPS = 1000
_STEP = re.compile(re.escape(STEP) + r"[0-9]{1,18}\Z")


@dataclass(frozen=True, slots=True)
class CallTree:
    """Spans in the order of their starts, outer ones first. All lists are [spans]."""

    spans: Sequence[Span]
    past: Sequence[int]
    """the first span that is not within this one"""
    phases: Sequence[str]
    modules: Sequence[str]
    """the profiler's name of the module in whose call it ran, empty where the trace does not say it"""
    nodes: Sequence[int]
    """the number of the node of autograd within which it ran, -1 outside of the backward pass"""
    times_before_us: Sequence[float]
    """[spans + 1] time on a GPU of all spans before this one"""
    is_on_gpu: bool

    def time_us(self, index: int) -> float:
        """The time of a span and all within it: on the GPU where there is one, else on the CPU."""
        if self.is_on_gpu:
            return self.times_before_us[self.past[index]] - self.times_before_us[index]
        span = self.spans[index]
        return span.end_us - span.start_us

    def is_op(self, index: int) -> bool:
        """Whether the span is an op, and no node of autograd and no mark."""
        span = self.spans[index]
        return span.category == OP and "::" in span.name and not span.name.startswith(("autograd::", "torch::autograd"))

    def type_of(self, index: int) -> str:
        """The op's type, as recordings have it."""
        return self.spans[index].name.removeprefix(NAMESPACE)

    def within(self, index: int) -> range:
        """The spans within a span."""
        return range(index + 1, self.past[index])


def trees_of(trace: Trace) -> list[CallTree]:
    """A tree for each thread."""
    return [_tree(spans, trace) for spans in trace.threads]


def _tree(spans: Sequence[Span], trace: Trace) -> CallTree:
    ordered = sorted(spans, key=lambda span: (span.start_us, -span.end_us))
    past = [len(ordered)] * len(ordered)
    phases: list[str] = []
    modules: list[str] = []
    nodes: list[int] = []
    times_before = [0.0]
    open_spans: list[int] = []
    for index, span in enumerate(ordered):
        while open_spans and ordered[open_spans[-1]].end_us <= span.start_us:
            past[open_spans.pop()] = index
        outer = open_spans[-1] if open_spans else None
        phase, module, node = FORWARD_PHASE, "", -1
        if outer is not None:
            phase, module, node = phases[outer], modules[outer], nodes[outer]
        if span.category == ANNOTATION and span.name.startswith(OPTIMIZER_STEP):
            phase = OPTIMIZER_PHASE
        elif span.category == PYTHON:
            module = span.name.removeprefix(MODULE)
        elif span.name.startswith(BACKWARD_NODE):
            phase, module, node = BACKWARD_PHASE, "", -1 if span.sequence is None else span.sequence
        phases.append(phase)
        modules.append(module)
        nodes.append(node)
        launched = 0.0
        if trace.device_us is not None and span.external_id is not None and span.category == OP:
            launched = trace.device_us.get(span.external_id, 0.0)
        times_before.append(times_before[-1] + launched)
        open_spans.append(index)
    return CallTree(ordered, past, phases, modules, nodes, times_before, trace.device_us is not None)


def require_few_steps(steps: int) -> None:
    """Raise GraphError for more than `MOST_STEPS`."""
    if steps > MOST_STEPS:
        raise GraphError(f"the trace has {steps} steps", allowed=f"at most {MOST_STEPS}", field=FIELD)


@dataclass(frozen=True, slots=True)
class MarkedSteps:
    """The marks of steps in a trace."""

    starts_us: Sequence[float]
    ends_us: Sequence[float]

    @staticmethod
    def of(trees: Sequence[CallTree]) -> "MarkedSteps":
        """The marks in all threads."""
        marks = sorted(
            (span.start_us, span.end_us)
            for tree in trees
            for span in tree.spans
            if span.category == ANNOTATION and _STEP.match(span.name)
        )
        require_few_steps(len(marks))
        return MarkedSteps([start for start, _ in marks], [end for _, end in marks])

    def step_at(self, start_us: float) -> int | None:
        """The step in which something started; None outside of all. Without marks all is step 0."""
        if not self.starts_us:
            return 0
        step = bisect_right(self.starts_us, start_us) - 1
        return step if step >= 0 and start_us < self.ends_us[step] else None
