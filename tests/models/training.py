"""Training steps: those of Keras's `fit`, and those that people write themselves."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf
from keras import layers

from tests.models.layer_products import layer_products
from tests.models.model import Built
from tests.models.recurrent import lstm_model
from tests.models.steps import fit, held_by, trained_flops, unique, with_batch
from tests.models.transformers import gpt_model

CLASSES = 10
LABELS = tf.TensorSpec([None], tf.int32, name="labels")
IMAGES = tf.TensorSpec([None, 32, 32, 3], tf.float32, name="images")


def cnn_model(*, dropout: bool = True, policy: str = "float32") -> Any:
    """Convolutions with batch normalisation and pooling."""
    keras.utils.set_random_seed(0)
    images = keras.Input((32, 32, 3), name="images")
    net = images
    for filters in (16, 32, 64):
        net = layers.Conv2D(filters, 3, padding="same", use_bias=False, dtype=policy)(net)
        net = layers.ReLU(dtype=policy)(layers.BatchNormalization(dtype=policy)(net))
        net = layers.MaxPooling2D(dtype=policy)(net)
    net = layers.Flatten(dtype=policy)(net)
    net = layers.Dropout(0.5)(net) if dropout else net
    return keras.Model(images, layers.Dense(CLASSES, dtype="float32")(net))


def loss_of_logits() -> Any:
    """Cross entropy of classes by number."""
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def fit_cnn(batch: int) -> Built:
    """`fit` of a convolutional network with batch normalisation and dropout, by Adam."""
    return fit(cnn_model(), batch, loss_of_logits(), LABELS)


def fit_lstm(batch: int) -> Built:
    """`fit` of a looped LSTM of 40 steps."""
    return fit(lstm_model(unroll=False), batch, loss_of_logits(), LABELS)


def fit_gpt(batch: int) -> Built:
    """`fit` of a transformer by AdamW, with the gradients of the causal attention."""
    model = gpt_model(vocabulary=400, length=32, width=64)
    labels = tf.TensorSpec([None, 32], tf.int32, name="labels")
    return fit(model, batch, loss_of_logits(), labels, keras.optimizers.AdamW(1e-3))


def fit_clipped(batch: int) -> Built:
    """`fit` with the norm of all gradients clipped, momentum, and a rate that decays."""
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 1000, 0.9)
    optimizer = keras.optimizers.SGD(rate, momentum=0.9, nesterov=True, global_clipnorm=1.0)
    return fit(cnn_model(), batch, loss_of_logits(), LABELS, optimizer)


def fit_accumulated(batch: int) -> Built:
    """`fit` that adds up the gradients of four steps (Keras's `gradient_accumulation_steps`)."""
    optimizer = keras.optimizers.Adam(1e-3, gradient_accumulation_steps=4)
    return fit(cnn_model(dropout=False), batch, loss_of_logits(), LABELS, optimizer)


def fit_mixed_float16(batch: int) -> Built:
    """`fit` in mixed_float16 with a LossScaleOptimizer."""
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(1e-3))
    return fit(cnn_model(policy="mixed_float16"), batch, loss_of_logits(), LABELS, optimizer)


def own_tape(batch: int) -> Built:
    """A hand-written step: GradientTape, weight decay, `apply_gradients` by RMSprop."""
    model = cnn_model(dropout=False)
    optimizer = keras.optimizers.RMSprop(1e-3, momentum=0.9)
    optimizer.build(model.trainable_variables)
    loss_of = loss_of_logits()

    def step(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
            loss += 1e-4 * tf.add_n([tf.nn.l2_loss(each) for each in model.trainable_variables])
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return {"loss": loss}

    held = unique([*held_by(model, training=True), *optimizer.variables])
    return _built(step, (IMAGES, LABELS), trained_flops(model, (IMAGES,), batch), held)


ACCUMULATED = 4


def own_accumulation(batch: int) -> Built:
    """Gradients added up in variables; a `tf.cond` applies them every fourth step."""
    model = cnn_model(dropout=False)
    optimizer = keras.optimizers.Adam(1e-3)
    variables = model.trainable_variables
    optimizer.build(variables)
    loss_of = loss_of_logits()
    sums = [tf.Variable(tf.zeros(each.shape), trainable=False) for each in variables]
    count = tf.Variable(0, dtype=tf.int64, trainable=False)

    def apply() -> Any:
        optimizer.apply_gradients([(each / ACCUMULATED, of) for each, of in zip(sums, variables, strict=True)])
        for each in sums:
            each.assign(tf.zeros_like(each))
        return tf.constant(True)

    def step(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        for total, gradient in zip(sums, tape.gradient(loss, variables), strict=True):
            total.assign_add(gradient)
        full = tf.equal(count.assign_add(1) % ACCUMULATED, 0)
        return {"loss": loss, "applied": tf.cond(full, apply, lambda: tf.constant(False))}

    held = unique([*held_by(model, training=True), *optimizer.variables, *sums, count])
    return _built(step, (IMAGES, LABELS), trained_flops(model, (IMAGES,), batch), held)


NOISE = 16


def gan(batch: int) -> Built:
    """A step of generator and discriminator, each with an optimizer of its own."""
    generator, critic = _generator(), _critic()
    optimizers = [keras.optimizers.Adam(1e-4, beta_1=0.5) for _ in range(2)]
    for model, optimizer in zip((generator, critic), optimizers, strict=True):
        optimizer.build(model.trainable_variables)
    loss_of = keras.losses.BinaryCrossentropy(from_logits=True)

    def step(images: Any, noise: Any) -> Any:
        with tf.GradientTape() as of_generator, tf.GradientTape() as of_critic:
            made = generator(noise, training=True)
            real, fake = critic(images, training=True), critic(made, training=True)
            fooled = loss_of(tf.ones_like(fake), fake)
            judged = loss_of(tf.ones_like(real), real) + loss_of(tf.zeros_like(fake), fake)
        for model, optimizer, tape, loss in zip(
            (generator, critic), optimizers, (of_generator, of_critic), (fooled, judged), strict=True
        ):
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return {"generator": fooled, "critic": judged}

    noise = tf.TensorSpec([None, NOISE], tf.float32, name="noise")
    held = [each for model in (generator, critic) for each in held_by(model, training=True)]
    held += [each for optimizer in optimizers for each in optimizer.variables]
    return _built(step, (IMAGES, noise), _gan_flops(generator, critic, noise, batch), unique(held))


def _gan_flops(generator: Any, critic: Any, noise: Any, batch: int) -> int:
    """The generator trains on noise, the critic on two batches; one more backward pass goes through the critic.

    The critic's loss has no gradient at its inputs, the generator's loss none at the critic's weights.
    """
    made = trained_flops(generator, (noise,), batch)
    judged = layer_products(lambda images: critic(images, training=True), [with_batch(IMAGES, batch)])
    on_two = 2 * sum(product.trained_flops for product in judged)
    return made + on_two + sum(product.flops for product in judged)


def _generator() -> Any:
    keras.utils.set_random_seed(0)
    noise = keras.Input((NOISE,), name="noise")
    net = layers.Reshape((8, 8, 32))(layers.Dense(8 * 8 * 32, activation="relu")(noise))
    net = layers.Conv2DTranspose(32, 4, strides=2, padding="same", activation="relu")(net)
    return keras.Model(noise, layers.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh")(net))


def _critic() -> Any:
    images = keras.Input((32, 32, 3), name="images")
    net = images
    for filters in (16, 32):
        net = layers.LeakyReLU()(layers.Conv2D(filters, 4, strides=2, padding="same")(net))
    return keras.Model(images, layers.Dense(1)(layers.Flatten()(net)))


REPLICAS = 2


def _make_devices(count: int) -> None:
    """Make virtual CPUs; a process can do so only before TensorFlow has looked for devices."""
    processor = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * count)


def mirrored(batch: int) -> Built:
    """A step on two replicas of `tf.distribute.MirroredStrategy`, each with half of the batch.

    Gradients are summed on one device, since the objects of collective ops cannot be saved.
    """
    _make_devices(REPLICAS)
    names = [f"CPU:{index}" for index in range(REPLICAS)]
    strategy = tf.distribute.MirroredStrategy(names, tf.distribute.ReductionToOneDevice())
    rows, width = 64, 32
    generator = tf.random.Generator.from_seed(0)
    with strategy.scope():
        weights = [
            tf.Variable(generator.normal(shape) * 0.1, name=name)
            for name, shape in (("first", (rows, width)), ("second", (width, CLASSES)))
        ]
        slots = [tf.Variable(tf.zeros(each.shape), trainable=False) for each in weights]

    def replica_step(vectors: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(tf.matmul(vectors, weights[0]))
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.matmul(hidden, weights[1]))
            loss = tf.reduce_mean(losses) / REPLICAS
        gradients = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weights))
        for slot, gradient, variable in zip(slots, gradients, weights, strict=True):
            slot.assign(0.9 * slot + gradient)
            variable.assign_sub(0.1 * slot)
        return loss

    def step(vectors: Any, labels: Any) -> Any:
        halves = [tf.split(each, REPLICAS) for each in (vectors, labels)]
        arguments = [
            strategy.experimental_distribute_values_from_function(
                lambda context, parts=parts: parts[context.replica_id_in_sync_group]
            )
            for parts in halves
        ]
        return {"loss": strategy.reduce("sum", strategy.run(replica_step, arguments), axis=None)}

    inputs = (tf.TensorSpec([batch, rows], name="vectors"), tf.TensorSpec([batch], tf.int32, name="labels"))
    flops = 2 * 2 * batch * rows * width + 3 * 2 * batch * width * CLASSES
    held = [copy for each in (*weights, *slots) for copy in each.values]
    return Built([*weights, *slots], tf.function(step, inputs), inputs, flops, tuple(held))


def _built(step: Callable[..., Any], inputs: tuple[Any, ...], flops: int, held: Sequence[Any]) -> Built:
    return Built(list(held), tf.function(step), inputs, flops, tuple(held))
