"""Graphs of all kinds, each as a file that a TensorFlow user has. Used in a child alone, where TensorFlow is loaded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from experiments.placed.samples import Sample, zipped
from experiments.placed.step import PlacedStep

v1 = tf.compat.v1


def written(folder: Path, name: str, graph: Any, outputs: tuple[str, ...], step: PlacedStep | None = None) -> Sample:
    """What `outputs`, ops, need of a graph, as .pb; they are what a step runs, if no `step` is given."""
    path = folder / f"{name}.pb"
    starts = step.starts if step else ()
    definition = v1.graph_util.extract_sub_graph(graph.as_graph_def(), [*outputs, *starts])
    path.write_bytes(definition.SerializeToString(deterministic=True))
    return Sample(path, step or PlacedStep(tuple(_fetched(graph, output) for output in outputs)))


def _fetched(graph: Any, name: str) -> str:
    return f"{name}:0" if graph.get_operation_by_name(name).outputs else name


def _inputs(shape: tuple[int, ...] = (4, 8)) -> Any:
    return v1.placeholder(tf.float32, shape, name="inputs")


def _dense(inputs: Any, outputs: int, name: str, *, resource: bool) -> Any:
    with v1.variable_scope(name):
        weights = v1.get_variable("weights", [int(inputs.shape[1]), outputs], use_resource=resource)
        bias = v1.get_variable("bias", [outputs], use_resource=resource)
        return tf.nn.relu(tf.matmul(inputs, weights) + bias)


def _perceptron(*, resource: bool) -> Any:
    """The loss of three layers."""
    net = _dense(_dense(_inputs(), 8, "first", resource=resource), 8, "second", resource=resource)
    return tf.reduce_mean(_dense(net, 2, "third", resource=resource) ** 2.0, name="loss")


def ref_variables(folder: Path) -> Sample:
    """Ref variables, Momentum slots, gradients beside their ops."""
    with tf.Graph().as_default() as graph:
        optimizer = v1.train.MomentumOptimizer(0.1, 0.9)
        loss = _perceptron(resource=False)
        pairs = optimizer.compute_gradients(loss, colocate_gradients_with_ops=True)
        optimizer.apply_gradients(pairs, name="train_step")
    return written(folder, "ref_variables", graph, ("train_step", "loss"))


def resource_variables_adam(folder: Path) -> Sample:
    """Resource variables, Adam slots and its powers, a clipped global norm, a decayed learning rate."""
    with tf.Graph().as_default() as graph:
        loss = _perceptron(resource=True)
        step = v1.train.get_or_create_global_step()
        rate = v1.train.exponential_decay(0.1, step, 10, 0.9)
        optimizer = v1.train.AdamOptimizer(rate)
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, 1.25)
        optimizer.apply_gradients(zip(clipped, variables, strict=True), global_step=step, name="train_step")
    return written(folder, "resource_variables_adam", graph, ("train_step", "loss"))


def rmsprop_as_text(folder: Path) -> Sample:
    """RMSProp with ref variables and gradients behind control dependencies, as .pbtxt."""
    with tf.Graph().as_default() as graph:
        loss = _perceptron(resource=False)
        optimizer = v1.train.RMSPropOptimizer(0.1, momentum=0.9, centered=True)
        pairs = optimizer.compute_gradients(loss, gate_gradients=v1.train.Optimizer.GATE_GRAPH)
        with tf.control_dependencies([gradient for gradient, _ in pairs]):
            barrier = tf.no_op(name="barrier")
        with tf.control_dependencies([barrier]):
            pairs = [(tf.identity(gradient), variable) for gradient, variable in pairs]
        optimizer.apply_gradients(pairs, name="train_step")
    sample = written(folder, "rmsprop", graph, ("train_step", "loss"))
    path = folder / "rmsprop.pbtxt"
    path.write_text(str(graph_pb2.GraphDef.FromString(sample.path.read_bytes())))
    return Sample(path, sample.step)


def batch_norm(folder: Path) -> Sample:
    """Convolutions with fused batch norm, their moving averages, dropout and local response normalisation."""
    with tf.Graph().as_default() as graph:
        net = _inputs((2, 8, 8, 3))
        updates = []
        for layer in range(3):
            with v1.variable_scope(f"layer_{layer}"):
                kernel = v1.get_variable("kernel", [3, 3, int(net.shape[3]), 4], use_resource=True)
                scale, offset = (v1.get_variable(name, [4], use_resource=True) for name in ("scale", "offset"))
                average = v1.get_variable("average", [4], use_resource=layer > 0, trainable=False)
                net, mean, _ = v1.nn.fused_batch_norm(tf.nn.conv2d(net, kernel, 1, "SAME"), scale, offset)
                updates.append(v1.assign_sub(average, (average - mean) * 0.1))
                net = tf.nn.dropout(tf.nn.local_response_normalization(net), 0.3, seed=layer + 1)
        loss = tf.reduce_mean(net**2.0, name="loss")
        train = v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True).minimize(loss)
        with tf.control_dependencies([train, *updates]):
            tf.no_op(name="train_step")
    return written(folder, "batch_norm", graph, ("train_step", "loss"))


def cond_v1(folder: Path) -> Sample:
    """Nested conditions of Switch and Merge, variables assigned in branches, a case, all trained."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        inputs = _inputs() * 1.0
        ref = v1.get_variable("ref", [8], use_resource=False)
        resource = v1.get_variable("resource", [8, 8], use_resource=True)
        counted = v1.get_variable("counted", [8], use_resource=True, trainable=False)
        positive = tf.reduce_sum(inputs) > 0.0

        def inner() -> Any:
            return v1.cond(tf.reduce_sum(ref) > 1.0, lambda: tf.matmul(inputs, resource), lambda: inputs * ref)

        def assigning() -> Any:
            return tf.identity(counted.assign_add(tf.ones([8]))) + inputs * ref

        chosen = v1.cond(positive, inner, assigning)
        third = v1.case([(tf.reduce_max(chosen) > 1e3, lambda: chosen * 0.5)], default=lambda: chosen + ref)
        loss = tf.reduce_sum(third, name="loss")
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        pairs = optimizer.compute_gradients(loss)
        with tf.control_dependencies([loss, *(gradient for gradient, _ in pairs)]):  # who reads a ref sees its updates
            optimizer.apply_gradients([(tf.identity(gradient), ref) for gradient, ref in pairs], name="train_step")
    return written(folder, "cond_v1", graph, ("train_step", "loss"))


def cond_of_feeds(folder: Path) -> Sample:
    """A condition whose Switches take what is fed."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        inputs, other = _inputs(), v1.placeholder(tf.float32, [4, 8], name="other")
        chosen = v1.cond(
            v1.placeholder(tf.bool, [], name="choice"), lambda: tf.tanh(inputs) * other, lambda: inputs - other
        )
        tf.reduce_sum(chosen, name="loss")
    return written(folder, "cond_of_feeds", graph, ("loss",))


def while_v1(folder: Path) -> Sample:
    """Two nested loops of Enter, Exit and NextIteration with a ref variable in the body, trained: stacks between."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        weights = v1.get_variable("weights", [8, 8], use_resource=False)

        def inner(state: Any) -> Any:
            loop = v1.while_loop(lambda j, _: j < 2, lambda j, y: (j + 1, tf.tanh(y @ weights)), (0, state))
            return loop[1]

        _, last = v1.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, inner(x) + 0.1), (0, _inputs()))
        loss = tf.reduce_sum(last, name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train_step")
    return written(folder, "while_v1", graph, ("train_step", "loss"))


def tensor_array_v1(folder: Path) -> Sample:
    """A dynamic recurrence over TensorArrays of version 1, trained."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        steps = tf.transpose(_inputs((4, 5, 8)), [1, 0, 2])
        weights = v1.get_variable("weights", [8, 8], use_resource=True)
        taken = tf.TensorArray(tf.float32, 5).unstack(steps)
        given = tf.TensorArray(tf.float32, 5)

        def body(i: Any, state: Any, out: Any) -> Any:
            state = tf.tanh(tf.matmul(state, weights) + taken.read(i))
            return i + 1, state, out.write(i, state)

        _, last, given = v1.while_loop(lambda i, *_: i < 5, body, (0, tf.zeros([4, 8]), given))
        loss = tf.reduce_sum(given.stack()) + tf.reduce_sum(last)
        tf.identity(loss, name="loss")
        v1.train.AdagradOptimizer(0.1).minimize(loss, name="train_step")
    return written(folder, "tensor_array_v1", graph, ("train_step", "loss"))


def layers_of_a_recurrence(folder: Path) -> Sample:
    """Two layers of a dynamic recurrence, each fixed to its own device, over sentences of several lengths, trained."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        taken = tf.TensorArray(tf.float32, 4).unstack(tf.transpose(_inputs((3, 4, 8)), [1, 0, 2]))
        weights = []
        for layer in range(2):
            with tf.device(f"/cpu:{layer}"):
                weights.append(v1.get_variable(f"weights_{layer}", [16, 8], use_resource=layer == 0))
        lengths = tf.constant([[4], [2], [1]])

        def body(i: Any, below: Any, above: Any) -> Any:
            with tf.device("/cpu:0"):
                first = _of_sentences(i, below, tf.concat([taken.read(i), below], 1) @ weights[0], lengths)
            with tf.device("/cpu:1"):
                second = _of_sentences(i, above, tf.concat([first, above], 1) @ weights[1], lengths)
            return i + 1, first, second

        loop = v1.while_loop(lambda i, *_: i < 4, body, (0, tf.zeros([3, 8]), tf.zeros([3, 8])))
        loss = tf.reduce_sum(loop[2] ** 2.0, name="loss")
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        pairs = optimizer.compute_gradients(loss, colocate_gradients_with_ops=True)
        with tf.control_dependencies([loss, *(gradient for gradient, _ in pairs)]):  # who reads a ref sees its updates
            optimizer.apply_gradients([(tf.identity(gradient), of) for gradient, of in pairs], name="train_step")
    return written(folder, "layers_of_a_recurrence", graph, ("train_step", "loss"))


def _of_sentences(i: Any, before: Any, after: Any, lengths: Any) -> Any:
    """The new state of the sentences that have not ended; the shorter path if all are still there."""
    after = tf.tanh(after)
    ended = tf.tile(i >= lengths, [1, 8])
    return v1.cond(i < tf.reduce_min(lengths), lambda: after, lambda: tf.where(ended, before, after))


def values_from_outside(folder: Path) -> Sample:
    """Loops in a loop that take values of 1, 3 and 12 consumers from outside, one of them from both levels."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        inputs = _inputs()
        scale, shift, often = (tf.reduce_mean(inputs) * factor for factor in (0.5, 0.1, 0.9))

        def inner(state: Any) -> Any:
            return v1.while_loop(lambda j, _: j < 2, lambda j, y: (j + 1, tf.tanh(y * scale) + shift), (0, state))[1]

        def body(i: Any, x: Any, y: Any) -> Any:
            x, y = inner(y) - shift * shift, inner(x)
            for _ in range(4):
                x, y = tf.sin(y * often), x + tf.cos(often) - often
            return i + 1, x, y

        loop = v1.while_loop(lambda i, *_: i < 3, body, (0, inputs, inputs + 1.0))
        tf.add(tf.reduce_sum(loop[1]), tf.reduce_sum(loop[2]), name="loss")
    return written(folder, "values_from_outside", graph, ("loss",))


def replicas(folder: Path) -> Sample:
    """A SavedModel: steps of two replicas, each a loop over time and its gradients, in a loop over the steps."""
    model = tf.Module()
    model.weights = [tf.Variable(tf.reshape(tf.range(64.0), [8, 8]) * 0.001 * (i + 1)) for i in range(2)]

    def loss_of(states: Any, weights: Any) -> Any:
        state = states[0]
        for time in tf.range(3):
            state = tf.tanh(state @ weights) if time > 0 else tf.sin(state @ weights) + states[time]
        return tf.reduce_mean(state**2.0)

    def train(inputs: Any) -> Any:
        total = 0.0
        for step in tf.range(2):
            gradients = []
            for weights in model.weights:
                with tf.GradientTape() as tape:
                    loss = loss_of(inputs[step], weights)
                gradients.append(tape.gradient(loss, weights))
                total += loss
            for weights in model.weights:
                weights.assign_sub(0.1 * (gradients[0] + gradients[1]))
        return {"loss": total}

    target = folder / "replicas"
    step = tf.function(train, [tf.TensorSpec([2, 3, 4, 8], tf.float32, name="inputs")])
    tf.saved_model.save(model, str(target), signatures={"train": step})
    return Sample(zipped(folder, "replicas", target))


def control_flow_v2(folder: Path) -> Sample:
    """Functional If, Case and While with TensorLists, resource variables in the bodies, trained."""
    v1.enable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        inputs = _inputs() * 1.0
        weights = v1.get_variable("weights", [8, 8], use_resource=True)
        bias = v1.get_variable("bias", [8], use_resource=True)
        given = tf.TensorArray(tf.float32, 3, element_shape=[4, 8])

        def body(i: Any, x: Any, out: Any) -> Any:
            x = tf.cond(i > 1, lambda: tf.tanh(tf.matmul(x, weights)), lambda: x + bias)
            return i + 1, x, out.write(i, x)

        _, last, given = tf.while_loop(lambda i, *_: i < 3, body, (0, inputs, given))
        chosen = tf.switch_case(
            tf.cast(tf.reduce_sum(last) > 0.0, tf.int32), [lambda: last * 2.0, lambda: last @ weights]
        )
        loss = tf.reduce_sum(chosen) + tf.reduce_sum(given.stack())
        tf.identity(loss, name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train_step")
    v1.disable_control_flow_v2()
    return written(folder, "control_flow_v2", graph, ("train_step", "loss"))


def functions(folder: Path) -> Sample:
    """PartitionedCall and StatefulPartitionedCall, nested, with variables, and the gradient of it all."""
    with tf.Graph().as_default() as graph:
        weights = v1.get_variable("weights", [8, 8], use_resource=True)

        layer = tf.function(lambda x: tf.tanh(tf.matmul(x, weights)))
        model = tf.function(lambda x: layer(layer(x)) + tf.reduce_mean(x))
        loss = tf.reduce_sum(model(_inputs()) ** 2.0)
        tf.identity(loss, name="loss")
        v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train_step")
    return written(folder, "functions", graph, ("train_step", "loss"))


def two_handles(folder: Path) -> Sample:
    """Two handle ops that name one variable: on two devices they would be two variables."""
    with tf.Graph().as_default() as graph:
        handles = [
            tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[4, 8], shared_name="shared", container="", name=name)
            for name in ("writer", "reader")
        ]
        tf.raw_ops.AssignVariableOp(resource=handles[0], value=_inputs() * 2.0, name="train_step")
        with tf.control_dependencies([graph.get_operation_by_name("train_step")]):
            tf.reduce_sum(tf.raw_ops.ReadVariableOp(resource=handles[1], dtype=tf.float32), name="loss")
    return written(folder, "two_handles", graph, ("train_step", "loss"))


def queue(folder: Path) -> Sample:
    """A queue with a barrier behind its enqueue, and a stack."""
    with tf.Graph().as_default() as graph:
        fifo = tf.queue.FIFOQueue(10, [tf.float32, tf.int32], shapes=[[4, 8], []], shared_name="fifo")
        with tf.control_dependencies([fifo.enqueue((_inputs(), 3))]):
            second = fifo.enqueue((tf.ones([4, 8]), 4))
        with tf.control_dependencies([second]):
            taken, number = fifo.dequeue()
        with tf.control_dependencies([taken]):
            left = fifo.size()
        tf.add(tf.reduce_sum(taken), tf.cast(number + left, tf.float32), name="loss")
    return written(folder, "queue", graph, ("loss",))


def tables_and_strings(folder: Path) -> Sample:
    """Hash tables, one filled by an initializer, strings, an embedding that is sparsely updated."""
    with tf.Graph().as_default() as graph:
        words = v1.placeholder(tf.string, [4], name="words")
        keys = tf.strings.join(["", words])
        values = tf.constant([1, 2], tf.int64)
        filling = tf.lookup.KeyValueTensorInitializer(tf.constant(["1", "b"]), values)
        table = tf.lookup.StaticHashTable(filling, 0)
        found = table.lookup(tf.strings.lower(keys))
        dense = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, 0.5, -1, -2)
        with tf.control_dependencies([dense.insert(found, [2.0, 3.0, 4.0, 5.0])]):
            weights = dense.lookup(found)
        embedding = v1.get_variable("embedding", [3, 8], use_resource=False)
        taken = tf.nn.embedding_lookup(embedding, found) * weights[:, None]
        loss = tf.reduce_sum(taken) + tf.cast(tf.reduce_sum(tf.strings.length(keys)), tf.float32)
        tf.identity(loss, name="loss")
        v1.train.AdagradOptimizer(0.1).minimize(loss, name="train_step")
        start = v1.get_collection(v1.GraphKeys.TABLE_INITIALIZERS)[0].name
    return written(
        folder,
        "tables_and_strings",
        graph,
        ("train_step", "loss"),
        PlacedStep(("train_step", "loss:0"), starts=(start,)),
    )


def dataset(folder: Path) -> Sample:
    """A dataset with a mapped function and its iterator feed a step."""
    with tf.Graph().as_default() as graph:
        rows = tf.data.Dataset.from_tensor_slices(tf.reshape(tf.range(32.0), [8, 4])).map(lambda row: row * 2.0)
        iterator = v1.data.make_initializable_iterator(rows.batch(4))
        taken = tf.ensure_shape(iterator.get_next(), [4, 4])
        loss = tf.reduce_sum(_dense(taken, 2, "layer", resource=True))
        tf.identity(loss, name="loss")
        start = iterator.initializer.name
    return written(folder, "dataset", graph, ("loss",), PlacedStep(("loss:0",), starts=(start,)))


def fixed_devices(folder: Path) -> Sample:
    """Half of the graph has its devices already, some by co-location."""
    with tf.Graph().as_default() as graph:
        with tf.device("/job:localhost/replica:0/task:0/device:CPU:1"):
            first = _dense(_inputs(), 8, "first", resource=True)
        with v1.colocate_with(first):
            beside = tf.exp(first)
        with tf.device("/cpu:2"):
            second = _dense(beside, 8, "second", resource=False)
        tf.reduce_sum(_dense(second, 2, "third", resource=True), name="loss")
        loss = graph.get_tensor_by_name("loss:0")
        gradients = v1.gradients(loss, v1.trainable_variables(), colocate_gradients_with_ops=True)
        tf.add_n([tf.reduce_sum(gradient) for gradient in gradients], name="norm")
    return written(folder, "fixed_devices", graph, ("loss", "norm"))


def meta_graph(folder: Path) -> Sample:
    """A MetaGraphDef of a training graph with its saver and initializers."""
    path = folder / "training.meta"
    with tf.Graph().as_default() as graph:
        loss = _perceptron(resource=False)
        step = v1.train.get_or_create_global_step()
        v1.train.AdamOptimizer(0.1).minimize(loss, step, name="train_step")
        v1.global_variables_initializer()
        saver = v1.train.Saver()
        v1.train.export_meta_graph(str(path), graph=graph, saver_def=saver.as_saver_def())
    return Sample(path)


def saved_model(folder: Path) -> Sample:
    """A SavedModel of a module with two signatures and captured variables, loops and branches in functions."""
    model = tf.Module()
    model.weights, model.bias = tf.Variable(tf.ones([8, 8]) * 0.1), tf.Variable(tf.zeros([8]))

    def serve(inputs: Any) -> Any:
        net = inputs
        for _ in tf.range(3):
            net = tf.tanh(tf.matmul(net, model.weights) + model.bias)
        return {"outputs": tf.cond(tf.reduce_sum(net) > 0.0, lambda: net + model.bias, lambda: net * 2.0)}

    def embed(inputs: Any) -> Any:
        return {"outputs": tf.matmul(inputs, model.weights)}

    taken = [tf.TensorSpec([None, 8], tf.float32, name="inputs")]
    signatures = {"serving_default": tf.function(serve, taken), "embed": tf.function(embed, taken)}
    target = folder / "saved_model"
    tf.saved_model.save(model, str(target), signatures=signatures)
    return Sample(zipped(folder, "saved_model", target))


def frozen(folder: Path) -> Sample:
    """A frozen inference graph, with a loop: variables are constants, functions stay in the library."""
    weights = tf.Variable(tf.ones([8, 8]) * 0.1)

    def serve(inputs: Any) -> Any:
        net = tf.nn.relu(tf.matmul(inputs, weights))
        for _ in tf.range(2):
            net = tf.nn.softmax(tf.matmul(net, weights))
        return net

    concrete = tf.function(serve).get_concrete_function(tf.TensorSpec([4, 8], tf.float32, name="inputs"))
    constant = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
    path = folder / "frozen.pb"
    path.write_bytes(constant.graph.as_graph_def().SerializeToString(deterministic=True))
    return Sample(path, PlacedStep((constant.outputs[0].name,)))


SAMPLES: dict[str, Callable[[Path], Sample]] = {
    "ref variables, Momentum": ref_variables,
    "resource variables, Adam": resource_variables_adam,
    "text, RMSProp, control edges": rmsprop_as_text,
    "batch norm, dropout": batch_norm,
    "cond v1, trained": cond_v1,
    "cond v1 of feeds": cond_of_feeds,
    "while v1, nested, trained": while_v1,
    "TensorArray v1, trained": tensor_array_v1,
    "layers of a recurrence v1, trained": layers_of_a_recurrence,
    "values from outside loops v1": values_from_outside,
    "replicas in a loop of steps, SavedModel": replicas,
    "If, Case, While v2, TensorList": control_flow_v2,
    "functions, trained": functions,
    "two handles of a variable": two_handles,
    "queue": queue,
    "tables, strings, sparse update": tables_and_strings,
    "dataset, iterator": dataset,
    "fixed devices": fixed_devices,
    "MetaGraphDef, Adam": meta_graph,
    "SavedModel": saved_model,
    "frozen inference graph": frozen,
}
