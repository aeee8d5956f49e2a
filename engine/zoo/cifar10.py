"""A network of searched convolutional cells for CIFAR-10, a full training step or inference. Imported only in a child.

Source: Pham et al. 2018, "Efficient Neural Architecture Search via Parameter Sharing" (arXiv 1802.03268), section 2.4
and appendix A: a cell has two inputs and five blocks; a block adds the results of two operations, each on one state;
states that no block takes are joined. Three stages of normal cells, a reduction cell before the second and third, each
with twice as many channels. From the published code: the stem of three times the channels, separable convolutions done
twice, weight decay 2e-4, dropout 0.2, momentum. There are no second classifier and no paths dropped, the momentum is
not Nesterov's, and both inputs of a cell are brought to its width by 1x1 convolutions, as in NASNet.

Names, from the outside in:

- `stem/conv`; `cell_0`, `cell_1`, ... are the normal cells, `reduction_cell_0` and `reduction_cell_1` the others;
  `convolution_cells.py` lists the names in them; `classifier`;
- gradients, `weight_decay/...` and updates are named as NASNet's (`nasnet.py`).
"""

from typing import Any

import tensorflow as tf

from engine.zoo.cells import convolution_cell
from engine.zoo.convolution_cells import classifier, searched_cell
from engine.zoo.enas_settings import Cifar10Settings
from engine.zoo.layers import Tensor, batch_norm, for_inference, plain_convolution, v1
from engine.zoo.training_step import (
    PREDICTION,
    Optimizer,
    cross_entropy,
    decayed,
    pruned_prediction,
    pruned_step,
    training_step,
)

STAGES = 3
STEM_WIDTH = 3
DROPPED = 0.2
WEIGHT_DECAY = 0.0002
LEARNING_RATE = 0.05


def build(settings: Cifar10Settings) -> Any:
    """Build the GraphDef."""
    graph = tf.Graph()
    with graph.as_default():
        for_inference(settings.inference)
        images = v1.placeholder(tf.float32, [settings.batch, settings.image_size, settings.image_size, 3], "images")
        logits = classifier(_stages(_stem(images, settings), settings), settings.classes, DROPPED)
        if settings.inference:
            tf.nn.softmax(logits, name=PREDICTION)
            return pruned_prediction(graph)
        labels = v1.placeholder(tf.int32, [settings.batch], name="labels")
        loss = decayed(cross_entropy(logits, labels), WEIGHT_DECAY)
        training_step(loss, Optimizer.MOMENTUM, LEARNING_RATE)
    return pruned_step(graph)


def _stem(images: Tensor, settings: Cifar10Settings) -> Tensor:
    """[batch, size, size, 3] → [batch, size, size, 3 · filters]"""
    with v1.variable_scope("stem"), v1.variable_scope("conv"):
        return batch_norm(plain_convolution(images, STEM_WIDTH * settings.filters, (3, 3)))


def _stages(stem: Tensor, settings: Cifar10Settings) -> Tensor:
    """[batch, size, size, channels] → [batch, size / 4, size / 4, channels]"""
    normal, reduction = (convolution_cell(name, getattr(settings, name)) for name in ("normal", "reduction"))
    previous = current = stem
    for stage in range(STAGES):
        filters = settings.filters * 2**stage
        if stage > 0:
            name = f"reduction_cell_{stage - 1}"
            previous, current = current, searched_cell(reduction, current, previous, filters, stride=2, name=name)
        for index in range(stage * settings.cells, (stage + 1) * settings.cells):
            previous, current = current, searched_cell(normal, current, previous, filters, name=f"cell_{index}")
    return current
