"""Builds, reads and runs several models of the suite in one process, since each process loads TensorFlow anew."""

from pathlib import Path
from typing import cast

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from experiments.exact_numbers import ask_for_exact_numbers
from tests.models.in_one_process import rows_here
from tests.models.model import SAVED_MODEL


def try_models_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """By name, the figures of each SavedModel beside closed forms, and the checks of its placements if in `placed`."""
    ask_for_exact_numbers()
    found: dict[str, Json] = {}
    for name in cast(list[str], order["names"]):
        report_progress(name, 0, 0)
        (folder / name).mkdir()
        places = name in cast(list[str], order["placed"])
        rows = rows_here(name, [SAVED_MODEL], places, folder, folder / name, report_progress)
        found[name] = rows[SAVED_MODEL]
    return {}, found


def count_layers_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The rules' counts for single layers: name → [operations of each product]."""
    import keras
    import tensorflow as tf

    from tests.models.layer_products import layer_products

    layers = keras.layers
    cases = {
        "LSTM": (layers.LSTM(5), [2, 7, 3]),
        "GRU, both ways": (layers.Bidirectional(layers.GRU(5)), [2, 7, 3]),
        "Conv2D": (layers.Conv2D(6, 3, strides=2, padding="same", groups=2), [2, 8, 8, 4]),
        "DepthwiseConv2D": (layers.DepthwiseConv2D(3, depth_multiplier=2), [2, 8, 8, 4]),
        "SeparableConv1D": (layers.SeparableConv1D(6, 3, padding="same"), [2, 8, 4]),
        "Conv2DTranspose": (layers.Conv2DTranspose(6, 3, strides=2), [2, 8, 8, 4]),
        "Dense": (layers.Dense(6), [2, 8, 4]),
        "EinsumDense": (layers.EinsumDense("abc,cde->abde", (8, 5, 6)), [2, 8, 4]),
    }
    found: dict[str, Json] = {}
    for name, (layer, shape) in cases.items():
        layer(tf.zeros(shape))  # which makes its variables
        products = layer_products(layer, [tf.TensorSpec(shape)])
        found[name] = [product.flops for product in products]
    attention = layers.MultiHeadAttention(2, 3, value_dim=5)
    inputs = [tf.TensorSpec([2, 7, 4]), tf.TensorSpec([2, 9, 6])]
    attention(*(tf.zeros(each.shape) for each in inputs))
    found["MultiHeadAttention"] = [product.flops for product in layer_products(attention, inputs)]
    return {}, found
