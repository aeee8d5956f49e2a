"""A language model of one searched recurrent cell for Penn Treebank, a training step or inference. Only in a child.

Source: Pham et al. 2018, "Efficient Neural Architecture Search via Parameter Sharing" (arXiv 1802.03268), section 2.1
and appendix A.1: a cell is a small recurrent highway network. Node 0 takes the word and the cell's last output; each
further node takes the state of an earlier one. Each node has one product: half of it passes the node's activation, half
a sigmoid, the gate between the taken state and the new one. The mean of the states that no node takes is the cell's
output. From the published code: 748 units, 35 steps, batch 64, 10,000 words, gradients clipped at norm 0.25,
stochastic gradient descent with learning rate 20. Unrolled statically, each step with its own softmax, as the zoo's
NMT. There is no dropout, no further penalty, and the softmax has its own weights, not the embedding's. Inference gives
the likeliest word after each.

Names, from the outside in (t counts steps, i nodes, both from 0):

- `embedding/...`; `cell/step_t/node_i/...`, `cell/step_t/output` (the mean); `cell/node_i/...`: its weights, read once;
  `softmax/step_t/...`;
- gradients, `clipping/...` and updates are named as NMT's (`nmt.py`).
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from engine.zoo.cells import CellNode, recurrent_cell
from engine.zoo.enas_settings import PtbSettings
from engine.zoo.layers import Tensor, for_inference, v1
from engine.zoo.lstm import inside, started_weights
from engine.zoo.training_step import PREDICTION, Optimizer, pruned_prediction, pruned_step, training_step

LEARNING_RATE = 20.0
LARGEST_NORM = 0.25
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "identity": lambda inputs: inputs,
    "sigmoid": lambda inputs: tf.sigmoid(inputs, name="active"),
    "tanh": lambda inputs: tf.tanh(inputs, name="active"),
    "relu": lambda inputs: tf.nn.relu(inputs, name="active"),
}


def build(settings: PtbSettings) -> Any:
    """Build the GraphDef."""
    graph = tf.Graph()
    with graph.as_default():
        for_inference(settings.inference)
        words = v1.placeholder(tf.int32, [settings.steps, settings.batch], name="words")
        logits = _logits(_outputs(_embedded(words, settings), settings), settings)
        if settings.inference:
            tf.argmax(tf.stack(logits, name="logits"), axis=2, output_type=tf.int32, name=PREDICTION)
            return pruned_prediction(graph)
        losses = _losses(logits, v1.placeholder(tf.int32, [settings.steps, settings.batch], name="next_words"))
        with inside("total_loss"):
            loss = tf.divide(tf.add_n(losses, name="sum"), settings.batch, name="of_a_sequence")
        training_step(loss, Optimizer.GRADIENT_DESCENT, LEARNING_RATE, largest_norm=LARGEST_NORM)
    return pruned_step(graph)


def _embedded(words: Tensor, settings: PtbSettings) -> list[Tensor]:
    """The vectors of `words` [steps, batch] for each step, [batch, units]."""
    with v1.variable_scope("embedding"):
        table = started_weights("weights", settings.vocabulary, settings.units)
    with inside("embedding"):
        return list(tf.unstack(tf.gather(table, words, name="lookup"), name="steps"))


class RecurrentCell:
    """The cell: the weights of its nodes, read once, and its step."""

    PATH = "cell"

    def __init__(self, nodes: tuple[CellNode, ...], units: int) -> None:
        self._nodes = nodes
        taken = {node.previous for node in nodes}
        self._ends = [index for index in range(len(nodes)) if index not in taken]
        self._kernels = []
        for index, node in enumerate(nodes):
            path = f"{self.PATH}/node_{index}"
            with v1.variable_scope(path):
                kernel = started_weights("weights", units if node.previous >= 0 else 2 * units, 2 * units)
            with inside(path):
                self._kernels.append(kernel.read_value())

    def step(self, index: int, inputs: Tensor, last: Tensor) -> Tensor:
        """The output [batch, units] after the word `inputs` and the output `last`, both [batch, units]."""
        path = f"{self.PATH}/step_{index}"
        states: list[Tensor] = []
        for number, (node, kernel) in enumerate(zip(self._nodes, self._kernels, strict=True)):
            with inside(f"{path}/node_{number}"):
                taken = states[node.previous] if node.previous >= 0 else last
                seen = taken if node.previous >= 0 else tf.concat([inputs, last], axis=1, name="concat")
                proposed, gate = tf.split(tf.matmul(seen, kernel, name="product"), 2, axis=1, name="halves")
                change = tf.subtract(ACTIVATIONS[node.activation](proposed), taken, name="change")
                passed = tf.multiply(tf.sigmoid(gate, name="gate"), change, name="passed")
                states.append(tf.add(taken, passed, name="state"))
        with inside(path):
            ends = [states[number] for number in self._ends]
            return ends[0] if len(ends) == 1 else tf.divide(tf.add_n(ends, name="sum"), len(ends), name="output")


def _outputs(inputs: list[Tensor], settings: PtbSettings) -> list[Tensor]:
    """The cell's output at each step, [batch, units]."""
    cell = RecurrentCell(recurrent_cell("cell", settings.cell), settings.units)
    with inside(RecurrentCell.PATH):
        output = tf.zeros([settings.batch, settings.units], name="zero_state")
    outputs = []
    for index, each in enumerate(inputs):
        output = cell.step(index, each, output)
        outputs.append(output)
    return outputs


def _logits(outputs: list[Tensor], settings: PtbSettings) -> list[Tensor]:
    """The logits of each step, [batch, vocabulary]."""
    with v1.variable_scope("softmax"):
        table = started_weights("weights", settings.units, settings.vocabulary)
    with inside("softmax"):
        of_words = table.read_value()
    logits = []
    for index, output in enumerate(outputs):
        with inside(f"softmax/step_{index}"):
            logits.append(tf.matmul(output, of_words, name="logits"))
    return logits


def _losses(logits: list[Tensor], wanted: Tensor) -> list[Tensor]:
    """The loss of each step, summed over the batch; `wanted`: [steps, batch] words."""
    losses = []
    with inside("softmax"):
        answers = tf.unstack(wanted, name="targets")
    for index, (each, answer) in enumerate(zip(logits, answers, strict=True)):
        with inside(f"softmax/step_{index}"):
            of_words = tf.nn.sparse_softmax_cross_entropy_with_logits(answer, each, name="cross_entropy")
            losses.append(tf.reduce_sum(of_words, name="loss"))
    return losses
