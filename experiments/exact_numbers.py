"""Lets TensorFlow compute the same bits whatever runs beside an op. In a child alone, before TensorFlow is loaded."""

import os
import sys


def ask_for_exact_numbers() -> None:
    """Turn off oneDNN, and let one thread compute an op.

    oneDNN computes some pairs of ops (MaxPool and its gradient) together where both are on one device. Two threads add
    rows of a scatter in any order; what a session asks for comes too late where a session or an eager op was before it.
    Variables of the process are the only way to say so.
    """
    assert "tensorflow.python" not in sys.modules, "TensorFlow has looked already"
    os.putenv("TF_ENABLE_ONEDNN_OPTS", "0")
    os.putenv("TF_NUM_INTRAOP_THREADS", "1")
