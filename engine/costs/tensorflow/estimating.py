"""Estimate the costs of a whole graph. Importing this loads TensorFlow.

First TensorFlow's estimator gets the graph and infers shapes. If shapes stay open, or the graph has a loop, a condition
or an op that the estimator does not know, `evaluation/` evaluates the graph, and `isolated.py` costs the ops that this
makes known, one by one. Nothing of the graph is run.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tensorflow.core.framework import types_pb2

from engine.child.parent import ReportProgress
from engine.clusters.device_kinds import CATALOGUE
from engine.costs.arithmetic import ALWAYS_OURS
from engine.costs.cost_model import CostedGraph
from engine.costs.costs import Costs, CostSource, no_reasons, time_by_peaks_us
from engine.costs.tensorflow.annotated_shapes import AnnotatedShapes, Properties, add_annotated_shapes
from engine.costs.tensorflow.contents import contents_of_outputs
from engine.costs.tensorflow.correcting import correct_operations
from engine.costs.tensorflow.float_types import float_types
from engine.costs.tensorflow.grappler import Work, item_of, nothing_known, require_importable, work_of
from engine.costs.tensorflow.grappler import asked as asked_tensorflow
from engine.costs.tensorflow.handles import passed_on
from engine.costs.tensorflow.inference.asking import ShapeFunctions
from engine.costs.tensorflow.inference.branches import Branch, branches_of, sides_of_ops
from engine.costs.tensorflow.inference.known import Items, Known, is_known, shape_of_message
from engine.costs.tensorflow.inference.plan import plan_of
from engine.costs.tensorflow.inference.queries import Calls, Query, query_of
from engine.costs.tensorflow.inference.walk import Evaluation, evaluate
from engine.costs.tensorflow.input_shapes import ITERATORS, declared_shape, given_shapes
from engine.costs.tensorflow.isolated import OpWork, summed, works_of
from engine.costs.tensorflow.notes import notes_of
from engine.costs.tensorflow.placeholders import GraphToCost, graph_to_cost, replace_feeds
from engine.costs.tensorflow.shapes import OutputShapes, inferred_outputs, least_bytes, output_shapes
from engine.costs.tensorflow.shared_buffers import buffers_of_outputs
from engine.costs.tensorflow.work_of_types import hidden_work
from engine.costs.unknown import HIDDEN, Unknown
from engine.errors import CostError, SettingsError, shortened
from engine.events import Json
from engine.graphs.reading_options import ReadingOptions, shape_words
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.must_colocate import shared_resource
from engine.graphs.tensorflow.op_types import ENTERS, HANDLES, INPUTS, READS, VARIABLES

HANDLE_TYPES = {"Placeholder": "dtype", "_Arg": "T"}
"""type of an op that is fed → its attribute with the type of what it gets"""
REF_VARIABLES = VARIABLES - {"VarHandleOp"}
STAGE = "estimating the costs"
STEPS = 6
COUNTERS = frozenset({types_pb2.DT_INT32, types_pb2.DT_INT64, types_pb2.DT_BOOL})
CONDITIONAL = frozenset({"Switch", "RefSwitch", "_SwitchN"})
TRIED_BATCH = 8
"""the batch size of the trial that shows how much a batch size would help"""
SHOWN = 8
"""names listed in an error"""


@dataclass(slots=True)
class Estimate:
    """The estimate of a graph's ops, improved step by step."""

    outputs: Sequence[Sequence[Known]]
    shapes: OutputShapes
    work: Work
    unknown: NDArray[np.uint8]
    """[ops] an `Unknown`"""
    bounded: NDArray[np.bool_]
    """[ops] whether the cost is an upper bound"""
    trips: NDArray[np.int64]
    """[ops] executions in a step"""
    evaluation: Evaluation | None = None
    branches: list[Branch] = field(default_factory=list)
    batch_helps: tuple[int, int] | None = None
    read_in_calls: dict[int, int] = field(default_factory=dict)
    """op that gives a variable's handle to a call that reads it → bytes of the variable"""


def estimate(
    messages: GraphMessages, options: ReadingOptions, kinds: Sequence[str], report_progress: ReportProgress
) -> CostedGraph:
    """Estimate times by kind and bytes of outputs and variables, with their sources; loops, conditions and sizes.

    Raises CostError, SettingsError.
    """
    report_progress(STAGE, 0, STEPS)
    to_cost = _checked(messages, options, report_progress)
    persistent_bytes = _persistent_bytes(to_cost)
    replace_feeds(to_cost.graph)
    found = _by_estimator(to_cost, report_progress)
    report_progress(STAGE, 5, STEPS)
    if _needs_evaluation(messages, found):
        _evaluate(messages, to_cost, options, found)
    _leave_out_idle_inputs(messages, found)
    _require_names(options, found, messages)
    _add_read(persistent_bytes, to_cost, found)
    unknown, work = found.unknown, found.work
    float_type = float_types(to_cost.nodes, found.outputs)
    source = np.where(found.bounded, CostSource.BOUNDED, CostSource.ESTIMATED)
    lost_shapes = _lost_shapes(messages.nodes, found)
    report_progress(STAGE, STEPS, STEPS)
    buffers, contents = _buffers(messages, found)
    costs = Costs(
        kinds=tuple(kinds),
        time_us=np.array(
            [time_by_peaks_us(work.operations, work.moved_bytes, float_type, CATALOGUE[kind]) for kind in kinds]
        ),
        output_offset=found.shapes.offset.astype(np.int64, copy=False),
        output_bytes=found.shapes.bytes.astype(np.int64, copy=False),
        persistent_bytes=persistent_bytes,
        temporary_bytes=work.temporary_bytes.astype(np.int64, copy=False),
        source=np.where(unknown > 0, CostSource.UNKNOWN, source).astype(np.uint8),
        unknown=unknown.astype(np.uint8, copy=False),
        flops=np.where(unknown > 0, 0, work.operations).astype(np.int64, copy=False),
        trips=found.trips.astype(np.int64, copy=False),
        moved_bytes=work.moved_bytes.astype(np.int64, copy=False),
        buffer_of_output=buffers,
        contents_bytes=contents,
        float_type=float_type.astype(np.uint8, copy=False),
        at_peaks=False,
    )
    return _with_findings(costs, lost_shapes, messages, options, found)


def _buffers(messages: GraphMessages, found: Estimate) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The buffers that ops pass on, and the bytes that they put into containers, as `Costs` has them."""
    nodes = messages.nodes
    types = messages.types
    _, order, _, _ = plan_of(nodes, {node.name: index for index, node in enumerate(nodes)})
    shapes, trips = found.shapes, found.trips
    buffers = buffers_of_outputs(nodes, types, order, shapes.offset, shapes.bytes, trips)
    contents = contents_of_outputs(nodes, order, shapes.offset, shapes.bytes, buffers, trips)
    return buffers, contents


def _checked(messages: GraphMessages, options: ReadingOptions, report_progress: ReportProgress) -> GraphToCost:
    """The graph to cost, checked by TensorFlow's import. Raises CostError, SettingsError."""
    report_progress(STAGE, 1, STEPS)
    to_cost = graph_to_cost(messages, given_shapes(messages, options))
    report_progress(STAGE, 2, STEPS)
    require_importable(to_cost.graph.SerializeToString())
    return to_cost


def _by_estimator(to_cost: GraphToCost, report_progress: ReportProgress) -> Estimate:
    """The answer of TensorFlow's estimator, with the shapes in the file where these are more precise.

    If the estimator refuses the whole graph, for one op that is too large, say, it reports no op at all.
    """
    report_progress(STAGE, 3, STEPS)
    properties: Properties = {}
    annotated: AnnotatedShapes = {}
    names = [node.name for node in to_cost.nodes]
    work = nothing_known(len(names))
    with suppress(CostError):
        item = item_of(to_cost.meta_graph)
        properties = asked_tensorflow(item.GetOpProperties)
        annotated = add_annotated_shapes(to_cost, properties)
        if annotated:
            item = item_of(to_cost.meta_graph)
            properties = asked_tensorflow(item.GetOpProperties)
        report_progress(STAGE, 4, STEPS)
        work = work_of(item, names)
    outputs = inferred_outputs(to_cost, properties, annotated)
    correct_operations(to_cost.nodes, outputs, work)
    shapes = output_shapes(to_cost.nodes, outputs)
    reasons = (to_cost.unknown, work.unknown, shapes.unknown)
    unknown = np.select([each > 0 for each in reasons], reasons, Unknown.NOT_SAID).astype(np.uint8)
    ops = len(to_cost.nodes)
    return Estimate(outputs, shapes, work, unknown, np.zeros(ops, dtype=bool), np.ones(ops, dtype=np.int64))


def _needs_evaluation(messages: GraphMessages, estimate: Estimate) -> bool:
    """Whether an evaluation may find more than the estimator did."""
    more = (Unknown.NOT_SAID, Unknown.TEXT, Unknown.TYPE, *HIDDEN)
    if np.any(~np.isin(estimate.unknown, more)):
        return True
    return any(node.op in ENTERS or node.op in CONDITIONAL or node.op in ALWAYS_OURS for node in messages.nodes)


def _evaluate(messages: GraphMessages, to_cost: GraphToCost, options: ReadingOptions, estimate: Estimate) -> None:
    """Fill the unknown parts of `estimate` from an evaluation of the graph."""
    nodes = messages.nodes
    types = messages.types
    asked = ShapeFunctions()
    functions = {function.signature.name: function for function in messages.rest.library.function}
    calls = Calls(functions, messages.rest.library, asked)
    inputs = _known_inputs(messages, options)
    evaluation = evaluate(nodes, types, inputs, estimate.outputs, options, asked, calls.outputs)
    estimate.evaluation, estimate.outputs = evaluation, evaluation.outputs
    estimate.shapes = output_shapes(nodes, evaluation.outputs)
    _cost_one_by_one(nodes, to_cost, calls, estimate)
    estimate.read_in_calls = _read_in_calls(nodes, calls, evaluation)
    _leave_out_bookkeeping(estimate)
    estimate.trips = np.array([evaluation.trips(op, nodes) for op in range(len(nodes))], dtype=np.int64)
    _leave_out_branches(nodes, estimate)
    with_batch = replace(options, batch_size=TRIED_BATCH)
    if options.batch_size is None and (tried := _known_inputs(messages, with_batch)) != inputs:
        hints = [[] if op in tried else of_op for op, of_op in enumerate(evaluation.outputs)]
        again = evaluate(nodes, types, tried, hints, options, asked, calls.outputs)
        estimate.batch_helps = _helped(nodes, estimate, again)


def _helped(nodes: Sequence[Message], estimate: Estimate, again: Evaluation) -> tuple[int, int] | None:
    """Number of ops whose unknown cost a batch size makes known, and number of all such ops; None if it is 0."""
    by_shape = np.isin(estimate.unknown, (Unknown.INPUT_SHAPE, Unknown.OUTPUT_SHAPE, Unknown.CONTENT, Unknown.ESTIMATE))
    left = output_shapes(nodes, again.outputs).unknown > 0
    helped = int(np.count_nonzero(by_shape & (estimate.shapes.unknown > 0) & ~left))
    return (helped, int(np.count_nonzero(estimate.unknown))) if helped else None


def _known_inputs(messages: GraphMessages, options: ReadingOptions) -> dict[int, list[Known]]:
    """Input op → its outputs, as the file or a person gives them."""
    given = given_shapes(messages, options)
    inputs: dict[int, list[Known]] = {}
    producer = messages.rest.versions.producer
    for op, node in enumerate(messages.nodes):
        if node.op in INPUTS and (op in given or node.op != "PlaceholderWithDefault"):
            number = node.attr["dtype"].type
            shape = given[op][0] if op in given else declared_shape(node, producer)
            if number == types_pb2.DT_RESOURCE:
                items = Items(0, shape_of_message(shape)) if op in given else None
                inputs[op] = [Known(number, (), None, items)]
            else:
                inputs[op] = [Known(number, shape_of_message(shape))]
        elif op in given and node.op in ITERATORS:
            numbers = node.attr["output_types"].list.type
            inputs[op] = [Known(n, shape_of_message(each)) for n, each in zip(numbers, given[op], strict=False)]
    return inputs


def _cost_one_by_one(nodes: Sequence[Message], to_cost: GraphToCost, calls: Calls, estimate: Estimate) -> None:
    """Cost by itself each op that the estimator does not know or miscounts."""
    evaluation = estimate.evaluation
    assert evaluation is not None
    parts: dict[int, list[tuple[Query, int]] | None] = {}
    ours = np.array([node.op in ALWAYS_OURS for node in nodes], dtype=bool)
    for op in np.flatnonzero((estimate.unknown > 0) | ours).tolist():
        inputs = evaluation.inputs_of(op)
        if reason := hidden_work(nodes[op].op):
            estimate.unknown[op] = reason
        elif calls.is_call(nodes[op]):
            parts[op] = calls.queries(nodes[op], inputs)
        elif to_cost.unknown[op] != Unknown.TYPE:
            parts[op] = [(query_of(nodes[op], inputs, evaluation.outputs[op]), 1)]
    works = works_of(query for of_op in parts.values() for query, _ in of_op or [])
    work = {name: getattr(estimate.work, name).copy() for name in ("operations", "moved_bytes", "temporary_bytes")}
    for op, of_op in parts.items():
        found = _work(of_op, works, calls.is_call(nodes[op]))
        if estimate.shapes.unknown[op]:
            is_closed = of_op is None and estimate.shapes.unknown[op] == Unknown.OUTPUT_SHAPE
            estimate.unknown[op] = Unknown.FUNCTION if is_closed else estimate.shapes.unknown[op]
            continue
        estimate.unknown[op] = found.unknown
        if of_op is not None:
            estimate.bounded[op] = any(query.is_bounded for query, _ in of_op)
        for name, array in work.items():
            array[op] = getattr(found, name)
    estimate.work = Work(**work, unknown=estimate.work.unknown)


def _read_in_calls(nodes: Sequence[Message], calls: Calls, evaluation: Evaluation) -> dict[int, int]:
    """`Estimate.read_in_calls`: op that gives a variable's handle to a call → bytes of the variable."""
    found: dict[int, int] = {}
    for op, node in enumerate(nodes):
        if calls.is_call(node):
            sources = [source for source, output in evaluation.inputs[op] if output >= 0]
            for position, size in calls.variables_read(node, evaluation.inputs_of(op)).items():
                found[sources[position]] = max(size, found.get(sources[position], 0))
    return found


def _work(parts: list[tuple[Query, int]] | None, works: dict[tuple[Any, ...], OpWork], is_call: bool) -> OpWork:
    """The work of one op; unknown for a call that cannot be expanded."""
    if parts is None:
        return OpWork(unknown=Unknown.FUNCTION)
    return summed(parts, works) if is_call else works[parts[0][0].key]


def _leave_out_bookkeeping(estimate: Estimate) -> None:
    """Set the work of loop counters and conditions to 0: TensorFlow keeps such numbers on the host, beside the body."""
    evaluation = estimate.evaluation
    assert evaluation is not None
    for op, frames in enumerate(evaluation.frames):
        tensors = (*evaluation.inputs_of(op), *evaluation.outputs[op])
        if frames and tensors and all(each.shape == () and each.number in COUNTERS for each in tensors):
            for array in (estimate.work.operations, estimate.work.moved_bytes, estimate.work.temporary_bytes):
                array[op] = 0


def _leave_out_idle_inputs(messages: GraphMessages, estimate: Estimate) -> None:
    """Let unused inputs cost nothing, whatever their size: freezing a loop leaves such inputs behind."""
    if not estimate.unknown.any():
        return
    taken = {producer_of(text) for node in messages.nodes for text in node.input}
    for op, node in enumerate(messages.nodes):
        if node.op in INPUTS and node.name not in taken:
            estimate.unknown[op] = Unknown.NOT_SAID


def _leave_out_branches(nodes: Sequence[Message], estimate: Estimate) -> None:
    """Set the trips of ops on the untaken sides of conditions to 0."""
    evaluation = estimate.evaluation
    assert evaluation is not None
    if not any(node.op in CONDITIONAL for node in nodes):
        return
    sides = sides_of_ops(nodes, evaluation.order, evaluation.inputs)
    if not any(sides):
        return
    work, kind = estimate.work, next(iter(CATALOGUE.values()))
    cost = time_by_peaks_us(work.operations, work.moved_bytes, no_reasons(), kind) * estimate.trips
    estimate.branches = branches_of(nodes, evaluation.inputs, sides, evaluation.outputs, cost)
    for branch in estimate.branches:
        estimate.trips[list(branch.not_taken)] = 0


def _require_names(options: ReadingOptions, estimate: Estimate, messages: GraphMessages) -> None:
    """Raise SettingsError for given trips or sizes that name no loop or op of the graph, or contradict the file."""
    evaluation = estimate.evaluation
    loops = {} if evaluation is None else {loop.name: loop for loop in evaluation.loops.values()}
    for name, trips in options.trips.items():
        if name not in loops:
            raise SettingsError(
                "the graph has no such loop", where=shortened(name), allowed=_listed(loops), field="trips"
            )
        if loops[name].source in ("constant", "length") and loops[name].trips != trips:
            what = f"{trips} trips contradict the file"
            raise SettingsError(what, where=shortened(name), allowed=f"{loops[name].trips}", field="trips")
    sizes = {} if evaluation is None else {messages.nodes[size.op].name: size for size in evaluation.sizes}
    for name in options.sizes:
        if name not in sizes:
            what = "the graph has no op of this name whose length depends on data"
            raise SettingsError(what, where=shortened(name), allowed=_listed(sizes), field="sizes")


def _listed(names: Sequence[str] | dict[str, Any]) -> str:
    listed = [shortened(name) for name in names]
    return ", ".join(listed[:SHOWN]) + ", …" * (len(listed) > SHOWN) if listed else "none; the graph has none"


def _with_findings(
    costs: Costs, lost_shapes: int, messages: GraphMessages, options: ReadingOptions, estimate: Estimate
) -> CostedGraph:
    """The costs with loops, conditions, sizes and the like, in the form of `Origin`, and with notes on them."""
    evaluation, nodes = estimate.evaluation, messages.nodes
    loops = [] if evaluation is None else list(evaluation.loops.values())
    sizes = [] if evaluation is None else evaluation.sizes
    assumed = [loop.name for loop in loops if loop.source == "assumed"]
    too_many = any(loop.too_many for loop in loops)
    return CostedGraph(
        costs,
        loops=tuple({"name": loop.name, "trips": loop.trips, "source": loop.source, "ops": loop.ops} for loop in loops),
        branches=tuple(
            {"name": each.name, "taken": each.taken, "ops": each.ops, "ops_not_taken": len(each.not_taken)}
            for each in estimate.branches
        ),
        sizes=tuple(
            {
                "name": nodes[size.op].name,
                "type": nodes[size.op].op,
                "length": size.length if size.length >= 0 else None,
                "source": "given" if size.is_given else "bound" if size.length >= 0 else "unknown",
            }
            for size in sizes
        ),
        batch_helps=estimate.batch_helps or (),
        open_inputs=tuple(_open_inputs(messages, options, estimate)),
        notes=tuple(notes_of(assumed, lost_shapes, too_many=too_many)),
    )


def _open_inputs(messages: GraphMessages, options: ReadingOptions, estimate: Estimate) -> list[dict[str, Json]]:
    """The inputs whose lengths stay open, and that more than a batch size would close."""
    rows: list[dict[str, Json]] = []
    for op, node in enumerate(messages.nodes):
        if node.op not in INPUTS or not estimate.unknown[op] or len(estimate.outputs[op]) != 1:
            continue
        known = estimate.outputs[op][0]
        is_batch_enough = options.batch_size is None and known.shape and is_known(known.shape[1:])
        if known.number in HANDLES or is_known(known.shape) or is_batch_enough:
            continue
        rows.append({"name": node.name, "shape": shape_words(known.shape or ())})
    return rows


def _lost_shapes(nodes: Sequence[Message], estimate: Estimate) -> int:
    """Number of variables that are read and whose shapes the file lacks; their reads get `Unknown.LOST_SHAPE`."""
    captured = {
        node.name for node in nodes if node.op == "Placeholder" and node.attr["dtype"].type == types_pb2.DT_RESOURCE
    }
    handle_of_name = passed_on(nodes, captured)
    lost: set[str] = set()
    for op, node in enumerate(nodes):
        if node.op == READS and node.input and estimate.unknown[op]:
            handle = handle_of_name.get(node.input[0].partition(":")[0])
            if handle is not None:
                lost.add(handle)
                estimate.unknown[op] = Unknown.LOST_SHAPE
    return len(lost)


def _persistent_bytes(to_cost: GraphToCost) -> NDArray[np.int64]:
    """[ops] bytes of variables and optimizer slots; a variable with several handles counts at the first of them."""
    index_of_name = {node.name: index for index, node in enumerate(to_cost.nodes)}
    counted: set[tuple[str, bytes, bytes]] = set()
    found = np.zeros(len(to_cost.nodes), dtype=np.int64)
    for node in to_cost.graph.node:
        if node.op not in VARIABLES:
            continue
        resource = shared_resource(node)
        if resource is None or resource not in counted:
            found[index_of_name[node.name]] = least_bytes(node.attr["dtype"].type, node.attr["shape"].shape)
        if resource is not None:
            counted.add(resource)
    return found


def _is_handle_of_variable(node: Message) -> bool:
    """Whether the op's output is a variable's handle, fed or not, or a ref to a variable."""
    if node.op in HANDLE_TYPES:
        return bool(node.attr[HANDLE_TYPES[node.op]].type == types_pb2.DT_RESOURCE)
    return node.op in VARIABLES


def _add_read(persistent_bytes: NDArray[np.int64], to_cost: GraphToCost, estimate: Estimate) -> None:
    """Add the bytes of variables whose handles do not show them (fed handles, open shapes): what is read does."""
    first_of_resource: dict[tuple[str, bytes, bytes], int] = {}
    handles: dict[str, int] = {}
    for index, node in enumerate(to_cost.nodes):
        if _is_handle_of_variable(node):
            resource = shared_resource(node)
            handles[node.name] = index if resource is None else first_of_resource.setdefault(resource, index)
    handle_of_name = passed_on(to_cost.nodes, handles)
    shapes = estimate.shapes
    for index, node in enumerate(to_cost.nodes):
        read = node.input[0] if node.op == READS and node.input else node.name if node.op in REF_VARIABLES else ""
        name = handle_of_name.get(read.partition(":")[0])
        handle = None if name is None else handles[name]
        if handle is not None and shapes.offset[index] < shapes.offset[index + 1]:
            read_bytes = shapes.bytes[shapes.offset[index]]
            persistent_bytes[handle] = max(persistent_bytes[handle], read_bytes)
    for index, size in estimate.read_in_calls.items():
        if (name := handle_of_name.get(to_cost.nodes[index].name)) is not None:
            persistent_bytes[handles[name]] = max(persistent_bytes[handles[name]], size)
