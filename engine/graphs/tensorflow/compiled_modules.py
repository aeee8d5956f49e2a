"""The platforms for which an op's module was compiled: XlaCallModule holds StableHLO that some devices cannot run.

Source: tensorflow/compiler/tf2xla/ops/xla_ops.cc, XlaCallModule: `platforms` (none: any) and `disabled_checks`.
"""

from collections.abc import Sequence

from engine.errors import shortened
from engine.graphs.tensorflow.messages import Message

CALL_MODULE = "XlaCallModule"
UNCHECKED = b"platform"
"""in `disabled_checks`: TensorFlow runs the module on any platform"""


def platforms_of(node: Message) -> tuple[str, ...]:
    """The platforms of the node's module, such as CPU and CUDA; empty where it runs on any, or is no such node."""
    if node.op != CALL_MODULE or "platforms" not in node.attr:
        return ()
    if "disabled_checks" in node.attr and UNCHECKED in node.attr["disabled_checks"].list.s:
        return ()
    return tuple(name.decode("utf-8", "replace").upper() for name in node.attr["platforms"].list.s)


def reason_of_platforms(platforms: Sequence[str]) -> str:
    """The end of a sentence on a module that a device cannot run."""
    return f"its module is compiled for {shortened(' and '.join(platforms))} alone"
