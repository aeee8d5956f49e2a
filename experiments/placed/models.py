"""Whole models as samples: the zoo's, and Keras applications as people export them. For child processes only."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from engine.child.parent import no_progress
from engine.events import Json
from engine.zoo import BUILT_FILE, build_in_child
from engine.zoo.training_step import LOSS, STEP
from experiments.placed.samples import Sample, zipped
from experiments.placed.step import PlacedStep


def zoo(folder: Path, *, name: str, settings: dict[str, Json]) -> Sample:
    """A model of the zoo; an inference form runs all ops without a consumer."""
    build_in_child({"name": name, "settings": settings}, folder, no_progress)
    return Sample(folder / BUILT_FILE, PlacedStep() if settings.get("inference") else PlacedStep((STEP, f"{LOSS}:0")))


def _application(name: str, size: int, **settings: Any) -> Any:
    tf.keras.utils.set_random_seed(0)
    build = getattr(tf.keras.applications, name)
    return build(weights=None, input_shape=(size, size, 3), classes=10, **settings)


def keras_saved_model(folder: Path, *, name: str, size: int, **settings: Any) -> Sample:
    """A Keras application with random weights, as `model.export` writes it."""
    target = folder / "exported"
    _application(name, size, **settings).export(str(target), verbose=False)
    return Sample(zipped(folder, name, target))


def keras_frozen(folder: Path, *, name: str, size: int, **settings: Any) -> Sample:
    """A Keras application with random weights as constants."""
    model = _application(name, size, **settings)
    inputs = tf.TensorSpec([2, size, size, 3], tf.float32, name="inputs")
    concrete = tf.function(lambda images: model(images, training=False)).get_concrete_function(inputs)
    constant = convert_variables_to_constants_v2(concrete)
    path = folder / f"{name}.pb"
    path.write_bytes(constant.graph.as_graph_def().SerializeToString(deterministic=True))
    return Sample(path, PlacedStep((constant.outputs[0].name,)))


def keras_training(folder: Path, *, name: str, size: int, **settings: Any) -> Sample:
    """A Keras application's training step, gradients and updates by Adam, as a SavedModel with one signature."""
    model = _application(name, size, **settings)
    optimizer = tf.keras.optimizers.Adam(0.001)
    optimizer.build(model.trainable_variables)

    def step(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(labels, model(images, training=True)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return {"loss": loss}

    module = tf.Module()
    module.model, module.held = model, [*model.variables, *optimizer.variables]
    images = tf.TensorSpec([2, size, size, 3], tf.float32, name="images")
    module.step = tf.function(step, [images, tf.TensorSpec([2], tf.int32, name="labels")])
    target = folder / "training"
    tf.saved_model.save(module, str(target), signatures={"train": module.step})
    return Sample(zipped(folder, f"{name}-training", target))


SMALL: dict[str, dict[str, Json]] = {
    "tiny_cnn": {},
    "inception_v3": {"batch": 1, "image_size": 107, "classes": 10},
    "nasnet": {"batch": 1, "image_size": 67, "classes": 10, "cells": 1, "filters": 8, "stem_filters": 4},
    "nmt": {"batch": 2, "steps": 3, "units": 8, "vocabulary": 20},
    "ptb": {"batch": 2, "steps": 2, "units": 8, "vocabulary": 20},
    "cifar10": {
        "batch": 1,
        "image_size": 8,
        "cells": 1,
        "filters": 4,
        "normal": "0:separable_5x5+1:max_pool 2:identity+0:average_pool",
        "reduction": "0:identity+0:max_pool 2:average_pool+0:separable_3x3",
    },
}
MODELS: dict[str, Callable[[Path], Sample]] = {
    **{f"zoo: {name}": partial(zoo, name=name, settings=settings) for name, settings in SMALL.items()},
    **{
        f"zoo: {name}, inference": partial(zoo, name=name, settings=settings | {"inference": True})
        for name, settings in SMALL.items()
    },
    "Keras MobileNet, SavedModel": partial(keras_saved_model, name="MobileNet", size=32, alpha=0.25),
    "Keras ResNet50, frozen": partial(keras_frozen, name="ResNet50", size=32),
}
"""at sizes that run quickly; every test run takes those that are not much like another"""
MORE_MODELS: dict[str, Callable[[Path], Sample]] = {
    "Keras MobileNetV2, training SavedModel": partial(keras_training, name="MobileNetV2", size=32, alpha=0.35),
    **{
        f"Keras {name}, SavedModel": partial(keras_saved_model, name=name, size=size)
        for name, size in (
            ("VGG16", 32),
            ("InceptionV3", 75),
            ("Xception", 71),
            ("DenseNet121", 32),
            ("EfficientNetB0", 32),
            ("NASNetMobile", 32),
            ("ConvNeXtTiny", 32),
        )
    },
}
"""too slow for every test run: only the command runs them"""
