"""Writes graphs whose loops put tensors into arrays, stacks and lists, in both forms. Used in a child alone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import tensorflow as tf

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from tests.engine.costs.loop_sizes import INNER, ROWS, TRIPS, WIDTH

v1 = tf.compat.v1


def _weights() -> Any:
    return v1.get_variable("weights", [WIDTH, WIDTH], use_resource=True)


def _trained(state: Any, weights: Any) -> None:
    (gradient,) = v1.gradients(tf.reduce_sum(state), [weights])
    tf.identity(gradient, name="fetch")


def write_loop() -> None:
    """Each trip writes the state; all are read at once behind the loop."""
    _written(tf.TensorArray(tf.float32, TRIPS))


def _written(rows: Any) -> None:
    """Each trip writes the state into the array `rows`."""

    def body(trip: Any, state: Any, rows: Any) -> tuple[Any, ...]:
        state = tf.cumsum(state)
        return trip + 1, state, rows.write(trip, state)

    start = (0, v1.placeholder(tf.float32, [ROWS, WIDTH], name="x"), rows)
    _, _, rows = v1.while_loop(lambda trip, *_: trip < TRIPS, body, start)
    tf.reduce_sum(rows.stack(), name="fetch")


def read_loop() -> None:
    """An array that is filled before the loop; each trip reads an element."""
    x = tf.cumsum(v1.placeholder(tf.float32, [TRIPS, ROWS, WIDTH], name="x"))
    rows = tf.TensorArray(tf.float32, TRIPS).unstack(x)

    def body(trip: Any, state: Any) -> tuple[Any, Any]:
        return trip + 1, state + rows.read(trip)

    _, state = v1.while_loop(lambda trip, _: trip < TRIPS, body, (0, tf.zeros([ROWS, WIDTH])))
    tf.reduce_sum(state, name="fetch")


def trained_loop() -> None:
    """The gradient needs the state before and after each product, which are one buffer, and the weights."""
    weights = _weights()

    def body(trip: Any, state: Any) -> tuple[Any, Any]:
        return trip + 1, tf.tanh(tf.matmul(state, weights))

    start = (0, v1.placeholder(tf.float32, [ROWS, WIDTH], name="x"))
    _trained(v1.while_loop(lambda trip, _: trip < TRIPS, body, start)[1], weights)


def gated_loop() -> None:
    """The gradient needs the state, the gate and the candidate of each trip."""
    weights = _weights()

    def body(trip: Any, state: Any) -> tuple[Any, Any]:
        gate, candidate = tf.sigmoid(tf.matmul(state, weights)), tf.tanh(tf.matmul(state, weights))
        return trip + 1, gate * candidate

    start = (0, v1.placeholder(tf.float32, [ROWS, WIDTH], name="x"))
    _trained(v1.while_loop(lambda trip, _: trip < TRIPS, body, start)[1], weights)


def nested_loop() -> None:
    """A trip of the outer loop is a loop whose gradient needs each state."""
    weights = _weights()

    def inner(trip: Any, state: Any) -> tuple[Any, Any]:
        return trip + 1, tf.tanh(tf.matmul(state, weights))

    def outer(trip: Any, state: Any) -> tuple[Any, Any]:
        return trip + 1, v1.while_loop(lambda trip, _: trip < INNER, inner, (0, state))[1]

    start = (0, v1.placeholder(tf.float32, [ROWS, WIDTH], name="x"))
    _trained(v1.while_loop(lambda trip, _: trip < TRIPS, outer, start)[1], weights)


def growing_loop() -> None:
    """An array of no given size, to which each trip adds an element."""
    _written(tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[ROWS, WIDTH]))


GRAPHS: Mapping[str, Callable[[], None]] = {
    "written": write_loop,
    "read": read_loop,
    "trained": trained_loop,
    "gated": gated_loop,
    "nested": nested_loop,
    "growing": growing_loop,
}


def write_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Each of `GRAPHS` in the order's `folder`, as NAME-v1.pb with stacks and arrays, as NAME-v2.pb with lists."""
    folder = Path(cast(str, order["folder"]))
    for form, switch in (("v1", v1.disable_control_flow_v2), ("v2", v1.enable_control_flow_v2)):
        switch()
        for name, build in GRAPHS.items():
            with tf.Graph().as_default() as graph:
                build()
                definition = v1.graph_util.extract_sub_graph(graph.as_graph_def(), ["fetch"])
            (folder / f"{name}-{form}.pb").write_bytes(definition.SerializeToString(deterministic=True))
    return {}, {}
