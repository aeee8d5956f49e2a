"""SavedModels of all kinds, each as people save it. Used in a child alone, where TensorFlow is loaded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1
keras = tf.keras
layers = tf.keras.layers


def _exported(folder: Path, inputs: Any, outputs: Any) -> None:
    keras.Model(inputs, outputs).export(str(folder), verbose=False)


def dense(folder: Path) -> None:
    """Dense layers."""
    inputs = keras.Input((6,))
    _exported(folder, inputs, layers.Dense(4, "softmax")(layers.Dense(8, "relu")(inputs)))


def convolution(folder: Path) -> None:
    """Convolutions with batch normalisation, whose averages are variables that no gradient reaches."""
    inputs = keras.Input((8, 8, 3))
    net = layers.BatchNormalization()(layers.Conv2D(4, 3, activation="relu")(inputs))
    net = layers.DepthwiseConv2D(3, padding="same")(net)
    _exported(folder, inputs, layers.Dense(2)(layers.GlobalAveragePooling2D()(net)))


def recurrent(folder: Path) -> None:
    """While loops with TensorLists: LSTM both ways, GRU."""
    inputs = keras.Input((5, 4))
    net = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(inputs)
    _exported(folder, inputs, layers.Dense(2)(layers.GRU(3)(net)))


def transformer(folder: Path) -> None:
    """Attention with a causal mask over embedded words."""
    inputs = keras.Input((6,), dtype="int32")
    net = layers.Embedding(5, 8)(inputs)
    net = layers.LayerNormalization()(net + layers.MultiHeadAttention(2, 4)(net, net, use_causal_mask=True))
    _exported(folder, inputs, layers.Dense(5)(net + layers.Dense(8, "gelu")(net)))


def mixed_precision(folder: Path) -> None:
    """Weights of 32 bits, sums of 16."""
    inputs = keras.Input((6,))
    net = layers.Dense(8, "relu", dtype="mixed_bfloat16")(inputs)
    _exported(folder, inputs, layers.Dense(2, dtype="float32")(net))


def branches(folder: Path) -> None:
    """Conditions, a case and a loop with variables in them; an output that is an input, and one that is a constant."""
    model = tf.Module()
    model.weights, model.bias = tf.Variable(tf.ones([4, 4]) * 0.3), tf.Variable(tf.ones([4]) * 0.1, name="bias")

    def serve(inputs: Any) -> Any:
        net = inputs
        for _ in tf.range(3):
            net = tf.tanh(tf.matmul(net, model.weights))
        net = tf.cond(tf.reduce_sum(net) > 0.0, lambda: net + model.bias, lambda: net * 2.0)
        last = tf.switch_case(tf.constant(1), [lambda: net, lambda: tf.matmul(net, model.weights)])
        return {"last": last, "same": inputs, "fixed": tf.constant([1, 2])}

    served = tf.function(serve, [tf.TensorSpec([None, 4], tf.float32, name="inputs")])
    tf.saved_model.save(model, str(folder), signatures={"serving_default": served})


class _Words(tf.Module):  # type: ignore[misc]
    """Tables from a file, from constants and by insertion; two signatures."""

    def __init__(self, vocabulary: Path) -> None:
        super().__init__()
        vocabulary.write_text("0\n1\n2\n")
        line = tf.lookup.TextFileIndex.LINE_NUMBER
        whole = tf.lookup.TextFileIndex.WHOLE_LINE
        read = tf.lookup.TextFileInitializer(str(vocabulary), tf.string, whole, tf.int64, line)
        self.from_file = tf.lookup.StaticVocabularyTable(read, 1)
        fixed = tf.lookup.KeyValueTensorInitializer(["1", "2"], [0.25, 0.5])
        self.fixed = tf.lookup.StaticHashTable(fixed, 0.0)
        self.inserted = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, 0.0)
        self.inserted.insert(tf.constant(["1"]), tf.constant([5.0]))
        self.embedding = tf.Variable(tf.reshape(tf.range(32.0), [4, 8]), name="embedding")
        self.other = tf.Variable([7.0, 8.0], name="other")

    def embed(self, words: Any, unused: Any) -> Any:
        """What `unused` is does not matter."""
        assert unused is not None
        summed = self.fixed.lookup(words) + self.inserted.lookup(words)
        return {"embedded": tf.gather(self.embedding, self.from_file.lookup(words)), "summed": summed}

    def scale(self, factor: Any) -> Any:
        """The other signature, with the other variable."""
        return {"scaled": self.other * factor}


def tables(folder: Path) -> None:
    """Tables of three kinds, a vocabulary among the assets, an input that is not used; not the usual signature."""
    model = _Words(folder.with_name("vocabulary.txt"))
    words, number = tf.TensorSpec([None], tf.string, name="words"), tf.TensorSpec([], tf.float32, name="unused")
    embed = tf.function(model.embed).get_concrete_function(words, number)
    scale = tf.function(model.scale).get_concrete_function(tf.TensorSpec([], tf.float32, name="factor"))
    tf.saved_model.save(model, str(folder), signatures={"embed": embed, "scale": scale})


def training(folder: Path) -> None:
    """A training step: Adam's slots and counters are variables too, and the signature writes them."""
    inputs = keras.Input((6,))
    model = keras.Model(inputs, layers.Dense(3)(layers.Dense(4, "relu")(inputs)))
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)

    def step(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, model(images, training=True)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return {"loss": loss}

    module = tf.Module()
    module.held = [*model.variables, *optimizer.variables]
    images = tf.TensorSpec([2, 6], tf.float32, name="images")
    served = tf.function(step, [images, tf.TensorSpec([2], tf.int32, name="labels")])
    tf.saved_model.save(module, str(folder), signatures={"train": served})


def compiled(folder: Path) -> None:
    """A call that XLA compiles whole, which no inliner takes apart: its function stays in the library."""
    model = tf.Module()
    model.weights = tf.Variable(tf.ones([4, 4]) * 0.3)
    whole = tf.function(lambda taken: tf.tanh(tf.matmul(taken, model.weights)), jit_compile=True)
    served = tf.function(
        lambda inputs: {"out": whole(inputs) + 1.0}, [tf.TensorSpec([2, 4], tf.float32, name="inputs")]
    )
    tf.saved_model.save(model, str(folder), signatures={"serving_default": served})


def without_variables(folder: Path) -> None:
    """A function of its inputs alone."""
    taken = [tf.TensorSpec([2, 4], tf.float32, name="inputs")]
    served = tf.function(lambda inputs: {"out": tf.nn.softmax(inputs)}, taken)
    tf.saved_model.save(tf.Module(), str(folder), signatures={"serving_default": served})


def first_form(folder: Path) -> None:
    """What TensorFlow 1 saved: ref and resource variables, a partitioned one, a table from an asset."""
    vocabulary = folder.with_name("words.txt")
    vocabulary.write_text("0\n1\n")
    with tf.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, [None], name="words")
        asset = tf.constant(str(vocabulary), name="asset")
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, asset)
        read = tf.lookup.TextFileInitializer(asset, tf.string, 0, tf.int64, -1)
        numbers = tf.lookup.StaticHashTable(read, 2).lookup(words)
        ref = v1.get_variable("ref", initializer=tf.ones([3, 4]) * 0.5, use_resource=False)
        resource = v1.get_variable("resource", initializer=tf.ones([4, 4]) * 0.25, use_resource=True)
        halves = v1.fixed_size_partitioner(2)
        parts = v1.get_variable("parts", initializer=tf.ones([4, 4]), use_resource=True, partitioner=halves)
        unused = v1.get_variable("unused", initializer=tf.ones([2]), use_resource=True)
        out = tf.matmul(tf.matmul(tf.gather(ref, numbers), resource), tf.convert_to_tensor(parts))
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        session.run(unused.assign([3.0, 4.0]))
        signature = v1.saved_model.predict_signature_def({"words": words}, {"out": out})
        builder = v1.saved_model.Builder(str(folder))
        assets = v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS)
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"predict": signature},
            assets_collection=assets,
            main_op=v1.tables_initializer(),
            saver=v1.train.Saver(sharded=True),
        )
        builder.save()


def writing_loops(folder: Path) -> None:
    """Variables and a table written in a loop, in a loop and a condition in it, before and after it; steps of SGD."""
    model = tf.Module()
    model.cache, model.scores = tf.Variable(tf.zeros([2, 4])), tf.Variable(tf.ones([3, 3]))
    model.weights, model.slots = tf.Variable(tf.ones([4, 4]) * 0.2), tf.Variable(tf.zeros([4, 4]))
    model.table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)
    model.table.insert(tf.constant([0], tf.int64), tf.constant([0.5]))

    def serve(inputs: Any) -> Any:
        model.cache.scatter_nd_update([[0]], inputs[:1])
        for step in tf.range(3):
            model.cache.scatter_nd_update([[step % 2]], inputs[:1] * tf.cast(step, tf.float32))
            model.cache[1:2, :2].assign(inputs[:1, 2:])
            model.cache.scatter_add(tf.IndexedSlices(inputs[0], 1))
            gradient = tf.matmul(inputs, tf.tanh(tf.matmul(inputs, model.weights)), transpose_a=True)
            tf.raw_ops.ResourceApplyMomentum(
                var=model.weights.handle, accum=model.slots.handle, lr=0.1, grad=gradient, momentum=0.5
            )
            key = tf.cast(step, tf.int64)[None]
            model.table.insert(key, model.table.lookup(key) + 1.0)
            for other in tf.range(2):
                model.scores.scatter_nd_update([[other, other]], [tf.reduce_sum(model.cache)])
                if tf.reduce_sum(model.scores) > 1.0:
                    model.scores.scatter_nd_add([[0, other]], [1.0])
                else:
                    model.scores.scatter_nd_sub([[0, other]], [1.0])
        model.cache.scatter_nd_update([[1]], inputs[1:2])
        held = {"cache": model.cache, "scores": model.scores, "weights": model.weights}
        counted = model.table.lookup(tf.range(3, dtype=tf.int64))
        return {"counted": counted} | {name: variable.read_value() for name, variable in held.items()}

    served = tf.function(serve, [tf.TensorSpec([2, 4], tf.float32, name="inputs")])
    tf.saved_model.save(model, str(folder), signatures={"serving_default": served})


def first_form_loops(folder: Path) -> None:
    """What TensorFlow 1 saved: ref and resource variables written in a while loop, its gradient, and TensorArrays."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default(), v1.Session() as session:
        inputs = v1.placeholder(tf.float32, [2, 4], name="inputs")
        ref = v1.get_variable("ref", initializer=tf.ones([3, 4]) * 0.5, use_resource=False)
        resource = v1.get_variable("resource", initializer=tf.ones([4, 4]) * 0.1, use_resource=True)

        def body(step: Any, net: Any, kept: Any) -> Any:
            added = resource.scatter_nd_add([[0, 1]], net[0, :1])  # after the last trip's read, as all writes here
            writes = [v1.scatter_nd_update(ref, [[step % 3]], net[:1]), added]
            with tf.control_dependencies(writes):
                net = tf.tanh(tf.matmul(net, resource.read_value()) + ref[:1])
            return step + 1, net, kept.write(step, net)

        kept = tf.TensorArray(tf.float32, 5, element_shape=[2, 4])
        _, net, kept = v1.while_loop(lambda step, *_: step < 5, body, [0, inputs, kept])
        with tf.control_dependencies([net]):
            weights = resource.read_value()
        _, last = v1.while_loop(
            lambda step, _: step < 3, lambda step, one: (step + 1, tf.tanh(tf.matmul(one, weights))), [0, inputs]
        )
        outputs = {"net": net, "kept": kept.stack(), "gradient": tf.gradients(tf.reduce_sum(last), [inputs])[0]}
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(folder))
        signature = v1.saved_model.predict_signature_def({"inputs": inputs}, outputs)
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()
    v1.enable_control_flow_v2()


def fixed_to_a_gpu(folder: Path) -> None:
    """A model with a table, all of it fixed to a GPU, as people make it with soft placement. Not among `SAMPLES`."""
    softly = v1.ConfigProto(allow_soft_placement=True)
    with tf.Graph().as_default(), tf.device("/device:GPU:0"), v1.Session(config=softly) as session:
        inputs, words = v1.placeholder(tf.float32, [2, 16], name="inputs"), v1.placeholder(tf.string, [2], name="words")
        weights = v1.get_variable("weights", initializer=tf.ones([16, 8]) * 0.5, use_resource=False)
        filled = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1.0, 2.0])
        found = tf.lookup.StaticHashTable(filled, 0.0, name="table").lookup(words, name="found")
        out = tf.multiply(tf.matmul(inputs, weights), tf.reshape(found, [2, 1]), name="out")
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        signature = v1.saved_model.predict_signature_def({"inputs": inputs, "words": words}, {"out": out})
        builder = v1.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, main_op=v1.tables_initializer()
        )
        builder.save()


SAMPLES: dict[str, tuple[Callable[[Path], None], str]] = {
    "dense": (dense, ""),
    "convolution": (convolution, ""),
    "recurrent": (recurrent, ""),
    "transformer": (transformer, ""),
    "mixed precision": (mixed_precision, ""),
    "branches": (branches, ""),
    "tables": (tables, "embed"),
    "the other signature": (tables, "scale"),
    "training": (training, ""),
    "compiled": (compiled, ""),
    "without variables": (without_variables, ""),
    "first form": (first_form, ""),
    "writing loops": (writing_loops, ""),
    "first form loops": (first_form_loops, ""),
}
"""name → (what saves it in a folder, the signature that is placed; empty: the usual one)"""
