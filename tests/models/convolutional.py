"""Convolutional networks, from Keras layers."""

from typing import Any

import keras
import tensorflow as tf
from keras import layers

from tests.models.model import Built
from tests.models.products import matrix_product
from tests.models.steps import inference


def resnext(batch: int) -> Built:
    """Residual blocks whose middle convolution has groups."""
    keras.utils.set_random_seed(0)
    images = keras.Input((32, 32, 3), name="images")
    net = layers.Conv2D(64, 3, padding="same")(images)
    for _ in range(3):
        inner = layers.Conv2D(64, 1, use_bias=False)(net)
        inner = layers.ReLU()(layers.BatchNormalization()(inner))
        inner = layers.Conv2D(64, 3, padding="same", groups=8, use_bias=False)(inner)
        inner = layers.ReLU()(layers.BatchNormalization()(inner))
        net = layers.ReLU()(net + layers.Conv2D(64, 1)(inner))
    return inference(keras.Model(images, layers.Dense(10)(layers.GlobalAveragePooling2D()(net))), batch)


def video(batch: int) -> Built:
    """Convolutions over time and space, one of them transposed."""
    keras.utils.set_random_seed(0)
    frames = keras.Input((8, 24, 24, 3), name="frames")
    net = layers.Conv3D(16, 3, padding="same", activation="relu")(frames)
    net = layers.MaxPooling3D((1, 2, 2))(net)
    net = layers.Conv3D(32, (3, 3, 3), strides=2, padding="same", activation="relu")(net)
    net = layers.Conv3DTranspose(16, 2, strides=2, activation="relu")(net)
    return inference(keras.Model(frames, layers.Dense(5)(layers.GlobalAveragePooling3D()(net))), batch)


def unet(batch: int) -> Built:
    """Down three times, up three times by transposed convolutions, with connections across."""
    return inference(unet_model(), batch)


def unet_model(size: int = 64) -> Any:
    keras.utils.set_random_seed(0)
    images = keras.Input((size, size, 3), name="images")
    net, kept = images, []
    for filters in (16, 32, 64):
        net = twice(net, filters)
        kept.append(net)
        net = layers.MaxPooling2D()(net)
    net = twice(net, 128)
    for filters, across in zip((64, 32, 16), reversed(kept), strict=True):
        net = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(net)
        net = twice(layers.Concatenate()([net, across]), filters)
    return keras.Model(images, layers.Conv2D(2, 1, activation="softmax")(net))


def twice(net: Any, filters: int) -> Any:
    """Two convolutions of 3 × 3."""
    for _ in range(2):
        net = layers.Conv2D(filters, 3, padding="same", activation="relu")(net)
    return net


def wavenet(batch: int) -> Built:
    """Dilated causal convolutions with gates and skips."""
    keras.utils.set_random_seed(0)
    waves = keras.Input((256, 1), name="waves")
    net, skips = layers.Conv1D(32, 2, padding="causal")(waves), []
    for dilation in (1, 2, 4, 8, 16, 32):
        gated = [
            layers.Conv1D(32, 2, padding="causal", dilation_rate=dilation, activation=activation)(net)
            for activation in ("tanh", "sigmoid")
        ]
        inner = layers.Multiply()(gated)
        skips.append(layers.Conv1D(32, 1)(inner))
        net = net + layers.Conv1D(32, 1)(inner)
    net = layers.ReLU()(layers.Add()(skips))
    return inference(keras.Model(waves, layers.Conv1D(256, 1)(net)), batch)


def keywords(batch: int) -> Built:
    """Separable one-dimensional convolutions over the log spectrogram of a wave (short-time Fourier transform)."""
    keras.utils.set_random_seed(0)
    waves = keras.Input((4000,), name="waves")
    net = Spectrogram()(waves)
    for filters in (32, 64, 64):
        net = layers.SeparableConv1D(filters, 5, padding="same", use_bias=False)(net)
        net = layers.ReLU()(layers.BatchNormalization()(net))
    return inference(keras.Model(waves, layers.Dense(12)(layers.GlobalMaxPooling1D()(net))), batch)


class Spectrogram(layers.Layer):
    """[batch, samples] → [batch, frames, 129] logarithms of magnitudes."""

    def call(self, inputs: Any) -> Any:
        spectrum = tf.abs(tf.signal.stft(inputs, frame_length=256, frame_step=128))
        return tf.math.log(spectrum + 1e-6)


LEVELS, ANCHORS, CLASSES, FEATURES, KEPT = 3, 3, 4, 32, 20


def retinanet(batch: int) -> Built:
    """A feature pyramid, heads for boxes and classes, the best boxes of each image, and a head on those boxes."""
    keras.utils.set_random_seed(0)
    images = keras.Input((64, 64, 3), name="images")
    net, levels = images, []
    for filters in (16, 32, 64, 128):
        net = layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(net)
        levels.append(net)
    pyramid = [layers.Conv2D(FEATURES, 1)(level) for level in levels[-LEVELS:]]
    for level in range(LEVELS - 1, 0, -1):
        pyramid[level - 1] = pyramid[level - 1] + layers.UpSampling2D()(pyramid[level])
    boxes = _head(pyramid, ANCHORS * 4, 4)
    scores = keras.ops.sigmoid(_head(pyramid, ANCHORS * CLASSES, CLASSES))
    suppress = BestBoxes()
    more_flops = batch * matrix_product(KEPT, 4 + CLASSES, FEATURES)
    return inference(keras.Model(images, suppress([boxes, scores])), batch, more_flops)


def _head(pyramid: list[Any], filters: int, width: int) -> Any:
    """Two convolutions that all levels share; [batch, places of all levels, width]."""
    inner = layers.Conv2D(FEATURES, 3, padding="same", activation="relu")
    last = layers.Conv2D(filters, 3, padding="same")
    return layers.Concatenate(axis=1)([layers.Reshape((-1, width))(last(inner(level))) for level in pyramid])


class BestBoxes(layers.Layer):
    """The boxes of each image that no better one covers, multiplied by weights and padded to a fixed number."""

    def __init__(self) -> None:
        super().__init__()
        self.weights_of_box = self.add_weight(shape=(4 + CLASSES, FEATURES), name="of_box")

    def call(self, inputs: Any) -> Any:
        return tf.map_fn(self._of_image, tuple(inputs), fn_output_signature=tf.TensorSpec([KEPT, FEATURES]))

    def _of_image(self, image: Any) -> Any:
        boxes, scores = image
        kept = tf.image.non_max_suppression(boxes, tf.reduce_max(scores, -1), KEPT, 0.5)
        rows = tf.concat([tf.gather(boxes, kept), tf.gather(scores, kept)], -1)
        answers = tf.matmul(rows, tf.convert_to_tensor(self.weights_of_box))
        return tf.ensure_shape(tf.pad(answers, [[0, KEPT - tf.shape(answers)[0]], [0, 0]]), [KEPT, FEATURES])
