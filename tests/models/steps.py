"""Makes a Keras model's step, inference or training, with its closed forms."""

from collections.abc import Iterable, Sequence
from typing import Any

import keras
import tensorflow as tf

from tests.models.layer_products import layer_products
from tests.models.model import Built

ADAM = "adam"


def inference(model: Any, batch: int, more_flops: int = 0) -> Built:
    """The inference step; `more_flops` are those of products outside the layers."""
    specs = specs_of(model)

    def answer(*inputs: Any) -> Any:
        return model(structured(model, inputs), training=False)

    products = layer_products(answer, [with_batch(spec, batch) for spec in specs])
    flops = sum(product.flops for product in products) + more_flops
    return Built(model, tf.function(answer), specs, flops, tuple(held_by(model)))


def fit(model: Any, batch: int, loss: Any, labels: Any, optimizer: Any = ADAM, more_flops: int = 0) -> Built:
    """The step that Keras's `fit` runs for a batch; `labels` is the tf.TensorSpec of the labels.

    `more_flops` are those of the forward pass's products outside the layers, with both operands trained.
    """
    specs = specs_of(model)
    model.compile(optimizer=optimizer, loss=loss, jit_compile=False)
    model.optimizer.build(model.trainable_variables)

    def step(*tensors: Any) -> Any:
        return model.train_step((structured(model, tensors[:-1]), tensors[-1]))

    flops = trained_flops(model, specs, batch, more_flops)
    slots = slots_of(model.optimizer)
    held = unique([*held_by(model, training=True), *slots, *model.metrics_variables])
    return Built([model, *held], tf.function(step), (*specs, labels), flops, tuple(held))


def slots_of(optimizer: Any) -> list[Any]:
    """An optimizer's variables; a LossScaleOptimizer's own count and rate are unused and left out."""
    wraps = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    idle = (f"{optimizer.name}/iteration", f"{optimizer.name}/learning_rate") if wraps else ()
    return [each for each in optimizer.variables if each.path not in idle]


def trained_flops(model: Any, specs: Sequence[Any], batch: int, more_flops: int = 0) -> int:
    """Operations of forward and backward pass."""

    def answer(*inputs: Any) -> Any:
        return model(structured(model, inputs), training=True)

    products = layer_products(answer, [with_batch(spec, batch) for spec in specs])
    return sum(product.trained_flops for product in products) + 3 * more_flops


def specs_of(model: Any) -> tuple[Any, ...]:
    """tf.TensorSpec of each of a Keras model's inputs."""
    return tuple(tf.TensorSpec(each.shape, each.dtype, name=each.name) for each in model.inputs)


def with_batch(spec: Any, batch: int) -> Any:
    """The spec with its first length set."""
    lengths = spec.shape.as_list()
    return tf.TensorSpec([batch if lengths[0] is None else lengths[0], *lengths[1:]], spec.dtype, name=spec.name)


def structured(model: Any, inputs: Sequence[Any]) -> Any:
    """The inputs as the model takes them: one, or a list."""
    return inputs[0] if len(model.inputs) == 1 else list(inputs)


def held_by(model: Any, *, training: bool = False) -> list[Any]:
    """The variables that a step of the model reads, without unused states of random numbers."""
    idle: set[int] = set()
    for layer in model._flatten_layers():
        draws = training and isinstance(layer, keras.layers.Dropout) and layer.rate > 0
        seeds = getattr(layer, "seed_generator", None)
        if seeds is not None and not draws:
            idle.add(id(seeds.state))
    metrics = {id(each) for each in getattr(model, "metrics_variables", ())}
    return unique(each for each in model.variables if id(each) not in idle | metrics)


def unique(variables: Iterable[Any]) -> list[Any]:
    """Each variable once."""
    return list({id(each): each for each in variables}.values())
