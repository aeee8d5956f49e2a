"""TensorFlow's messages alone: what else a process loads afterwards does not mind them."""

import subprocess
import sys

import pytest

MESSAGES = """
from engine.graphs.tensorflow.messages import load_messages, load_tensorflow
node = load_messages("tensorflow.core.framework.node_def_pb2").NodeDef
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "then",
    [
        "import torch_geometric",
        "load_tensorflow(); import tensorflow as tf; assert tf.__version__ and tf.compat.v1.NodeDef is node",
    ],
)
def test_torch_and_tensorflow_load_after_them(then: str) -> None:
    subprocess.run([sys.executable, "-c", MESSAGES + then], check=True)
