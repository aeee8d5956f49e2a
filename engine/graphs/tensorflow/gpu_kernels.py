"""Finds the ops that no GPU can run, and why, from a table of TensorFlow's kernels, without loading TensorFlow.

A kernel for GPUs counts also where some of its inputs and outputs lie in the host's memory (shapes, small integers,
handles): TensorFlow places such an op on the GPU, and moves nothing. So an Add of int32 may go to a GPU, but a variable
of int32 may not. An op without a kernel for CPUs is the matter of `cpu_kernels.py`; an op of a type that is not
TensorFlow's own counts as able to run anywhere.
"""

from collections.abc import Sequence

from engine.graphs.tensorflow.compiled_modules import platforms_of, reason_of_platforms
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.kernel_tables import GPU_TABLE, has_kernel, kernels_of, refused_types
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import REFS_FROM

STRING = 7
GPU_PLATFORMS = frozenset({"CUDA", "ROCM", "GPU"})

NO_KERNEL = "TensorFlow has no GPU kernel for it"
_REASONS = (
    (("Summary",), "it writes summaries"),
    (("Table", "Vocab"), "it works on a lookup table"),
    (("Queue", "Barrier", "Accumulator", "Stage", "RecordInput"), "it works on a queue"),
    (("Dataset", "Iterator"), "it belongs to a data pipeline"),
    (("Reader", "ReadFile", "WriteFile", "Files", "Save", "Restore", "Checkpoint"), "it reads or writes files"),
    (("PyFunc",), "it calls Python"),
    (("Print",), "it prints"),
    (("Decode", "Encode", "Parse"), "it decodes or encodes data"),
)
"""(parts of op types, what such an op does); the first row that fits counts"""
_STRINGS = "it works on strings"


def cpu_reasons(nodes: Sequence[Message], types: NodeTypes) -> tuple[str, ...]:
    """[nodes] why no GPU can run the node; empty where one can."""
    table = kernels_of(GPU_TABLE)
    return tuple(
        _reason_of_module(node) if has_kernel(node, table.get(node.op)) else _reason(node, types, index)
        for index, node in enumerate(nodes)
    )


def _reason_of_module(node: Message) -> str:
    """The reason in a module that the node holds compiled; empty where there is none."""
    platforms = platforms_of(node)
    return reason_of_platforms(platforms) if platforms and GPU_PLATFORMS.isdisjoint(platforms) else ""


def _reason(node: Message, types: NodeTypes, index: int) -> str:
    """The reason why no GPU can run the node, which has no kernel for one."""
    for parts, reason in _REASONS:
        if any(part in node.op for part in parts):
            return reason
    used = [*(types.inputs[index] or ()), *(types.outputs[index] or ())]
    if any(number % REFS_FROM == STRING for number in used):
        return _STRINGS
    refused = refused_types(node, kernels_of(GPU_TABLE)[node.op])
    return f"{NO_KERNEL} on {refused}" if refused else NO_KERNEL
