"""Training steps through a while loop, in TensorFlow 1's form (arrays and stacks) and in TensorFlow 2's (lists).

An LSTM layer by hand: what the loop keeps of each trip for its gradient is most of the step's memory.
"""

from pathlib import Path
from typing import Any, cast

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.events import Json

FORMS = ("lists", "stacks")
LIMITS = Limits(memory_bytes=8 * 1024**3, seconds=600.0)


def write(form: str, path: Path, *, steps: int, batch: int, units: int) -> None:
    """Write the GraphDef of a step that trains the layer by gradient descent."""
    order: dict[str, Json] = {"form": form, "path": str(path), "steps": steps, "batch": batch, "units": units}
    run_in_child(f"{__name__}:write_in_child", order, LIMITS, task="building a looped training step")


def write_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """`write` in the child."""
    import tensorflow as tf

    v1 = tf.compat.v1
    if order["form"] == "stacks":
        v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        fetched = _trained(*(cast(int, order[name]) for name in ("steps", "batch", "units")))
        definition = v1.graph_util.extract_sub_graph(graph.as_graph_def(), [fetched])
    Path(cast(str, order["path"])).write_bytes(definition.SerializeToString(deterministic=True))
    return {}, {}


def _trained(steps: int, batch: int, units: int) -> str:
    """The layer, the sum of its squared outputs as its loss, and a step of gradient descent; the op to fetch."""
    import tensorflow as tf

    v1 = tf.compat.v1
    inputs = v1.placeholder(tf.float32, [1, batch, units], name="inputs")  # small: what is fed stays for the whole step
    weights = v1.get_variable("weights", [2 * units, 4 * units], use_resource=True)
    bias = v1.get_variable("bias", [4 * units], use_resource=True)
    taken = tf.TensorArray(tf.float32, steps).unstack(tf.tile(inputs, [steps, 1, 1]))

    def body(step: Any, cell: Any, state: Any, given: Any) -> tuple[Any, ...]:
        gates = tf.nn.bias_add(tf.matmul(tf.concat([taken.read(step), state], 1), weights), bias)
        kept, taken_in, candidate, shown = tf.split(gates, 4, 1)
        cell = cell * tf.sigmoid(kept) + tf.sigmoid(taken_in) * tf.tanh(candidate)
        state = tf.tanh(cell) * tf.sigmoid(shown)
        return step + 1, cell, state, given.write(step, state)

    start = (0, tf.zeros([batch, units]), tf.zeros([batch, units]), tf.TensorArray(tf.float32, steps))
    given = v1.while_loop(lambda step, *_: step < steps, body, start)[3]
    loss = tf.reduce_sum(tf.square(given.stack()))
    variables = (weights, bias)
    pairs = zip(v1.gradients(loss, variables), variables, strict=True)
    with tf.control_dependencies([variable.assign_sub(0.1 * gradient) for gradient, variable in pairs]):
        return str(tf.identity(loss, name="loss").op.name)
