"""What the evaluation says of small functions, beside what TensorFlow does when it runs them. Runs in the child.

Each function is inlined as an uploaded one is, evaluated without any hint of Grappler's, and run with a full trace: it
names every execution of every op with the shapes of its outputs.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, types_pb2
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2

from engine.child.parent import ReportProgress, Results
from engine.costs.tensorflow.inference.asking import ShapeFunctions
from engine.costs.tensorflow.inference.branches import sides_of_ops
from engine.costs.tensorflow.inference.known import Known, is_known
from engine.costs.tensorflow.inference.walk import Evaluation, evaluate
from engine.events import Json
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.inlining import inlined_messages
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import HANDLES

Array: TypeAlias = np.ndarray[Any, Any]
Sample: TypeAlias = tuple[Callable[..., Any], Sequence[Array]]
"""a function, and what it is fed"""
Traced: TypeAlias = dict[str, list[list[tuple[int, ...]]]]
"""op → shapes of its outputs in each execution"""
OFF = rewriter_config_pb2.RewriterConfig(disable_meta_optimizer=True)
CONFIG = config_pb2.ConfigProto(
    graph_options=config_pb2.GraphOptions(
        rewrite_options=OFF, optimizer_options=config_pb2.OptimizerOptions(opt_level=-1)
    )
)
IN_CONDITION = re.compile(r"while(_grad)?/cond/")
"""in the names of ops that a loop runs once more than its body"""


def compare_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """By sample: `mistakes`, a sentence each; `said`, how many shapes; `open`, the ops of which one is not known."""
    return {}, {name: cast(Json, _compared(*make())) for name, make in SAMPLES.items()}


def _compared(function: Callable[..., Any], fed: Sequence[Array]) -> dict[str, Any]:
    specs = [tf.TensorSpec(each.shape, each.dtype) for each in fed]
    graph = tf.function(function, autograph=False).get_concrete_function(*specs).graph
    inputs = [each.op.name for each in graph.inputs]
    fetched = [tf.nest.flatten(graph.structured_outputs)[index].name for index in range(len(graph.outputs))]
    messages = _messages(graph.as_graph_def(), [name.partition(":")[0] for name in fetched])
    found = _evaluated(messages)
    traced = _traced(messages, dict(zip(inputs, fed, strict=True)), fetched)
    return _differences(messages.nodes, found, traced)


def _messages(graph: Message, fetches: Sequence[str]) -> GraphMessages:
    rest = graph_pb2.GraphDef()
    rest.CopyFrom(graph)
    del rest.node[:]
    return inlined_messages(GraphMessages(list(graph.node), rest), fetches)


def _evaluated(messages: GraphMessages) -> Evaluation:
    nodes = messages.nodes
    reported = {op: [_placeholder(node)] for op, node in enumerate(nodes) if node.op == "Placeholder"}
    hints: list[list[Known]] = [[] for _ in nodes]
    types = NodeTypes(nodes, messages.rest.library)
    return evaluate(nodes, types, reported, hints, ReadingOptions(), ShapeFunctions(), None)


def _placeholder(node: Message) -> Known:
    return Known(node.attr["dtype"].type, tuple(each.size for each in node.attr["shape"].shape.dim))


def _traced(messages: GraphMessages, fed: Mapping[str, Array], fetched: Sequence[str]) -> Traced:
    whole = graph_pb2.GraphDef()
    whole.CopyFrom(messages.rest)
    whole.node.extend(messages.nodes)
    metadata = config_pb2.RunMetadata()
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(whole, name="")
        with tf.compat.v1.Session(graph=graph, config=CONFIG) as session:
            options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
            session.run(
                list(fetched),
                {f"{name}:0": value for name, value in fed.items()},
                options=options,
                run_metadata=metadata,
            )
    traced: Traced = {}
    for device in metadata.step_stats.dev_stats:
        for each in device.node_stats:
            shapes = [
                tuple(dimension.size for dimension in output.tensor_description.shape.dim)
                if output.HasField("tensor_description")
                else ()
                for output in sorted(each.output, key=lambda output: int(output.slot))
            ]
            slots = [output.slot for output in each.output]
            if sorted(slots) == list(range(len(slots))):
                traced.setdefault(each.node_name, []).append(shapes)
    return traced


def _differences(nodes: Sequence[Message], found: Evaluation, traced: Traced) -> dict[str, Any]:
    mistakes: list[str] = []
    sides = sides_of_ops(nodes, found.order, found.inputs)
    is_open: list[str] = []
    bounded: list[str] = []
    said = 0
    for op, node in enumerate(nodes):
        if node.op in ("Merge", "Switch"):
            continue  # the outputs of one that did not run have no shape
        for shapes in traced.get(node.name, []):
            for output, shape in enumerate(shapes):
                known = found.outputs[op][output]
                if known.number in HANDLES or known.number == types_pb2.DT_INVALID:
                    continue
                said += 1
                if not is_known(known.shape):
                    is_open.append(node.name)
                if known.bounded:
                    bounded.append(node.name)
                if not _fits(known, shape):
                    what = "at most " if known.bounded else ""
                    mistakes.append(f"{node.name} is {what}{known.shape}, and was {shape}")
        runs, trips = len(traced.get(node.name, [])), found.trips(op, nodes)
        if (
            found.frames[op]
            and not sides[op]
            and runs != trips
            and not IN_CONDITION.search(node.name)
            and node.op != "LoopCond"
        ):
            mistakes.append(f"{node.name} has {trips} trips, and ran {runs} times")
    return {
        "mistakes": mistakes,
        "said": said,
        "open": sorted(set(is_open)),
        "bounded": sorted(set(bounded)),
        "loops": [[loop.trips, loop.source] for loop in found.loops.values()],
    }


def _fits(known: Known, shape: tuple[int, ...]) -> bool:
    """Whether what is known holds for a tensor that was of `shape`."""
    if known.shape is None:
        return True
    if len(known.shape) != len(shape):
        return False
    pairs = zip(known.shape, shape, strict=True)
    return all(said < 0 or (said >= was if known.bounded else said == was) for said, was in pairs)


def zeros(*shape: int) -> Array:
    return np.zeros(shape, dtype=np.float32)


def array_written_in_a_loop() -> Sample:
    def function(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=tf.shape(x)[0])

        def body(i: Any, array: Any) -> Any:
            return i + 1, array.write(i, tf.nn.relu(x[i]))

        _, array = tf.while_loop(lambda i, _: i < tf.shape(x)[0], body, [0, array])
        return array.stack(), array.size()

    return function, [zeros(5, 3)]


def array_unstacked_and_read() -> Sample:
    def function(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=4).unstack(x)
        return array.read(1), array.gather([0, 2, 3]), array.size()

    return function, [zeros(4, 2, 3)]


def array_scattered() -> Sample:
    def function(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=6).scatter([4, 1], x)
        return array.gather([4, 1]), array.size(), array.scatter([5], x[:1]).size()

    return function, [zeros(2, 3)]


def array_joined_of_different_lengths() -> Sample:
    def function(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=2, infer_shape=False, element_shape=[None, 3])
        return array.write(0, x).write(1, x[:2]).concat()

    return function, [zeros(5, 3)]


def array_split() -> Sample:
    def function(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=3, infer_shape=False).split(x, [1, 3, 2])
        return array.read(0), array.read(1), array.concat(), array.size()

    return function, [zeros(6, 2)]


def array_that_grows() -> Sample:
    def function(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)

        def body(i: Any, array: Any) -> Any:
            return i + 1, array.write(i, x)

        _, array = tf.while_loop(lambda i, _: i < 4, body, [0, array])
        return array.stack(), array.size()

    return function, [zeros(2, 3)]


def pushed_and_popped() -> Sample:
    def function(x: Any) -> Any:
        stack = tf.raw_ops.EmptyTensorList(element_shape=[2, 3], max_num_elements=-1, element_dtype=tf.float32)
        for _ in range(3):
            stack = tf.raw_ops.TensorListPushBack(input_handle=stack, tensor=x)
        stack, last = tf.raw_ops.TensorListPopBack(input_handle=stack, element_shape=[2, 3], element_dtype=tf.float32)
        whole = tf.raw_ops.TensorListStack(input_handle=stack, element_shape=[2, 3], element_dtype=tf.float32)
        return last, whole, tf.zeros([tf.raw_ops.TensorListLength(input_handle=stack)])

    return function, [zeros(2, 3)]


def lists_by_every_op() -> Sample:
    def function(x: Any) -> Any:
        ops, kind = tf.raw_ops, tf.float32
        rows = ops.TensorListFromTensor(tensor=x, element_shape=[3])
        longer = ops.TensorListResize(input_handle=rows, size=7)
        both = ops.TensorListConcatLists(input_a=rows, input_b=rows, element_dtype=kind)
        placed = ops.TensorListScatterV2(tensor=x, indices=[6, 1, 0, 2], element_shape=[3], num_elements=-1)
        older = ops.TensorListScatter(tensor=x, indices=[3, 1, 0, 2], element_shape=[3])
        larger = ops.TensorListScatterIntoExistingList(input_handle=rows, tensor=x[:1], indices=[5])
        reserved = ops.TensorListReserve(element_shape=[3], num_elements=2, element_dtype=kind)
        reserved = ops.TensorListSetItem(input_handle=reserved, index=0, item=x[0])
        lengths = [ops.TensorListLength(input_handle=each) for each in (longer, both, placed, older, larger, reserved)]
        return (
            ops.TensorListGather(input_handle=rows, indices=[1, 1, 0], element_shape=[3], element_dtype=kind),
            ops.TensorListGetItem(input_handle=reserved, index=0, element_shape=[3], element_dtype=kind),
            ops.TensorListStack(input_handle=both, element_shape=[3], element_dtype=kind),
            [tf.zeros([length]) for length in lengths],
        )

    return function, [zeros(4, 3)]


def gradient_through_a_loop() -> Sample:
    def function(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, found = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, tf.tanh(x)), [0, x])
        return tape.gradient(found, x)

    return function, [zeros(4, 3)]


def counted(test: Callable[[Any], Any], start: Any, step: Any, kind: Any = tf.int32) -> Callable[[], Sample]:
    """A loop that counts, and makes a tensor as long as its counter is in the end."""

    def make() -> Sample:
        def function(x: Any) -> Any:
            def body(i: Any, x: Any) -> Any:
                return i + tf.constant(step, kind), tf.nn.relu(x)

            last, x = tf.while_loop(lambda i, _: test(i), body, [tf.constant(start, kind), x])
            return x, tf.zeros([tf.abs(last)])

        return function, [zeros(2)]

    return make


def nested_loops() -> Sample:
    def function(x: Any) -> Any:
        def inner(i: Any, x: Any) -> Any:
            _, x = tf.while_loop(lambda j, _: j < 4, lambda j, x: (j + 1, tf.tanh(x)), [0, x])
            return i + 1, tf.nn.relu(x)

        return tf.while_loop(lambda i, _: i < 3, inner, [0, x])[1]

    return function, [zeros(2)]


def growing() -> Sample:
    def function(x: Any) -> Any:
        shapes = [tf.TensorShape([]), tf.TensorShape([None, 3])]

        def body(i: Any, y: Any) -> Any:
            return i + 1, tf.concat([tf.nn.relu(y), x], 0)

        return tf.while_loop(lambda i, _: i < 5, body, [0, x], shape_invariants=shapes)[1]

    return function, [zeros(2, 3)]


def growing_in_nested_loops() -> Sample:
    def function(x: Any) -> Any:
        shapes = [tf.TensorShape([]), tf.TensorShape([None, 3])]

        def grow(i: Any, y: Any) -> Any:
            return i + 1, tf.concat([tf.nn.relu(y), x], 0)

        def outer(i: Any, y: Any) -> Any:
            return i + 1, tf.while_loop(lambda j, _: j < 3, grow, [0, y], shape_invariants=shapes)[1]

        return tf.while_loop(lambda i, _: i < 2, outer, [0, x], shape_invariants=shapes)[1]

    return function, [zeros(1, 3)]


def doubling() -> Sample:
    def function(x: Any) -> Any:
        shapes = [tf.TensorShape([]), tf.TensorShape([None, 3])]

        def body(i: Any, y: Any) -> Any:
            return i + 1, tf.concat([tf.nn.relu(y), y], 0)

        return tf.while_loop(lambda i, _: i < 5, body, [0, x], shape_invariants=shapes)[1]

    return function, [zeros(2, 3)]


def shrinking() -> Sample:
    def function(x: Any) -> Any:
        shapes = [tf.TensorShape([]), tf.TensorShape([None, 3])]

        def body(i: Any, y: Any) -> Any:
            return i + 1, tf.nn.relu(y)[1:]

        return tf.while_loop(lambda i, _: i < 3, body, [0, x], shape_invariants=shapes)[1]

    return function, [zeros(5, 3)]


def growing_in_rank() -> Sample:
    def function(x: Any) -> Any:
        shapes = [tf.TensorShape([]), tf.TensorShape(None)]

        def body(i: Any, y: Any) -> Any:
            return i + 1, tf.expand_dims(tf.identity(y), 0)

        return tf.while_loop(lambda i, _: i < 3, body, [0, x], shape_invariants=shapes)[1]

    return function, [zeros(5, 3)]


def ended_by_data() -> Sample:
    def function(x: Any) -> Any:
        def holds(i: Any, x: Any) -> Any:
            return tf.reduce_sum(x) >= 0

        return tf.while_loop(holds, lambda i, x: (i + 1, tf.nn.relu(x)), [0, x], maximum_iterations=6)[1]

    return function, [zeros(2)]


def never_entered() -> Sample:
    def function(x: Any) -> Any:
        def outer(i: Any, x: Any) -> Any:
            _, x = tf.while_loop(lambda j, _: j < 4, lambda j, x: (j + 1, tf.tanh(x)), [0, x])
            return i + 1, x

        return tf.nn.relu(tf.while_loop(lambda i, _: i < 0, outer, [0, x])[1])

    return function, [zeros(2)]


def condition(flag: bool, value: float) -> Callable[[], Sample]:
    """A condition in a condition, which data decides, and one that the file decides around it."""

    def make() -> Sample:
        def function(x: Any) -> Any:
            def inner() -> Any:
                return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x), lambda: tf.zeros([7, 2]))

            outer = tf.cond(tf.constant(flag), inner, lambda: tf.tanh(x))
            return outer, tf.nn.relu(outer)

        return function, [np.full((4, 2), value, dtype=np.float32)]

    return make


def case_of_three(index: int) -> Callable[[], Sample]:
    """`index` is what data says."""

    def make() -> Sample:
        def function(index: Any, x: Any) -> Any:
            sides = [lambda: tf.nn.relu(x), lambda: tf.concat([x, x], 0), lambda: x[:1]]
            return tf.nn.relu(tf.switch_case(index, sides))

        return function, [np.array(index, dtype=np.int32), zeros(4, 2)]

    return make


def condition_in_a_loop() -> Sample:
    def function(x: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.nn.relu(x), lambda: x + 1)

        return tf.while_loop(lambda i, _: i < 4, body, [0, x])[1]

    return function, [zeros(2)]


def filters() -> Sample:
    def function(x: Any, scores: Any, groups: Any) -> Any:
        kept = tf.image.non_max_suppression(x, scores, 3)
        parts = tf.dynamic_partition(x, groups, 2)
        unique, places = tf.unique(groups)
        rows, _ = tf.raw_ops.UniqueV2(x=x, axis=[0])
        some = tf.boolean_mask(x, groups > 0)
        best = tf.math.top_k(scores, k=tf.reduce_max(groups) + 1)
        return kept, parts, unique, places, rows, some, best, x[: groups[0]], tf.where(x > 0)

    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [3, 3, 4, 4], [0, 2, 1, 3]], dtype=np.float32)
    return function, [boxes, np.array([1, 2, 3, 4], dtype=np.float32), np.array([1, 0, 1, 0], dtype=np.int32)]


def variables_by_their_handles() -> Sample:
    def function(x: Any) -> Any:
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[5, 6, 7], shared_name="v")
        with tf.control_dependencies([tf.raw_ops.AssignVariableOp(resource=handle, value=tf.zeros([5, 6, 7]))]):
            return (
                tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) + x,
                tf.raw_ops.VariableShape(input=handle, out_type=tf.int64),
                tf.raw_ops.ResourceGather(resource=handle, indices=[[1, 2]], dtype=tf.float32),
                tf.raw_ops.ResourceGather(
                    resource=handle, indices=[[1, 2], [0, 0], [0, 0], [0, 0], [3, 3]], dtype=tf.float32, batch_dims=1
                ),
                tf.raw_ops.ResourceGatherNd(resource=handle, indices=[[1, 2], [0, 0], [3, 3]], dtype=tf.float32),
            )

    return function, [zeros(7)]


def tables() -> Sample:
    """Tables of scalars, of rows, and one whose keys are rows."""

    def function(keys: Any, pairs: Any) -> Any:
        raw = tf.raw_ops
        words = raw.HashTableV2(key_dtype=tf.int64, value_dtype=tf.float32)
        rows = raw.MutableHashTableOfTensorsV2(key_dtype=tf.int64, value_dtype=tf.float32, value_shape=[3])
        dense = raw.MutableDenseHashTableV2(
            empty_key=tf.constant([-1, -1], tf.int64),
            deleted_key=tf.constant([-2, -2], tf.int64),
            value_dtype=tf.float32,
            value_shape=[5],
        )
        first = raw.InitializeTableV2(table_handle=words, keys=tf.constant([1], tf.int64), values=[2.0])
        filled = raw.LookupTableInsertV2(table_handle=rows, keys=keys, values=tf.zeros([2, 4, 3]))
        with tf.control_dependencies([first, filled]):
            found = [
                raw.LookupTableFindV2(table_handle=words, keys=keys, default_value=0.0),
                raw.LookupTableFindV2(table_handle=rows, keys=keys[0], default_value=tf.zeros([3])),
                raw.LookupTableFindV2(table_handle=dense, keys=pairs, default_value=tf.zeros([5])),
                raw.LookupTableSizeV2(table_handle=rows),
                raw.LookupTableExportV2(table_handle=rows, Tkeys=tf.int64, Tvalues=tf.float32)[1],
            ]
        return [tf.identity(each) for each in found]

    return function, [np.arange(8, dtype=np.int64).reshape(2, 4), np.zeros((6, 2), dtype=np.int64)]


def queues() -> Sample:
    """Elements of two components, one by one and several at once; a queue by priority."""

    def function(x: Any) -> Any:
        raw = tf.raw_ops
        queue = raw.FIFOQueueV2(component_types=[tf.float32, tf.int32], shapes=[[3], []])
        ordered = raw.PriorityQueueV2(component_types=[tf.float32], shapes=[[3]])
        many = raw.QueueEnqueueManyV2(handle=queue, components=[x, tf.range(5)])
        one = raw.QueueEnqueueV2(handle=ordered, components=[tf.constant(1, tf.int64), x[0]])
        with tf.control_dependencies([many, one]):
            first = raw.QueueDequeueV2(handle=queue, component_types=[tf.float32, tf.int32])
            best = raw.QueueDequeueV2(handle=ordered, component_types=[tf.int64, tf.float32])
        with tf.control_dependencies([*first, *best]):
            some = raw.QueueDequeueManyV2(handle=queue, n=3, component_types=[tf.float32, tf.int32])
        return [*first, *best, *some]

    return function, [zeros(5, 3)]


def accumulators() -> Sample:
    def function(x: Any) -> Any:
        raw = tf.raw_ops
        handle = raw.ResourceConditionalAccumulator(dtype=tf.float32, shape=[4, 2])
        added = raw.ResourceAccumulatorApplyGradient(
            handle=handle, local_step=tf.constant(0, tf.int64), gradient=tf.stack([x, x], 1)
        )
        with tf.control_dependencies([added]):
            return tf.nn.relu(raw.ResourceAccumulatorTakeGradient(handle=handle, num_required=1, dtype=tf.float32))

    return function, [zeros(4)]


def maps() -> Sample:
    def function(x: Any) -> Any:
        raw = tf.raw_ops
        handle = raw.TensorMapInsert(input_handle=raw.EmptyTensorMap(), key=tf.constant([1, 2]), value=x)
        handle = raw.TensorMapInsert(input_handle=handle, key=tf.constant([3, 4]), value=x)
        found = raw.TensorMapLookup(input_handle=handle, key=tf.constant([1, 2]), value_dtype=tf.float32)
        return tf.nn.relu(found), raw.TensorMapStackKeys(input_handle=handle, key_dtype=tf.int32)

    return function, [zeros(4, 2)]


def arrays_of_tensorflow_1() -> Sample:
    """An array split, joined, and the array of its gradients."""

    def function(x: Any) -> Any:
        raw = tf.raw_ops
        handle, flow = raw.TensorArrayV3(size=3, dtype=tf.float32)
        lengths = tf.constant([2, 2, 2], tf.int64)
        flow = raw.TensorArraySplitV3(handle=handle, value=x, lengths=lengths, flow_in=flow)
        joined, _ = raw.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=tf.float32)
        with tf.control_dependencies([joined]):
            gradients, flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="gradients")
        flow = raw.TensorArrayWriteV3(handle=gradients, index=1, value=x[:2], flow_in=flow)
        return joined, tf.nn.relu(raw.TensorArrayReadV3(handle=gradients, index=1, flow_in=flow, dtype=tf.float32))

    return function, [zeros(6, 4)]


SAMPLES: Mapping[str, Callable[[], Sample]] = {
    "an array written in a loop": array_written_in_a_loop,
    "an array unstacked and read": array_unstacked_and_read,
    "an array scattered": array_scattered,
    "an array joined of different lengths": array_joined_of_different_lengths,
    "an array split": array_split,
    "an array that grows": array_that_grows,
    "pushed and popped": pushed_and_popped,
    "lists by every op": lists_by_every_op,
    "a gradient through a loop": gradient_through_a_loop,
    "up to a bound": counted(lambda i: i < 7, 2, 2),
    "up to a bound and with it": counted(lambda i: i <= 8, 2, 2),
    "down to a bound": counted(lambda i: i > 1, 9, -3),
    "down to a bound and with it": counted(lambda i: i >= 3, 9, -3),
    "until it is there": counted(lambda i: tf.not_equal(i, -6), 0, -2, tf.int64),
    "in 64 bits": counted(lambda i: i < 2**40 + 3, 2**40, 1, tf.int64),
    "through other ops": counted(lambda i: tf.logical_and(tf.identity(i) + 1 < 6, tf.constant(9) > i), 0, 1),
    "nested loops": nested_loops,
    "growing": growing,
    "growing in nested loops": growing_in_nested_loops,
    "doubling": doubling,
    "shrinking": shrinking,
    "growing in rank": growing_in_rank,
    "ended by data": ended_by_data,
    "never entered": never_entered,
    "one side of a condition": condition(True, 1.0),
    "one side of a condition, the other of another": condition(True, -1.0),
    "the other side of a condition": condition(False, 1.0),
    "the first case": case_of_three(0),
    "the second case": case_of_three(1),
    "a case that is not there": case_of_three(9),
    "a condition in a loop": condition_in_a_loop,
    "filters": filters,
    "variables by their handles": variables_by_their_handles,
    "tables": tables,
    "queues": queues,
    "accumulators": accumulators,
    "maps": maps,
    "arrays of TensorFlow 1": arrays_of_tensorflow_1,
}
