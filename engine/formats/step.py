"""Reduces the graph of a file to the ops that a step runs. Runs in a child.

The placed file still has all ops of the file: those beside the step go where the ops are to which TensorFlow ties them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.graphs.colocation import colocation_classes, devices_of_classes
from engine.graphs.graph import ComputationGraph
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages
from engine.graphs.tensorflow.pruning import pruned, reduced
from engine.graphs.tensorflow.soft_placement import softly_placed
from engine.graphs.tensorflow.step_ops import Beside, step_ops


@dataclass(frozen=True, slots=True)
class WholeGraph:
    """All ops of a file, those of the step and those beside it."""

    messages: GraphMessages
    graph: ComputationGraph


@dataclass(frozen=True, slots=True)
class StepPart:
    """The ops that a step runs."""

    messages: GraphMessages
    graph: ComputationGraph
    whole: WholeGraph | None = None
    """None where the step runs all ops of the file"""
    notes: tuple[str, ...] = ()


def step_of(messages: GraphMessages, name: str, fetches: Sequence[str], fetched_by: str) -> StepPart:
    """The ops that `fetches` need, named by `fetched_by`; without fetches all but those that only prepare or save.

    Raises GraphError.
    """
    whole = graph_of_messages(messages, name)
    if fetches:
        part = pruned(messages, fetches)
        note = needed_note(len(messages.nodes), len(part.nodes), fetched_by)
    else:
        found = step_ops(whole)
        if found is None:
            return StepPart(messages, whole)
        part = reduced(messages, {each for each, runs in zip(whole.op_names, found.runs.tolist(), strict=True) if runs})
        note = _beside_note(whole.op_count, found.beside)
    if len(part.nodes) == len(messages.nodes):
        return StepPart(messages, whole, notes=(note,))
    graph = _tied_as_in(whole, graph_of_messages(part, name))
    return StepPart(part, graph, WholeGraph(messages, whole), (note,))


def needed_note(before: int, after: int, source: str) -> str:
    """A sentence on the ops that the step needs, which `source` names."""
    return f"{after:,} of the file's {before:,} ops were read: those that {source} needs."


def _beside_note(before: int, beside: dict[Beside, int]) -> str:
    """A sentence on the ops beside the step."""
    left_out = sum(beside.values())
    kinds = ", ".join(f"{count} {kind.value}" for kind, count in beside.items())
    return (
        f"Of the file's {before} ops {left_out} are beside the step and do not count: {kinds}. To choose the step "
        "yourself, name what it fetches (--fetch NAME, the field Fetches)."
    )


def _tied_as_in(whole: ComputationGraph, step: ComputationGraph) -> ComputationGraph:
    """`step` with the ties between its ops that only ops beside it make, with their devices and their needs.

    A need is that of a CPU or of a GPU; a device that does not meet it counts as not fixed, as in the whole graph.
    Raises GraphError where the file fixes tied ops to different devices.
    """
    class_of_op = colocation_classes(whole)
    devices_of_classes(whole, class_of_op)
    names = set(step.op_names)
    of_step = np.array([name in names for name in whole.op_names])
    beside = np.flatnonzero(~of_step).tolist()
    tied = set(class_of_op[beside].tolist())
    needs_cpu = {int(class_of_op[op]): whole.cpu_reason[op] for op in beside if whole.cpu_reason[op]}
    needs_gpu = {int(class_of_op[op]): whole.gpu_reason[op] for op in beside if whole.gpu_reason[op]}
    fixed = {int(class_of_op[op]): whole.devices[op] for op in beside if whole.devices[op]}
    first: dict[int, int] = {}
    pairs: list[tuple[int, int]] = []
    for_cpu, for_gpu, devices = list(step.cpu_reason), list(step.gpu_reason), list(step.devices)
    for op, class_ in enumerate(class_of_op[of_step].tolist()):
        if class_ not in tied:
            continue
        if (known := first.setdefault(class_, op)) != op:
            pairs.append((known, op))
        for_cpu[op] = for_cpu[op] or needs_cpu.get(class_, "")
        for_gpu[op] = for_gpu[op] or needs_gpu.get(class_, "")
        devices[op] = devices[op] or fixed.get(class_, "")
    all_pairs = np.array(sorted({*map(tuple, step.must_colocate.tolist()), *pairs}), dtype=np.int32).reshape(-1, 2)
    tied_step = replace(
        step, must_colocate=all_pairs, devices=tuple(devices), cpu_reason=tuple(for_cpu), gpu_reason=tuple(for_gpu)
    )
    return softly_placed(tied_step)
