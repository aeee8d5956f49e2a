"""Makes TensorFlow compute the same bits on any device. For child processes, before TensorFlow is loaded."""

import os
import sys


def ask_for_exact_numbers() -> None:
    """Turn off oneDNN, and let one thread compute an op.

    oneDNN computes some pairs of ops (MaxPool and its gradient) together if both are on one device. Two threads add
    rows of a scatter in any order. A session's settings come too late after another session or an eager op, so only
    environment variables work.
    """
    assert "tensorflow.python" not in sys.modules, "TensorFlow has read its variables already"
    os.putenv("TF_ENABLE_ONEDNN_OPTS", "0")
    os.putenv("TF_NUM_INTRAOP_THREADS", "1")
