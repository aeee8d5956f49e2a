"""Finds what a step, above all its loops, puts into stacks, arrays and lists. Runs in the child.

A loop's gradient takes the activations of every trip from such containers: `StackV2` in TensorFlow 1, in TensorFlow 2 a
list that begins empty. A `TensorArrayV3` gathers the outputs of a dynamic recurrence, or hands out its inputs.

- **How much.** Each op that puts a tensor in adds its bytes times its trips. A tensor that is put in is not copied, so
  a buffer counts once: a variable never, what comes from outside a loop once, and what several containers hold, such as a
  state which the next trip takes again, in one of them, first in those that are popped. `Scatter`, `Split` and `Unpack`
  of an array copy.
- **Where and when.** The op that makes the container holds its contents, on its device, from then until the last op
  that takes the container has ended. The contents are not among the bytes of a handle: a transfer of it does not count
  them. A list that crosses to another device takes its elements along: these are bytes of its output.

Source: tensorflow/core/kernels/stack.cc, tensor_array.h, list_kernels.h; the gradient of loops in
tensorflow/python/ops/control_flow_state.py and while_v2.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import PERSISTENT_BUFFER
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import MERGES, NEXT_ITERATIONS

STACK_PUSHES = dict.fromkeys(("StackPush", "StackPushV2"), 1)
"""op type → the place, among its inputs, of the tensor that it puts into its container, its first input"""
PUSHES = STACK_PUSHES | dict.fromkeys(("TensorListPushBack", "TensorListPushBackBatch"), 1)
"""the same of ops that put a tensor on top"""
GROWING_SETS = {"TensorListSetItem": 2}
"""the same of ops that put a tensor into a list, where that grows; else the list has these bytes from the start"""
WRITES = dict.fromkeys(("TensorArrayWrite", "TensorArrayWriteV2", "TensorArrayWriteV3"), 2)
"""the same of ops that put a tensor into an array"""
COPIES = {
    **dict.fromkeys(("TensorArrayScatter", "TensorArrayScatterV2", "TensorArrayScatterV3"), 2),
    **dict.fromkeys(("TensorArraySplit", "TensorArraySplitV2", "TensorArraySplitV3", "TensorArrayUnpack"), 1),
}
"""the same of ops that put copies of parts of a tensor into an array"""
MOST_BYTES = 2**60
"""the most that one container holds"""
PUTS = PUSHES | GROWING_SETS | WRITES | COPIES
GROWS = "resize_if_index_out_of_bounds"


@dataclass(frozen=True, slots=True)
class _Put:
    """An op that puts a tensor into a container."""

    op: int
    container: int
    """the output, among all, that made the container"""
    value: int
    """the output that is put in"""


def contents_of_outputs(
    nodes: Sequence[Message],
    order: Sequence[int],
    output_offset: NDArray[np.int64],
    output_bytes: NDArray[np.int64],
    buffer_of_output: NDArray[np.int64],
    trips: NDArray[np.int64],
) -> NDArray[np.int64]:
    """[all outputs] as `Costs.contents_bytes`; `order` is a topological one, without the edges that close loops."""
    contents: dict[int, int] = {}
    if not any(node.op in PUTS for node in nodes):
        return np.zeros(len(output_bytes), dtype=np.int64)
    graph = _Graph(nodes, output_offset, buffer_of_output)
    puts = list(_puts(nodes, [op for op in order if trips[op] > 0], graph))
    inner = _inner_containers(puts, graph)
    counted: set[int] = set()
    for put in sorted(puts, key=lambda put: nodes[put.op].op not in PUSHES):
        op_type, times, container = nodes[put.op].op, int(trips[put.op]), put.container
        if graph.container(put.value) in inner:  # its contents count
            continue
        if op_type not in COPIES:
            made = graph.made(put.value)
            if made in counted or buffer_of_output[made] == PERSISTENT_BUFFER:
                continue
            counted.add(made)
            times = min(times, int(trips[graph.owner[made]]))
        if op_type in PUSHES:
            container = _outermost(container, inner)
        if op_type not in STACK_PUSHES:  # each trip around a loop has an array or list of its own, and drops it
            times = max(1, times // max(1, int(trips[graph.owner[container]])))
        contents[container] = contents.get(container, 0) + times * int(output_bytes[put.value])
    found = np.zeros(len(output_bytes), dtype=np.int64)
    for container, held in contents.items():
        found[container] = min(held, MOST_BYTES)
    return found


class _Graph:
    """Where outputs come from."""

    def __init__(
        self, nodes: Sequence[Message], output_offset: NDArray[np.int64], buffer_of_output: NDArray[np.int64]
    ) -> None:
        self._nodes, self._buffers = nodes, buffer_of_output.tolist()
        self._offset: list[int] = output_offset.tolist()
        self._index_of_name = {node.name: index for index, node in enumerate(nodes)}
        self.owner: list[int] = np.repeat(np.arange(len(nodes)), np.diff(output_offset)).tolist()
        """[all outputs] the op of each"""
        self._made: dict[int, int] = {}

    def input_of(self, op: int, place: int) -> int | None:
        """The output, among all, that an op takes at `place`; None if there is none, or it is not counted."""
        texts = self._nodes[op].input
        return self._output(texts[place]) if place < len(texts) else None

    def container(self, output: int) -> int:
        """The output that made the list or resource which `output` passes on."""
        while self._buffers[output] >= 0:
            output = self._buffers[output]
        return output

    def made(self, output: int) -> int:
        """The output that made the buffer of `output`: of a loop's variable in the body, from the second trip on.

        A variable that each trip passes on as it is has the buffer with which it enters.
        """
        passed: list[int] = []
        taken: set[int] = set()
        seen: set[int] = set()
        while output not in self._made:
            passed.append(output)
            later = self._next_trip(output)
            if later is not None and output not in taken:
                taken.add(output)
                output = later
            elif self._buffers[output] >= 0 and output not in seen:
                seen.add(output)
                output = self._buffers[output]
            else:
                break
        found = self._made.get(output, output)
        self._made.update(dict.fromkeys(passed, found))
        return found

    def _next_trip(self, output: int) -> int | None:
        """Of a loop's variable, the output that a trip hands to the next one."""
        op = self.owner[output]
        if self._nodes[op].op not in MERGES or output != self._offset[op]:
            return None
        for text in self._nodes[op].input:
            source = self._index_of_name.get(text.lstrip("^").partition(":")[0])
            if source is not None and self._nodes[source].op in NEXT_ITERATIONS:
                return self.input_of(source, 0)
        return None

    def _output(self, text: str) -> int | None:
        if text.startswith("^"):
            return None
        name, _, position = text.partition(":")
        op = self._index_of_name[name]
        index = self._offset[op] + int(position or 0)
        return index if index < self._offset[op + 1] else None


def _puts(nodes: Sequence[Message], executed: Sequence[int], graph: _Graph) -> Iterator[_Put]:
    for op in executed:
        node = nodes[op]
        place = PUTS.get(node.op)
        if place is None or (node.op in GROWING_SETS and not (GROWS in node.attr and node.attr[GROWS].b)):
            continue
        container, value = graph.input_of(op, 0), graph.input_of(op, place)
        if container is not None and value is not None:
            yield _Put(op, graph.container(container), value)


def _inner_containers(puts: Sequence[_Put], graph: _Graph) -> Mapping[int, int]:
    """Container of an inner loop that is itself put into one of the outer loop → that one, which holds it as long."""
    containers = {put.container for put in puts}
    inner: dict[int, int] = {}
    for put in puts:
        value = graph.container(put.value)
        if value in containers and value != put.container:
            inner[value] = put.container
    return inner


def _outermost(container: int, inner: Mapping[int, int]) -> int:
    seen = {container}
    while (outer := inner.get(container)) is not None and outer not in seen:
        seen.add(outer)
        container = outer
    return container
