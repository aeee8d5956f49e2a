"""LSTM layers and attention, unrolled step by step, from plain TensorFlow ops. Imported only in a child."""

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from engine.zoo.layers import Tensor, dropout, v1, variable

LARGEST_START = 0.04
"""weights start uniformly distributed between minus this and this (GNMT)"""
FORGET_BIAS = 1.0


@dataclass(frozen=True, slots=True)
class State:
    """The state of an LSTM layer between two steps, both [batch, units]."""

    memory: Tensor
    output: Tensor


def started_weights(name: str, rows: int, columns: int) -> Any:
    """A new trained matrix [rows, columns] in the current scope."""
    return variable(name, [rows, columns], v1.random_uniform_initializer(-LARGEST_START, LARGEST_START, seed=1))


def inside(path: str) -> Any:
    """The name scope `path` itself, also if it was entered before."""
    return tf.name_scope(f"{path}/")


class LstmLayer:
    """One layer: its weights, read once, and its cell at each step. Ops are named `path`/step_0/..., and so on."""

    def __init__(self, path: str, inputs: int, units: int, dropped: float = 0.0) -> None:
        """Weights for `inputs` features a step; `dropped` is the share of them that training drops."""
        self._path, self._dropped = path, dropped
        with v1.variable_scope(path):
            kernel = started_weights("weights", inputs + units, 4 * units)
            bias = variable("bias", [4 * units], v1.zeros_initializer())
        with inside(path):
            self._kernel, self._bias = kernel.read_value(), bias.read_value()

    def step(self, index: int, inputs: Tensor, state: State) -> State:
        """The state after step `index` on `inputs` [batch, features]."""
        with inside(f"{self._path}/step_{index}"):
            kept = dropout(inputs, self._dropped, name="dropout")
            gates = tf.matmul(tf.concat([kept, state.output], axis=1, name="concat"), self._kernel, name="matmul")
            gates = tf.nn.bias_add(gates, self._bias, name="add_bias")
            entering, proposed, forgetting, leaving = tf.split(gates, 4, axis=1, name="gates")
            forget = tf.sigmoid(tf.add(forgetting, FORGET_BIAS, name="forget_bias"), name="forget")
            remembered = tf.multiply(state.memory, forget, name="remembered")
            enter, proposal = tf.sigmoid(entering, name="enter"), tf.tanh(proposed, name="proposal")
            memory = tf.add(remembered, tf.multiply(enter, proposal, name="learned"), name="memory")
            output = tf.multiply(tf.tanh(memory, name="active"), tf.sigmoid(leaving, name="leave"), name="output")
            return State(memory, output)

    def zero_state(self, batch: int, units: int) -> State:
        """The state before the first step of a layer that gets none."""
        with inside(f"{self._path}/zero_state"):
            return State(tf.zeros([batch, units], name="memory"), tf.zeros([batch, units], name="output"))


class Attention:
    """A network of one hidden layer that weighs the encoder's outputs at each step of the decoder.

    Source: Wu et al. 2016, section 3, equation 4; Bahdanau et al. 2014, appendix A.1.2.
    """

    PATH = "attention"

    def __init__(self, encoded: list[Tensor]) -> None:
        """`encoded`: the encoder's output at each step, [batch, units]."""
        self._batch, self._units, self._steps = int(encoded[0].shape[0]), int(encoded[0].shape[1]), len(encoded)
        with v1.variable_scope(self.PATH):
            of_memory = started_weights("memory_weights", self._units, self._units)
            of_query = started_weights("query_weights", self._units, self._units)
            of_energy = started_weights("energy_weights", self._units, 1)
        with inside(self.PATH):
            self._memory = tf.stack(encoded, axis=1, name="memory")
            flat = tf.reshape(self._memory, [self._batch * self._steps, self._units], name="flat")
            keys = tf.matmul(flat, of_memory.read_value(), name="keys")
            self._keys = tf.reshape(keys, [self._batch, self._steps, self._units], name="keys_of_steps")
            self._of_query, self._of_energy = of_query.read_value(), of_energy.read_value()

    def step(self, index: int, query: Tensor) -> Tensor:
        """The context for `query` [batch, units]: the weighted mean of the encoder's outputs [batch, units]."""
        with inside(f"{self.PATH}/step_{index}"):
            asked = tf.expand_dims(tf.matmul(query, self._of_query, name="query"), 1, name="of_every_step")
            energy = tf.tanh(tf.add(self._keys, asked, name="compared"), name="energy")
            energy = tf.reshape(energy, [self._batch * self._steps, self._units], name="flat")
            scores = tf.reshape(tf.matmul(energy, self._of_energy, name="scores"), [self._batch, self._steps])
            looked_at = tf.expand_dims(tf.nn.softmax(scores, name="weights"), 1, name="weights_of_steps")
            return tf.squeeze(tf.matmul(looked_at, self._memory, name="weighted"), [1], name="context")

    def nothing(self) -> Tensor:
        """The context before the first step: zeros [batch, units]."""
        with inside(f"{self.PATH}/zero_state"):
            return tf.zeros([self._batch, self._units], name="context")


class DotAttention:
    """The same from dot products of the decoder's state with the encoder's outputs, without weights of its own.

    Source: Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.1.
    """

    def __init__(self, encoded: list[Tensor]) -> None:
        """`encoded`: the encoder's output at each step, [batch, units]."""
        self._batch, self._units = int(encoded[0].shape[0]), int(encoded[0].shape[1])
        with inside(Attention.PATH):
            self._memory = tf.stack(encoded, axis=1, name="memory")

    def step(self, index: int, query: Tensor) -> Tensor:
        """The context for `query` [batch, units]: the weighted mean of the encoder's outputs [batch, units]."""
        with inside(f"{Attention.PATH}/step_{index}"):
            asked = tf.expand_dims(query, 1, name="of_every_step")
            scores = tf.matmul(asked, self._memory, transpose_b=True, name="scores")
            looked_at = tf.nn.softmax(scores, name="weights")
            return tf.squeeze(tf.matmul(looked_at, self._memory, name="weighted"), [1], name="context")

    def nothing(self) -> Tensor:
        """The context before the first step: zeros [batch, units]."""
        with inside(f"{Attention.PATH}/zero_state"):
            return tf.zeros([self._batch, self._units], name="context")
