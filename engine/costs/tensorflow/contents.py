"""Finds what a step, above all its loops, puts into stacks, arrays and lists. Runs in the child.

A loop's gradient takes the activations of every trip from such containers: `StackV2` in TensorFlow 1, in TensorFlow 2 a
list that begins empty. A `TensorArrayV3` gathers the outputs of a dynamic recurrence, or hands out its inputs.

- **How much.** Each op that puts a tensor in adds its bytes times its trips. A tensor that is put in is not copied, so
  a buffer counts once: a variable never, what comes from outside a loop once, and what several containers hold, such as
  a state which the next trip takes again, in one of them, first in those that are popped. `Scatter`, `Split` and
  `Unpack` of an array copy.
- **Where and when.** The op that makes a stack or an array holds its contents, on its device, from then until the last
  op that takes it has ended. The contents are not among the bytes of a handle: a transfer of it does not count them.
  A list is a value: the op that begins to fill it, the Merge of the loop that does, holds the contents, and a list that
  crosses to another device takes its elements along, which are bytes of its output.

Source: tensorflow/core/kernels/stack.cc, tensor_array.h, list_kernels.h; the gradient of loops in
tensorflow/python/ops/control_flow_state.py and while_v2.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import PERSISTENT_BUFFER, THERE_ALWAYS
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import MERGES, NEXT_ITERATIONS

STACK_PUSHES = dict.fromkeys(("StackPush", "StackPushV2"), 1)
"""op type → the place, among its inputs, of the tensor that it puts into its container, its first input"""
PUSHES = STACK_PUSHES | dict.fromkeys(("TensorListPushBack", "TensorListPushBackBatch"), 1)
"""the same of ops that put a tensor on top"""
SETS = {"TensorListSetItem": 2}
"""the same of ops that put a tensor into a list that was made empty; else it has these bytes from the start"""
WRITES = dict.fromkeys(("TensorArrayWrite", "TensorArrayWriteV2", "TensorArrayWriteV3"), 2)
"""the same of ops that put a tensor into an array"""
COPIES = {
    **dict.fromkeys(("TensorArrayScatter", "TensorArrayScatterV2", "TensorArrayScatterV3"), 2),
    **dict.fromkeys(("TensorArraySplit", "TensorArraySplitV2", "TensorArraySplitV3", "TensorArrayUnpack"), 1),
}
"""the same of ops that put copies of parts of a tensor into an array"""
MOST_BYTES = 2**60
"""the most that one container holds"""
PUTS = PUSHES | SETS | WRITES | COPIES


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
    executed = [op for op in order if trips[op] > 0]
    puts = [put for put in _puts(nodes, executed, graph) if _adds(put, nodes, buffer_of_output)]
    inner = _inner_containers(puts, graph)
    outermost: dict[int, int] = {}
    counted: set[int] = set()
    for put in sorted(puts, key=lambda put: nodes[put.op].op not in PUSHES):
        op_type, times, container = nodes[put.op].op, int(trips[put.op]), put.container
        if graph.container(put.value) in inner:  # its contents count
            continue
        if op_type not in COPIES:
            made = graph.made(put.value)
            if made in counted or buffer_of_output[made] in THERE_ALWAYS:
                continue
            counted.add(made)
            times = min(times, int(trips[graph.owner[made]]))
        if op_type in PUSHES:
            container = _last(container, inner, outermost)
        if op_type not in STACK_PUSHES:  # each trip of a loop around it has an array or list of its own, and drops it
            times = max(1, times // max(1, min(int(trips[op]) for op in graph.makers(container))))
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
        self._sources = {output: source for output, source in enumerate(self._buffers) if source >= 0}
        self._containers: dict[int, int] = {}
        self._made: dict[int, int] = {}

    def input_of(self, op: int, place: int) -> int | None:
        """The output, among all, that an op takes at `place`; None if there is none, or it is not counted."""
        texts = self._nodes[op].input
        return self._output(texts[place]) if place < len(texts) else None

    def container(self, output: int) -> int:
        """The output that made the list or resource which `output` passes on."""
        return _last(output, self._sources, self._containers)

    def makers(self, container: int) -> list[int]:
        """The op that makes a container; of a list that a loop begins to fill, those that bring it into the loop."""
        op = self.owner[container]
        if self._nodes[op].op not in MERGES:
            return [op]
        sources = [self._index_of_name[producer_of(text)] for text in self._nodes[op].input]
        return [each for each in sources if self._nodes[each].op not in NEXT_ITERATIONS]

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
            source = self._index_of_name.get(producer_of(text))
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
        if place is None:
            continue
        container, value = graph.input_of(op, 0), graph.input_of(op, place)
        if container is not None and value is not None:
            yield _Put(op, graph.container(container), value)


def _adds(put: _Put, nodes: Sequence[Message], buffer_of_output: NDArray[np.int64]) -> bool:
    """Whether the container does not have the bytes from the start."""
    return nodes[put.op].op not in SETS or buffer_of_output[put.container] == PERSISTENT_BUFFER


def _inner_containers(puts: Sequence[_Put], graph: _Graph) -> Mapping[int, int]:
    """Container of an inner loop that is itself put into one of the outer loop → that one, which holds it as long."""
    containers = {put.container for put in puts}
    inner: dict[int, int] = {}
    for put in puts:
        value = graph.container(put.value)
        if value in containers and value != put.container:
            inner[value] = put.container
    return inner


def _last(start: int, following: Mapping[int, int], known: dict[int, int]) -> int:
    """The last one on the way from `start` along `following`; `known` keeps the answers."""
    passed: dict[int, None] = {}
    at = start
    while at not in known and at in following and at not in passed:
        passed[at] = None
        at = following[at]
    found = known.get(at, at)
    known.update(dict.fromkeys(passed, found))
    return found
