"""Models of `keras.applications`, with random weights."""

from typing import Any

import keras
import numpy as np

from tests.models.model import Built
from tests.models.steps import inference

CLASSES = 100
KEPT_BITS = np.uint32(0xFFE00000)
"""sign, exponent and two more bits"""


def resnet50(batch: int) -> Built:
    return inference(application("ResNet50", 96), batch)


def densenet121(batch: int) -> Built:
    return inference(application("DenseNet121", 64), batch)


def xception(batch: int) -> Built:
    return inference(application("Xception", 96), batch)


def efficientnet_v2_b0(batch: int) -> Built:
    return inference(application("EfficientNetV2B0", 64), batch)


def convnext_tiny(batch: int) -> Built:
    return inference(application("ConvNeXtTiny", 64), batch)


def mobilenet_v2(batch: int) -> Built:
    return inference(application("MobileNetV2", 64, alpha=0.5), batch)


def application(name: str, size: int, **settings: Any) -> Any:
    """One for images of `size` × `size`."""
    keras.utils.set_random_seed(0)
    build = getattr(keras.applications, name)
    return with_short_weights(build(weights=None, input_shape=(size, size, 3), classes=CLASSES, **settings))


def with_short_weights(model: Any) -> Any:
    """Keep few bits of each weight, so that its file compresses well."""
    for variable in model.weights:
        bits = variable.numpy().view(np.uint32)
        variable.assign((bits & KEPT_BITS).view(np.float32))
    return model
