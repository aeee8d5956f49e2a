"""Loops that TensorFlow really runs: how often each op is executed, beside the trips that are counted. In a child."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from engine.child.parent import ReportProgress, Results
from engine.costs.costs import Costs
from engine.events import Json
from engine.files.archive import from_fields
from engine.graphs.graph import ComputationGraph
from tests.engine.costs.in_child import estimate_in_child

v1 = tf.compat.v1
WITHOUT_WORK = re.compile("Enter|ControlTrigger|NoOp|Const")
"""op types that TensorFlow runs in other trips too, which takes no time"""


def _weight() -> Any:
    return v1.get_variable("weight", [16, 16], use_resource=False)


def _loop(trips: int, state: Any, weight: Any) -> Any:
    return v1.while_loop(lambda at, _: at < trips, lambda at, now: (at + 1, tf.matmul(now, weight)), (0, state))[1]


def recurrent_training() -> Sequence[Any]:
    """A layer of 12 steps with its gradients."""
    weight = _weight()
    steps = tf.TensorArray(tf.float32, 12).unstack(tf.ones([12, 8, 16]))

    def body(at: Any, state: Any) -> Any:
        return at + 1, tf.tanh(tf.matmul(state, weight) + steps.read(at))

    loss = tf.reduce_sum(v1.while_loop(lambda at, _: at < 12, body, (0, tf.zeros([8, 16])))[1])
    return [loss, v1.train.GradientDescentOptimizer(0.1).minimize(loss)]


def nested_training() -> Sequence[Any]:
    """A loop in the body of another, with gradients, and one in its condition."""
    weight = _weight()

    def condition(at: Any, _: Any) -> Any:
        steps = v1.while_loop(lambda step: step < 2, lambda step: step + 1, (0,))
        return at + 0 * steps < 5

    def body(at: Any, state: Any) -> Any:
        return at + 1, state + _loop(3, state, weight)

    loss = tf.reduce_sum(v1.while_loop(condition, body, (0, tf.ones([8, 16])))[1])
    return [loss, tf.gradients(loss, [weight])[0]]


def few_trips() -> Sequence[Any]:
    """Loops of no trip and of one."""
    weight = _weight()
    return [_loop(trips, tf.ones([8, 16]), weight) for trips in (0, 1)]


SAMPLES: Mapping[str, Callable[[], Sequence[Any]]] = {
    each.__name__: each for each in (recurrent_training, nested_training, few_trips)
}


def count_in_child(_order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Sample → [name, type, executions, trips] of each op whose two counts differ, and `counted`, the number of all."""
    found: dict[str, Json] = {}
    for name, build in SAMPLES.items():
        graph, executed = _traced(build)
        path = folder / f"{name}.pb"
        path.write_bytes(graph.SerializeToString())
        results = estimate_in_child({"path": str(path), "kinds": ["CPU"]}, folder, report_progress)
        ops, costs = from_fields(ComputationGraph, *results), from_fields(Costs, *results)
        rows: list[Json] = [
            [op, op_type, executed[op], trips]
            for op, op_type, trips in zip(ops.op_names, ops.op_types, costs.trips_of_op().tolist(), strict=True)
            if not WITHOUT_WORK.match(op_type) and executed[op] != trips
        ]
        found[name] = {"differ": rows, "counted": ops.op_count}
    return {}, found


def _traced(build: Callable[[], Sequence[Any]]) -> tuple[Any, Counter[str]]:
    """The part of the graph that its outputs need, and how often each op ran."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        fetches = build()
        initialise = v1.global_variables_initializer()
        config = v1.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = -1
        with v1.Session(config=config) as session:
            session.run(initialise)
            metadata = v1.RunMetadata()
            session.run(fetches, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run_metadata=metadata)
    names = [getattr(fetch, "op", fetch).name for fetch in fetches]
    stats = [node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats]
    return v1.graph_util.extract_sub_graph(graph.as_graph_def(), names), Counter(stats)
