"""The costs of an ONNX model's ops: operations and bytes by op type, element type and shapes; nothing is run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from engine.child.parent import ReportProgress
from engine.clusters.device_kinds import CATALOGUE, FLOAT_TYPES, FloatType
from engine.costs.cost_model import CostedGraph, GraphWithShapes
from engine.costs.costs import OWN_BUFFER, PERSISTENT_BUFFER, Costs, CostSource, time_by_peaks_us
from engine.costs.estimated import ESTIMATING
from engine.costs.layers import HeldParameters
from engine.costs.onnx import contributed, light, products
from engine.costs.onnx.execution import MisfitError, OnnxCount, OnnxExecution, OnnxTraffic
from engine.costs.onnx.known import ValueFacts
from engine.costs.onnx.walk import Findings, walked
from engine.costs.tensorflow.notes import notes_of
from engine.costs.unknown import Unknown
from engine.events import Json
from engine.graphs.onnx.onnx_graph import ABSENT, OnnxGraph, Op
from engine.graphs.onnx.own_types import INITIALIZER
from engine.graphs.onnx.tensors import FLOATS, MOST_BYTES, SMALL_FLOATS, SMALL_INTEGERS
from engine.graphs.reading_options import ReadingOptions

TRIED_BATCH = 8
"""the batch size of the trial that shows how much a batch size would help"""
MOST_WORK = 2**62
"""operations, or bytes, of one execution"""
OF_FORESTS = "ai.onnx.ml"
COUNTS = light.COUNTS | products.COUNTS
OF_CONTRIBUTED = {"FusedConv": products.COUNTS["Conv"], "FusedGemm": products.COUNTS["Gemm"]} | contributed.COUNTS
ARITHMETIC_TYPES = {
    TensorProto.FLOAT: FloatType.FLOAT32,
    TensorProto.DOUBLE: FloatType.FLOAT64,
    TensorProto.FLOAT16: FloatType.FLOAT16,
    TensorProto.BFLOAT16: FloatType.BFLOAT16,
}
IN_INTEGERS = frozenset({"QLinearConv", "QLinearMatMul", "MatMulInteger", "ConvInteger", "QGemm", "QAttention"})
"""op types whose products are of integers of 8 bits, which run at the peak of float16"""
NO_PARAMETERS = {
    "BatchNormalization": (3, 4),
    **dict.fromkeys(("DequantizeLinear", "QuantizeLinear", "Clip", "Resize"), (1, 2)),
    **dict.fromkeys(("QLinearConv", "QLinearMatMul"), (1, 2, 4, 5, 6, 7)),
    **dict.fromkeys(("MatMulInteger", "ConvInteger", "MatMulNBits", "DynamicQuantizeMatMul"), (2, 3)),
    "Pad": (2,),
}
"""op type → inputs with moments, scales, zero points and bounds, which are no parameters"""


@dataclass(frozen=True, slots=True)
class _Work:
    """One execution of an op."""

    flops: int = 0
    moved_bytes: int = 0
    unknown: Unknown = Unknown.NOT_SAID


class OnnxCosts:
    """The costs of an ONNX model, as a `CostModel`."""

    def __init__(self, graph: OnnxGraph, walk: Findings) -> None:
        self._graph, self._walk = graph, walk

    def costs_of(self, graph: GraphWithShapes, kinds: Sequence[str], report_progress: ReportProgress) -> CostedGraph:
        """The costs on each of the catalogue's `kinds`."""
        report_progress(ESTIMATING, 0, 0)
        works = [self._work(number, op) for number, op in enumerate(self._graph.ops)]
        taken = self._taken(works)
        trips = self._trips(taken)
        offset = np.cumsum([0, *(len(op.outputs) for op in self._graph.ops)], dtype=np.int64)
        flops = np.array([work.flops for work in works], dtype=np.int64)
        moved_bytes = np.array([work.moved_bytes for work in works], dtype=np.int64)
        float_type = np.array([self._float_type(op) for op in self._graph.ops], dtype=np.uint8)
        unknown = np.array([work.unknown for work in works], dtype=np.uint8)
        bounded = np.array([self._is_bounded(op) for op in self._graph.ops], dtype=np.bool_)
        source = np.where(bounded, CostSource.BOUNDED, CostSource.ESTIMATED)
        costs = Costs(
            kinds=tuple(kinds),
            time_us=np.array([time_by_peaks_us(flops, moved_bytes, float_type, CATALOGUE[kind]) for kind in kinds]),
            output_offset=offset,
            output_bytes=self._output_bytes(),
            persistent_bytes=np.array([self._held_bytes(op) for op in self._graph.ops], dtype=np.int64),
            temporary_bytes=np.zeros(len(works), dtype=np.int64),
            source=np.where(unknown > 0, CostSource.UNKNOWN, source).astype(np.uint8),
            unknown=unknown,
            flops=np.where(unknown > 0, 0, flops),
            trips=trips,
            moved_bytes=moved_bytes,
            float_type=float_type,
            buffer_of_output=self._buffers(offset),
            at_peaks=False,
        )
        return CostedGraph(
            costs,
            loops=tuple(self._loop_rows()),
            branches=tuple(self._branch_rows(taken)),
            sizes=(*self._walk.dimensions, *self._walk.sizes.values()),
            batch_helps=self._helped(graph.options, unknown),
            notes=tuple(notes_of(self._assumed(), 0, too_many=False)),
        )

    def _assumed(self) -> list[str]:
        """Names of the loops whose trips nobody knows."""
        return [self._graph.ops[op].name for op, (_, source) in self._walk.loops.items() if source == "assumed"]

    def _helped(self, options: ReadingOptions, unknown: NDArray[np.uint8]) -> tuple[int, ...]:
        """Number of ops whose unknown cost a batch size makes known, and number of all such ops; empty if it is 0."""
        if options.batch_size is not None or not unknown.any():
            return ()
        tried = OnnxCosts(self._graph, walked(self._graph, replace(options, batch_size=TRIED_BATCH)))
        left = sum(tried._work(number, op).unknown > 0 for number, op in enumerate(self._graph.ops))
        count = int(np.count_nonzero(unknown))
        return (count - left, count) if left < count else ()

    def _work(self, number: int, op: Op) -> _Work:
        """The work of one execution of an op, and why it is unknown, if it is."""
        inputs, outputs = self._walk.of(op.inputs), self._walk.of(op.outputs)
        if any(known is not None and known.bytes > MOST_BYTES for known in outputs):
            return _Work(unknown=Unknown.OVERFLOW)
        if op.node is None or op.regions:
            return _Work(unknown=_unknown_output(outputs))
        if self._walk.is_folded[number]:
            return _Work()
        execution = OnnxExecution(op.node, inputs, outputs, self._graph.versions.get(op.domain, 1))
        sizes = [[0 if known is None else known.bytes for known in each] for each in (inputs, outputs)]
        count, traffic = _count_of(op), light.TRAFFIC.get(op.type, light.everything)
        try:
            flops, moved = self._counted(op, execution, count, traffic, sizes)
        except (MisfitError, IndexError, ValueError, OverflowError, ZeroDivisionError):
            flops, moved = None, light.everything(execution, *sizes)
        if moved > MOST_WORK or (flops or 0) > MOST_WORK:
            return _Work(unknown=Unknown.OVERFLOW)
        if count is None:
            return _Work(0, moved, Unknown.ARITHMETIC)
        if reason := _unknown_output(outputs):
            is_later = reason == Unknown.OUTPUT_SHAPE and any(_lacks_shape(known) for known in inputs)
            return _Work(0, moved, Unknown.INPUT_SHAPE if is_later else reason)
        if any(_lacks_shape(known) for known in inputs):
            return _Work(0, moved, Unknown.INPUT_SHAPE)
        return _Work(0, moved, Unknown.ARITHMETIC) if flops is None else _Work(flops, moved)

    def _counted(
        self,
        op: Op,
        execution: OnnxExecution,
        count: OnnxCount | None,
        traffic: OnnxTraffic,
        sizes: Sequence[Sequence[int]],
    ) -> tuple[int | None, int]:
        """Operations and bytes. Raises MisfitError."""
        if self._is_view(op):
            return 0, 0
        moved = traffic(execution, *sizes)
        if op.domain == OF_FORESTS and op.node is not None:
            moved += op.node.ByteSize()
        return None if count is None else count(execution), moved

    def _is_view(self, op: Op) -> bool:
        """Whether the first output is the first input's memory."""
        if op.domain:
            return False
        if op.type == "Dropout":
            training = self._walk.of(op.inputs[2:3])
            content = training[0].content if training and training[0] is not None else None
            return not training or (content is not None and not content.any())
        return op.type in light.VIEWS

    def _float_type(self, op: Op) -> int:
        """The index of the type of an op's arithmetic. ONNX Runtime's products of float32 round to TensorFloat-32."""
        if op.type in IN_INTEGERS:
            return FLOAT_TYPES.index(FloatType.FLOAT16)
        for known in (*self._walk.of(op.outputs), *self._walk.of(op.inputs)):
            if known is not None and known.type in ARITHMETIC_TYPES:
                found = ARITHMETIC_TYPES[known.type]  # type: ignore[index]  # the line above
                rounds = found == FloatType.FLOAT32 and op.type in products.COUNTS
                return FLOAT_TYPES.index(FloatType.TENSORFLOAT32 if rounds else found)
            if known is not None and known.type in SMALL_FLOATS:
                return FLOAT_TYPES.index(FloatType.FLOAT16)
        return 0

    def _is_bounded(self, op: Op) -> bool:
        return any(
            known is not None and known.is_bounded for known in (*self._walk.of(op.inputs), *self._walk.of(op.outputs))
        )

    def _output_bytes(self) -> NDArray[np.int64]:
        """[all outputs] their bytes."""
        values = [known for op in self._graph.ops for known in self._walk.of(op.outputs)]
        most = min(MOST_BYTES, MOST_WORK // max(len(values), 1))
        return np.array([0 if known is None else min(known.bytes, most) for known in values], dtype=np.int64)

    def _held_bytes(self, op: Op) -> int:
        """Bytes of the initialisers that an op holds."""
        values = [self._graph.values[value] for value in self._held_values(op)]
        own = op.node.ByteSize() if op.domain == OF_FORESTS and op.node is not None else 0
        return own + sum(value.tensor.bytes for value in values if value.tensor is not None)

    def _held_values(self, op: Op) -> Iterable[int]:
        """The values with initialisers that an op holds."""
        if op.type == INITIALIZER and op.node is None:
            return op.outputs
        values = self._graph.values
        return [
            value
            for value in dict.fromkeys(op.inputs)
            if value != ABSENT and values[value].tensor is not None and values[value].op == ABSENT
        ]

    def _buffers(self, offset: NDArray[np.int64]) -> NDArray[np.int64]:
        """[all outputs] the buffers that views pass on, as `Costs` has them."""
        buffers = np.full(int(offset[-1]), OWN_BUFFER, dtype=np.int64)
        for number, op in enumerate(self._graph.ops):
            first = int(offset[number])
            if op.type == INITIALIZER and op.node is None:
                buffers[first] = PERSISTENT_BUFFER
            elif op.node is not None and op.inputs and op.outputs and self._is_view(op):
                source = self._graph.source_of(op.inputs[0])
                if source == ABSENT or self._walk.is_folded[number]:
                    continue
                value = self._graph.values[source]
                if value.op == ABSENT and value.tensor is not None:
                    buffers[first] = PERSISTENT_BUFFER
                elif value.op != ABSENT and self._is_beside(value.op, op):
                    buffers[first] = int(offset[value.op]) + value.output
        return buffers

    def _is_beside(self, source: int, op: Op) -> bool:
        """Whether `op` runs as often as the op `source`, and has an edge from it."""
        return self._graph.ops[source].region == op.region and not self._walk.is_folded[source]

    def _taken(self, works: Sequence[_Work]) -> dict[int, int]:
        """If → the side that counts: the one of its condition, else the one with more work."""
        found = {}
        for branch in self._walk.branches:
            sides = self._graph.ops[branch.op].regions
            found[branch.op] = branch.taken if branch.taken is not None else _costlier(self, sides, works)
        return found

    def work_of_region(self, region: int, works: Sequence[_Work]) -> tuple[int, int]:
        """Operations and bytes of a body, with those in it."""
        flops = moved = 0
        for number in self._inside(region):
            executions = max(self._walk.trips[number], 1)
            flops += works[number].flops * executions
            moved += works[number].moved_bytes * executions
        return flops, moved

    def _inside(self, region: int) -> Iterable[int]:
        """The ops of a body, those of bodies in it too."""
        for number in self._graph.regions[region].ops:
            yield number
            for inner in self._graph.ops[number].regions:
                yield from self._inside(inner)

    def _trips(self, taken: dict[int, int]) -> NDArray[np.int64]:
        """[ops] executions in a step: none on a side that is not taken."""
        trips = np.array(self._walk.trips, dtype=np.int64)
        for op, side in taken.items():
            for other, region in enumerate(self._graph.ops[op].regions):
                if other != side:
                    trips[list(self._inside(region))] = 0
        return trips

    def _loop_rows(self) -> Iterable[dict[str, Json]]:
        for op, (trips, source) in self._walk.loops.items():
            inside = sum(1 for region in self._graph.ops[op].regions for _ in self._inside(region))
            yield {"name": self._graph.ops[op].name, "trips": trips, "source": source, "ops": inside}

    def _branch_rows(self, taken: dict[int, int]) -> Iterable[dict[str, Json]]:
        for op, side in taken.items():
            sizes = [sum(1 for _ in self._inside(region)) for region in self._graph.ops[op].regions]
            yield {
                "name": self._graph.ops[op].name,
                "taken": ("then", "else")[side],
                "ops": sum(sizes),
                "ops_not_taken": sum(sizes) - sizes[side],
            }

    def held(self) -> HeldParameters:
        """The parameters of each op: an initialiser counts once, at its first reader."""
        count = len(self._graph.ops)
        variables, constants = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        counted: set[int] = set()
        for number, op in enumerate(self._graph.ops):
            for value in self._held_values(op):
                if value in counted:
                    continue
                counted.add(value)
                elements, is_parameter = self._elements(op, value)
                (variables if is_parameter else constants)[number] += elements
        return HeldParameters(variables, constants)

    def _elements(self, op: Op, value: int) -> tuple[int, bool]:
        """The numbers in an initialiser that count, and whether they are parameters."""
        each = self._graph.values[value]
        assert each.tensor is not None
        excluded = NO_PARAMETERS.get(op.type, ())
        is_excluded = all(position in excluded for position, read in enumerate(op.inputs) if read == value)
        is_excluded = is_excluded and value in op.inputs
        if op.type == "MatMulNBits" and op.node is not None and op.inputs[1:2] == [value]:
            execution = OnnxExecution(op.node, [], [])
            elements = execution.number("N", 0) * execution.number("K", 0)
            return min(max(elements, 0), MOST_BYTES), True
        is_quantised = each.tensor.type in SMALL_INTEGERS | SMALL_FLOATS and len(each.tensor.shape) > 1
        if each.tensor.type not in FLOATS and not (is_quantised and not is_excluded):
            return 0, False
        return each.tensor.elements, bool(each.tensor.shape) and not is_excluded and not each.is_constant


def _costlier(costs: OnnxCosts, regions: Sequence[int], works: Sequence[_Work]) -> int:
    sides = [costs.work_of_region(region, works) for region in regions]
    return max(range(len(sides)), key=lambda side: (sides[side], -side))


def _count_of(op: Op) -> OnnxCount | None:
    if op.domain in contributed.DOMAINS:
        return OF_CONTRIBUTED.get(op.type)
    if op.domain == "" and op.type not in COUNTS:  # some of ONNX Runtime's operators stand in ONNX's own domain
        return OF_CONTRIBUTED.get(op.type)
    return COUNTS.get(op.type) if op.domain in ("", OF_FORESTS) else None


def _lacks_shape(known: ValueFacts | None) -> bool:
    return known is not None and known.other is None and known.shape is None


def _unknown_output(outputs: Sequence[ValueFacts | None]) -> Unknown:
    """Why the bytes of an output are not known; `NOT_SAID` where they are."""
    for known in outputs:
        if known is None:
            continue
        if known.other is not None:
            return Unknown.CONTENT
        if known.type == TensorProto.STRING:
            return Unknown.TEXT
        if known.shape is None or not known.type:
            return Unknown.OUTPUT_SHAPE
    return Unknown.NOT_SAID
