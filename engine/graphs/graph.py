"""The computation graph: ops and the data that flows between them, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engine.errors import GraphError

CONTROL = -1
"""The `edge_output` of a control edge: an order without data."""
PHASES = ("", "forward", "backward", "optimizer")
"""the parts of a training step, in the order of their numbers in `ComputationGraph.phase`; empty: not said"""
NOT_SAID, FORWARD, BACKWARD, OPTIMIZER = range(4)
"""ops of the phase `OPTIMIZER` run on a device when its others have ended, and give nothing to ops of other phases"""


def no_pairs() -> NDArray[np.int32]:
    """An empty array of pairs, [0, 2]."""
    return np.empty((0, 2), dtype=np.int32)


def no_phases() -> NDArray[np.uint8]:
    """An empty array, [0]."""
    return np.empty(0, dtype=np.uint8)


def no_marks() -> NDArray[np.bool_]:
    """An empty array, [0]."""
    return np.empty(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class ComputationGraph:
    """Ops in the order of the file, and the edges between them; acyclic, since `back_edges` holds those of loops.

    Arrays are read-only. An index names an op; `op_names` are unique and untrusted text.
    """

    name: str
    op_names: tuple[str, ...]
    """[ops] unique names"""
    op_types: tuple[str, ...]
    """[ops] the op's type, such as `Conv2D`; empty where the format has none"""
    edge_source: NDArray[np.int32]
    """[edges] producer; edges are in file order: by consumer, then by the consumer's own order of inputs"""
    edge_target: NDArray[np.int32]
    """[edges] consumer"""
    edge_output: NDArray[np.int32]
    """[edges] index of the producer's output, or `CONTROL`"""
    devices: tuple[str, ...]
    """[ops] the device string that the file fixes, or empty; empty for the ops that TensorFlow moves, without type and
    number for the `unfixed_ops`"""
    colocation: tuple[tuple[str, ...], ...]
    """[ops] labels; ops that share a label stay together (`loc:@x`, the label x; an op named x belongs to it)"""
    back_edges: NDArray[np.int32]
    """[back edges, 2] NextIteration → Merge of while loops: (source, target); they run in the next iteration"""
    must_colocate: NDArray[np.int32] = field(default_factory=no_pairs)
    """[pairs, 2] ops that the format itself keeps on one device beside the labels: the two ends of a ref or resource
    edge, the ops of one loop variable; each pair once, in no particular direction"""
    cpu_reason: tuple[str, ...] = ()
    """[ops] why no GPU can run the op, as the end of a sentence; empty where one can, or where this is unknown"""
    moved_ops: int = 0
    """number of ops fixed by the file to another device than the resource that they use; TensorFlow moves them to it"""
    moved_in_control_flow: tuple[str, ...] = ()
    """the devices to which TensorFlow moves ops from those that the file fixes, because loops and conditions tie them
    to other ops; one for each op"""
    wide_enters: tuple[str, ...] = ()
    """names of Enters of loops with so many consumers that all of them must share a device"""
    gpu_reason: tuple[str, ...] = ()
    """[ops] why no CPU can run the op, as the end of a sentence; empty where one can, or where this is unknown"""
    unfixed_ops: int = 0
    """number of ops fixed by the file to a GPU or CPU that cannot run them, or an op that must share their device; they
    count as not fixed, as with TensorFlow's soft placement"""
    phase: NDArray[np.uint8] = field(default_factory=no_phases)
    """[ops] the part of the step to which each belongs, an index of `PHASES`; or [0]: not said"""
    waiting_weights: NDArray[np.bool_] = field(default_factory=no_marks)
    """[ops] whether the op holds weights that may wait on another device than the ops that take them, so that it is
    never grouped with these; or [0]: none may"""
    constraints: tuple[str, ...] = ()
    """rules of the file that every placement keeps, as `engine.graphs.constraints` reads them"""

    def __post_init__(self) -> None:
        ops = len(self.op_names)
        if ops == 0:
            raise GraphError("the graph has no ops", where=self.name, allowed="at least one op")
        if len(set(self.op_names)) != ops:
            raise GraphError("two ops have one name", where=_first_duplicate(self.op_names), allowed="unique names")
        for reasons in ("cpu_reason", "gpu_reason"):
            if not getattr(self, reasons):
                object.__setattr__(self, reasons, ("",) * ops)
        assert len(self.op_types) == len(self.devices) == len(self.colocation) == ops
        assert len(self.cpu_reason) == len(self.gpu_reason) == ops
        assert {len(self.phase), len(self.waiting_weights)} <= {0, ops}
        assert len(self.edge_source) == len(self.edge_target) == len(self.edge_output)
        assert self.back_edges.shape[1:] == self.must_colocate.shape[1:] == (2,)
        for array in (
            *(self.edge_source, self.edge_target, self.edge_output),
            *(self.back_edges, self.must_colocate, self.phase, self.waiting_weights),
        ):
            array.setflags(write=False)

    @property
    def needs_cpu(self) -> NDArray[np.bool_]:
        """[ops] whether no GPU can run the op."""
        return np.array([bool(reason) for reason in self.cpu_reason])

    @property
    def needs_gpu(self) -> NDArray[np.bool_]:
        """[ops] whether no CPU can run the op."""
        return np.array([bool(reason) for reason in self.gpu_reason])

    @property
    def op_count(self) -> int:
        return len(self.op_names)

    @property
    def edge_count(self) -> int:
        return len(self.edge_source)


def with_edges(graph: ComputationGraph, edges: Sequence[tuple[int, int, int]]) -> ComputationGraph:
    """`graph` with further (source, target, output), each behind its consumer's other inputs."""
    if not edges:
        return graph
    added = np.array(edges, dtype=np.int32)
    source, target, output = (
        np.concatenate((old, new))
        for old, new in zip((graph.edge_source, graph.edge_target, graph.edge_output), added.T, strict=True)
    )
    by_consumer = np.argsort(target, kind="stable")
    return replace(
        graph,
        edge_source=source[by_consumer],
        edge_target=target[by_consumer],
        edge_output=output[by_consumer],
    )


def _first_duplicate(names: tuple[str, ...]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise AssertionError("no duplicate")
