"""Finds the ops that no CPU can run, and why, without loading TensorFlow: the mirror of `gpu_kernels.py`.

- Types of ops, and data types, for which TensorFlow registers a kernel for GPUs and none for CPUs: cuDNN's recurrent
  layers, NCCL, and others (`CPU_TABLE`).
- Layouts: a kernel for CPUs takes images with channels last, and refuses others only when it runs. oneDNN takes
  channels first for some ops and data types: `CHANNELS_FIRST`, measured in TensorFlow 2.21 on x86-64
  (`tests/engine/graphs/tensorflow/test_cpu_kernels.py` measures it again). It counts as on, as in every child here;
  by itself TensorFlow turns it on only where the processor has instructions for neural networks. A gradient of pooling
  counts as able to run, since oneDNN takes it beside its forward op.
- Modules that were compiled for other platforms.
"""

from collections.abc import Sequence

from engine.errors import shortened
from engine.graphs.tensorflow.compiled_modules import platforms_of, reason_of_platforms
from engine.graphs.tensorflow.kernel_tables import CPU_TABLE, has_kernel, kernels_of, refused_types
from engine.graphs.tensorflow.messages import Message

NO_KERNEL = "TensorFlow has no CPU kernel for it"
CPU_PLATFORM = "CPU"
LAYOUT = "data_format"
CHANNELS_LAST = frozenset({b"", b"NHWC", b"NDHWC"})
"""layouts of images, the default among them"""
HALF, FLOAT, BFLOAT16, DOUBLE = 19, 1, 14, 2
_NEVER: frozenset[int] = frozenset()
_ONEDNN = frozenset({HALF, FLOAT, BFLOAT16})
CHANNELS_FIRST = {
    **dict.fromkeys(("SpaceToDepth", "DepthToSpace", "MaxPoolV2", "MaxPoolGradV2", "MaxPoolGradGrad"), _NEVER),
    **dict.fromkeys(("Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"), _ONEDNN),
    **dict.fromkeys(("Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2"), _ONEDNN),
    "DepthwiseConv2dNative": _ONEDNN,
    "DepthwiseConv2dNativeBackpropFilter": _ONEDNN,
    "DepthwiseConv2dNativeBackpropInput": _ONEDNN,
    **dict.fromkeys(("MaxPool", "MaxPoolGrad", "AvgPool", "AvgPoolGrad"), _ONEDNN),
    **dict.fromkeys(("AvgPool3D", "AvgPool3DGrad", "MaxPool3D", "MaxPool3DGrad"), _ONEDNN),
}
"""op type → numbers of the data types that CPUs take with channels first; an op type that is not here takes all"""


def gpu_reasons(nodes: Sequence[Message], cpu_reasons: Sequence[str]) -> tuple[str, ...]:
    """[nodes] why no CPU can run the node; empty where one can, or where no GPU can (`cpu_reasons`) either.

    A module that was compiled for neither has both reasons.
    """
    table = kernels_of(CPU_TABLE)
    return tuple(
        _reason(node, has_cpu_kernel=has_kernel(node, table.get(node.op)) or bool(cpu_reason))
        for node, cpu_reason in zip(nodes, cpu_reasons, strict=True)
    )


def _reason(node: Message, *, has_cpu_kernel: bool) -> str:
    """Why no CPU can run the node; empty where one can."""
    if not has_cpu_kernel:
        refused = refused_types(node, kernels_of(CPU_TABLE)[node.op])
        return f"{NO_KERNEL} on {refused}" if refused else NO_KERNEL
    platforms = platforms_of(node)
    if platforms and CPU_PLATFORM not in platforms:
        return reason_of_platforms(platforms)
    taken = CHANNELS_FIRST.get(node.op)
    layout = node.attr[LAYOUT].s if LAYOUT in node.attr else b""
    if taken is None or layout in CHANNELS_LAST or (taken and ("T" not in node.attr or node.attr["T"].type in taken)):
        return ""
    return f"{NO_KERNEL} with {LAYOUT} {shortened(layout.decode('utf-8', 'replace'))}"
