"""Models with their own loops, maps and compiled functions."""

from typing import Any

import keras
import tensorflow as tf
from keras import layers

from tests.models.model import Built
from tests.models.products import matrix_product
from tests.models.steps import inference

LENGTH, WIDTH, VOCABULARY, END = 24, 64, 200, 1


def greedy_decoder(batch: int) -> Built:
    """Word after word by a GRU, until all sentences have ended, or for 24 words."""
    keras.utils.set_random_seed(0)
    states = keras.Input((WIDTH,), name="states")
    return inference(keras.Model(states, GreedyDecoder()(states)), batch)


class GreedyDecoder(layers.Layer):
    """[batch, width] first states → [batch, words]"""

    trips_of_body = LENGTH
    """at most"""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = layers.Embedding(VOCABULARY, WIDTH)
        self.cell = layers.GRUCell(WIDTH)
        self.logits = layers.Dense(VOCABULARY)

    def build(self, shape: Any) -> None:
        self.embedding.build()
        self.cell.build(shape)
        self.logits.build(shape)

    def call(self, inputs: Any) -> Any:
        batch = tf.shape(inputs)[0]

        def body(at: Any, words: Any, state: Any, ended: Any, found: Any) -> Any:
            _, (state,) = self.cell(self.embedding(words), [state])
            words = tf.argmax(self.logits(state), -1, output_type=tf.int32)
            return at + 1, words, state, ended | (words == END), found.write(at, words)

        def goes_on(at: Any, _words: Any, _state: Any, ended: Any, _found: Any) -> Any:
            return (at < LENGTH) & ~tf.reduce_all(ended)

        found = tf.TensorArray(tf.int32, LENGTH, element_shape=[inputs.shape[0]])
        start = (tf.constant(0), tf.zeros([batch], tf.int32), inputs, tf.zeros([batch], tf.bool), found)
        *_, found = tf.while_loop(goes_on, body, start)
        return tf.transpose(found.stack())


SETTLING_TRIPS = 12


def settling(batch: int) -> Built:
    """A deep equilibrium: a layer is repeated until its output no longer changes."""
    keras.utils.set_random_seed(0)
    vectors = keras.Input((WIDTH,), name="vectors")
    return inference(keras.Model(vectors, layers.Dense(10)(Settling()(vectors))), batch)


class Settling(layers.Layer):
    """z = tanh(Wz + x) by repetition; the number of repetitions depends only on the numbers."""

    trips_of_body = SETTLING_TRIPS
    """given when the file is read"""

    def __init__(self) -> None:
        super().__init__()
        self.again = layers.Dense(WIDTH, use_bias=False)

    def build(self, shape: Any) -> None:
        self.again.build(shape)

    def call(self, inputs: Any) -> Any:
        def body(_old: Any, new: Any) -> Any:
            return new, tf.tanh(0.1 * self.again(new) + inputs)

        def goes_on(old: Any, new: Any) -> Any:
            return tf.reduce_max(tf.abs(old - new)) > 1e-4

        return tf.while_loop(goes_on, body, (inputs - 1.0, inputs))[1]


STEPS = 20


def mapped(batch: int) -> Built:
    """`tf.map_fn` over the examples, then `tf.scan` over the steps."""
    keras.utils.set_random_seed(0)
    sequences = keras.Input((STEPS, WIDTH), name="sequences")
    net = Scanned()(Mapped()(sequences))
    more_flops = batch * 2 * matrix_product(STEPS, WIDTH, STEPS) + STEPS * matrix_product(batch, WIDTH, WIDTH)
    return inference(keras.Model(sequences, layers.Dense(3)(net)), batch, more_flops)


class Mapped(layers.Layer):
    """Sums of each example's rows, weighted by their similarity."""

    def call(self, inputs: Any) -> Any:
        def of_example(rows: Any) -> Any:
            return tf.matmul(tf.nn.softmax(tf.matmul(rows, rows, transpose_b=True)), rows)

        return tf.map_fn(of_example, inputs)


class Scanned(layers.Layer):
    """The last state of h = tanh(hW + x)."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = self.add_weight(shape=(WIDTH, WIDTH), name="matrix")

    def call(self, inputs: Any) -> Any:
        matrix = tf.convert_to_tensor(self.matrix)
        rows = tf.transpose(inputs, (1, 0, 2))
        states = tf.scan(lambda state, row: tf.tanh(tf.matmul(state, matrix) + row), rows, tf.zeros_like(rows[0]))
        return states[-1]


def compiled_by_xla(batch: int) -> Built:
    """A part that XLA compiles (`jit_compile=True`) between layers that it does not compile."""
    keras.utils.set_random_seed(0)
    vectors = keras.Input((WIDTH,), name="vectors")
    net = layers.Dense(256, activation="relu")(vectors)
    net = Compiled()(net)
    return inference(keras.Model(vectors, layers.Dense(10)(net)), batch)


class Compiled(layers.Layer):
    """Two dense layers in one compiled call."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = layers.Dense(512, activation="relu"), layers.Dense(256)

    def build(self, shape: Any) -> None:
        self.inner.build(shape)
        self.outer.build((None, 512))

    def call(self, inputs: Any) -> Any:
        return tf.function(lambda rows: self.outer(self.inner(rows)), jit_compile=True)(inputs)
