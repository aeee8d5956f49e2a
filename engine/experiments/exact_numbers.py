"""Lets TensorFlow compute the same bits whatever runs beside an op. In a child alone, before TensorFlow is loaded."""

import os
import sys


def ask_for_exact_numbers() -> None:
    """Turn off oneDNN: some pairs of ops (MaxPool and its gradient) it computes together where both are on one device.

    A variable of the process is the only way to say so.
    """
    assert "tensorflow.python" not in sys.modules, "TensorFlow has looked already"
    os.putenv("TF_ENABLE_ONEDNN_OPTS", "0")
