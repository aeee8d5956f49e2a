"""Neural machine translation with attention, a full training step or inference. Imported only in a child.

Source: Wu et al. 2016, "Google's Neural Machine Translation System" (GNMT, arXiv 1609.08144), sections 3 to 5, and its
published configuration (tensorflow/nmt, wmt16_gnmt_4_layer.json): 1,024 units, 32,000 word pieces, batch 128, dropout
0.2, the encoder's first layer bidirectional, residual connections from the third layer on, attention queried by the
decoder's lowest layer and passed to all of them, each decoder layer started from the state of the encoder's layer of
the same number, gradients clipped at norm 5, stochastic gradient descent with learning rate 1. From Placeto's
experiments: one layer a GPU (2 or 4) and 32 steps, unrolled statically, so that each step has its own softmax. Every
sentence has one word a step, and the attention's scores are not normalised by the length of their weights; instead of
GNMT's additive attention it can have Luong et al.'s dot product (2015, section 3.1). Inference translates greedily:
each word is the likeliest after the previous one.

Names, from the outside in (i counts layers, t steps, both from 0):

- `encoder/embedding/...` and `decoder/embedding/...`;
- `encoder/layer_0/forward/step_t/...` and `encoder/layer_0/backward/step_t/...`: the bidirectional layer, where the
  backward half sees word t at its step t too, and joined in `encoder/layer_0/step_t`; `encoder/layer_i/step_t/...`
  above; `decoder/layer_i/step_t/...`;
- `attention/...`: ops that run once; `attention/step_t/...`;
- `softmax/step_t/...`: the product with the vocabulary, its softmax and the loss of a word (or the likeliest one);
- gradients carry the name of their forward op (`gradients/decoder/layer_1/step_5/...`), except the sums of several
  (`gradients/AddN_7`), which TensorFlow only numbers; `clipping/...` and updates (`optimizer/update_...`)
  carry the name of their variable (`decoder/layer_1/weights`).
"""

from typing import Any

import tensorflow as tf

from engine.zoo.layers import Tensor, for_inference, v1
from engine.zoo.lstm import Attention, DotAttention, LstmLayer, State, inside, started_weights
from engine.zoo.settings import DOT, NmtSettings
from engine.zoo.training_step import PREDICTION, Optimizer, pruned_prediction, pruned_step, training_step

LEARNING_RATE = 1.0
LARGEST_NORM = 5.0
FIRST_RESIDUAL = 2
"""the third layer"""
START_WORD = 1
"""in inference, the input word of the first step"""


def build(settings: NmtSettings) -> Any:
    """Build the GraphDef."""
    graph = tf.Graph()
    with graph.as_default():
        for_inference(settings.inference)
        words = v1.placeholder(tf.int32, [settings.steps, settings.batch], name="source")
        encoded, states = _encoder(_embedded(words, settings, "encoder"), settings)
        decoder = Decoder(encoded, states, settings)
        if settings.inference:
            tf.stack(decoder.translation(), name=PREDICTION)
            return pruned_prediction(graph)
        before = v1.placeholder(tf.int32, [settings.steps, settings.batch], name="target_before")
        wanted = v1.placeholder(tf.int32, [settings.steps, settings.batch], name="target")
        losses = decoder.losses(before, wanted)
        with inside("total_loss"):
            loss = tf.divide(tf.add_n(losses, name="sum"), settings.batch, name="of_a_sentence")
        training_step(loss, Optimizer.GRADIENT_DESCENT, LEARNING_RATE, largest_norm=LARGEST_NORM)
    return pruned_step(graph)


def _embedding(settings: NmtSettings, side: str) -> Any:
    """The word vectors of one language: [vocabulary, units]."""
    with v1.variable_scope(f"{side}/embedding"):
        return started_weights("weights", settings.vocabulary, settings.units)


def _embedded(words: Tensor, settings: NmtSettings, side: str) -> list[Tensor]:
    """The vectors of `words` [steps, batch] for each step, [batch, units]."""
    table = _embedding(settings, side)
    with inside(f"{side}/embedding"):
        return list(tf.unstack(tf.gather(table, words, name="lookup"), name="steps"))


def _encoder(inputs: list[Tensor], settings: NmtSettings) -> tuple[list[Tensor], list[State]]:
    """The top layer's output at each step [batch, units], and the last state of each layer."""
    forward, _ = _layer(inputs, settings, "encoder/layer_0/forward")
    reverse, state = _layer(inputs[::-1], settings, "encoder/layer_0/backward", backwards=True)
    outputs = []
    for index, halves in enumerate(zip(forward, reverse[::-1], strict=True)):
        with inside(f"encoder/layer_0/step_{index}"):
            outputs.append(tf.concat(halves, axis=1, name="concat"))
    states = [state]
    for layer in range(1, settings.layers):
        below = outputs
        outputs, state = _layer(below, settings, f"encoder/layer_{layer}")
        states.append(state)
        if layer >= FIRST_RESIDUAL:
            outputs = [
                _residual(f"encoder/layer_{layer}", *each) for each in enumerate(zip(outputs, below, strict=True))
            ]
    return outputs, states


def _layer(
    inputs: list[Tensor], settings: NmtSettings, path: str, *, backwards: bool = False
) -> tuple[list[Tensor], State]:
    """The outputs of a layer in the order of `inputs`, and its last state."""
    layer = LstmLayer(path, int(inputs[0].shape[1]), settings.units, settings.dropout)
    state = layer.zero_state(settings.batch, settings.units)
    outputs = []
    for index, each in enumerate(inputs):
        state = layer.step(len(inputs) - 1 - index if backwards else index, each, state)
        outputs.append(state.output)
    return outputs, state


def _residual(path: str, index: int, added: tuple[Tensor, Tensor]) -> Tensor:
    """The sum of a layer's output and its input."""
    with inside(f"{path}/step_{index}"):
        return tf.add(*added, name="residual")


class Decoder:
    """The decoder with its attention and its softmax; `losses` or `translation` unrolls it."""

    def __init__(self, encoded: list[Tensor], states: list[State], settings: NmtSettings) -> None:
        """`encoded`: the encoder's output at each step [batch, units]; `states`: the last of each encoder layer."""
        self._settings, self._states = settings, list(states)
        self._attention = DotAttention(encoded) if settings.attention == DOT else Attention(encoded)
        self._context = self._attention.nothing()
        self._layers = [
            LstmLayer(f"decoder/layer_{layer}", 2 * settings.units, settings.units, settings.dropout)
            for layer in range(settings.layers)
        ]
        with v1.variable_scope("softmax"):
            table = started_weights("weights", settings.units, settings.vocabulary)
        with inside("softmax"):
            self._of_words = table.read_value()

    def losses(self, before: Tensor, wanted: Tensor) -> list[Tensor]:
        """The loss of each step, summed over the batch; `before` and `wanted`: [steps, batch] words."""
        losses = []
        inputs = _embedded(before, self._settings, "decoder")
        with inside("softmax"):
            answers = tf.unstack(wanted, name="targets")
        for index, (each, answer) in enumerate(zip(inputs, answers, strict=True)):
            logits = self._logits(index, each)
            with inside(f"softmax/step_{index}"):
                of_words = tf.nn.sparse_softmax_cross_entropy_with_logits(answer, logits, name="cross_entropy")
                losses.append(tf.reduce_sum(of_words, name="loss"))
        return losses

    def translation(self) -> list[Tensor]:
        """The likeliest word at each step, [batch]."""
        table = _embedding(self._settings, "decoder")
        with inside("decoder/embedding"):
            word = tf.fill([self._settings.batch], START_WORD, name="start")
        words = []
        for index in range(self._settings.steps):
            with inside(f"decoder/embedding/step_{index}"):
                inputs = tf.gather(table, word, name="lookup")
            logits = self._logits(index, inputs)
            with inside(f"softmax/step_{index}"):
                word = tf.argmax(logits, axis=1, output_type=tf.int32, name="likeliest")
            words.append(word)
        return words

    def _logits(self, index: int, inputs: Tensor) -> Tensor:
        """The logits [batch, vocabulary] after one more step on `inputs` [batch, units]."""
        output, context = inputs, self._context
        for layer, lstm in enumerate(self._layers):
            with inside(f"decoder/layer_{layer}/step_{index}"):
                joined = tf.concat([output, context], axis=1, name="with_context")
            self._states[layer] = lstm.step(index, joined, self._states[layer])
            below, output = output, self._states[layer].output
            if layer == 0:
                context = self._context = self._attention.step(index, output)
            if layer >= FIRST_RESIDUAL:
                output = _residual(f"decoder/layer_{layer}", index, (output, below))
        with inside(f"softmax/step_{index}"):
            return tf.matmul(output, self._of_words, name="logits")
