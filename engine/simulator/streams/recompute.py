"""Stages that run again before their backward pass: a placed graph with the recomputed ops as ops of their own.

An op of the forward pass runs again on its device if the backward pass there needs what it gives, itself or through
others that run again. The copy belongs to the backward pass. It takes what runs again on its device from the copies,
and all else from the first time: what came from other devices, weights, and what is fed. So of each micro-batch in
flight only that is held. A signal of the op lets its copy wait for it. Copies begin as soon as their device comes to
the backward block, also before the gradients arrive, as GPipe has it (Huang et al. 2019, section 2.3).

Source: Chen, Xu, Zhang, Guestrin, Training deep nets with sublinear memory cost, 2016.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import OWN_BUFFER, STEP_BUFFER, Costs
from engine.errors import SettingsError, shortened
from engine.graphs.graph import BACKWARD, CONTROL, ComputationGraph, with_edges

Text = TypeVar("Text")
SUFFIX = " (again)"
"""behind the name of a recomputed op"""


def require_no_loops(graph: ComputationGraph) -> None:
    """Raise SettingsError for a graph with loops, whose passes are not run again."""
    if len(graph.back_edges):
        loop = shortened(graph.op_names[int(graph.back_edges[0, 1])])
        what = f"the loop at {loop} cannot run again"
        raise SettingsError(what, where="recompute", allowed="none for a graph with loops", field="recompute")


def with_recomputed(
    graph: ComputationGraph,
    costs: Costs,
    phase: NDArray[np.uint8],
    is_again: NDArray[np.bool_],
    device_of_op: NDArray[np.integer],
) -> tuple[ComputationGraph, Costs]:
    """`graph` and `costs` with a copy of each op that `is_again` [ops], behind the others in the same order.

    `phase` and `device_of_op` are [ops]; a copy goes where its op is.
    """
    ops = graph.op_count
    copied = np.flatnonzero(is_again)
    number = np.arange(ops)
    number[copied] = ops + np.arange(len(copied))
    """[ops] the copy of each, or itself"""
    wide = np.concatenate((np.arange(ops), copied))
    source, target = graph.edge_source, graph.edge_target
    is_here, for_copy = device_of_op[source] == device_of_op[target], is_again[target]
    from_copy = np.where(is_here, number[source], source).astype(np.int32)

    def of_ops(texts: Sequence[Text]) -> tuple[Text, ...]:
        return (*texts, *(texts[op] for op in copied.tolist()))

    changed = dataclasses.replace(
        graph,
        op_names=(*graph.op_names, *_names(graph, copied)),
        op_types=of_ops(graph.op_types),
        edge_source=np.concatenate((np.where(phase[target] == BACKWARD, from_copy, source), from_copy[for_copy])),
        edge_target=np.concatenate((target, number[target[for_copy]])).astype(np.int32),
        edge_output=np.concatenate((graph.edge_output, graph.edge_output[for_copy])),
        devices=of_ops(graph.devices),
        colocation=of_ops(graph.colocation),
        cpu_reason=of_ops(graph.cpu_reason),
        gpu_reason=of_ops(graph.gpu_reason),
        phase=np.concatenate((phase, np.full(len(copied), BACKWARD, np.uint8))),
        waiting_weights=graph.waiting_weights[wide] if len(graph.waiting_weights) else graph.waiting_weights,
    )
    signals = [(op, copy, CONTROL) for op, copy in zip(copied.tolist(), number[copied].tolist(), strict=True)]
    return with_edges(changed, signals), _costs(costs, phase, number, copied, device_of_op)


def _names(graph: ComputationGraph, copied: NDArray[np.int64]) -> list[str]:
    """[copies] unique names."""
    suffix, taken = SUFFIX, set(graph.op_names)
    while any(graph.op_names[op] + suffix in taken for op in copied.tolist()):
        suffix += SUFFIX
    return [graph.op_names[op] + suffix for op in copied.tolist()]


def _costs(
    costs: Costs,
    phase: NDArray[np.uint8],
    number: NDArray[np.int64],
    copied: NDArray[np.int64],
    device_of_op: NDArray[np.integer],
) -> Costs:
    ops = len(phase)
    wide = np.concatenate((np.arange(ops), copied))
    sizes = np.diff(costs.output_offset)
    offset = np.concatenate(([0], np.cumsum(sizes[wide]))).astype(np.int64)
    owner = np.repeat(np.arange(ops), sizes)
    outputs = np.concatenate((np.arange(len(owner)), np.flatnonzero(number[owner] >= ops)))
    """[new outputs] the output of `costs` that each is like"""
    copy_of_output = offset[number[owner]] + np.arange(len(owner)) - costs.output_offset[owner]
    buffers = costs.buffers()
    passes = buffers >= 0
    given_by = owner[np.maximum(buffers, 0)]
    is_here = device_of_op[given_by] == device_of_op[owner]
    again = np.where(passes & is_here, copy_of_output[np.maximum(buffers, 0)], buffers)
    of_old = np.where(phase[owner] == BACKWARD, again, buffers)
    of_new = np.where(again == STEP_BUFFER, OWN_BUFFER, again)[outputs[len(owner) :]]
    names = ("time_us", "temporary_bytes", "source", "unknown", "flops", "trips", "moved_bytes", "float_type")
    of_ops: dict[str, Any] = {name: getattr(costs, name) for name in (*names, "type_of_op", "measured_us", "launches")}
    return dataclasses.replace(
        costs,
        output_offset=offset,
        output_bytes=costs.output_bytes[outputs],
        contents_bytes=costs.contents_bytes[outputs] if len(costs.contents_bytes) else costs.contents_bytes,
        buffer_of_output=np.concatenate((of_old, of_new)) if len(costs.buffer_of_output) else costs.buffer_of_output,
        persistent_bytes=np.concatenate((costs.persistent_bytes, np.zeros(len(copied), np.int64))),
        **{name: values[..., wide] if values.shape[-1] else values for name, values in of_ops.items()},
    )
