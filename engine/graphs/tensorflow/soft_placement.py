"""Devices that the file fixes and that have no kernel for the op: they count as not fixed.

Files of the kind `with tf.device("/device:GPU:0"):` around a whole model are made with TensorFlow's soft placement,
which puts an op, with all ops that must share its device, on a device that can run them. Job, replica and task stay.
Source: tensorflow/core/common_runtime/colocation_graph.cc, ColocationGraph::GetDevicesForNode.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from engine.graphs.colocation import colocation_classes
from engine.graphs.device_string import parse_device_string, spelled_device
from engine.graphs.graph import ComputationGraph

GPU, CPU = "GPU", "CPU"


def softly_placed(graph: ComputationGraph) -> ComputationGraph:
    """`graph` without the fixed devices that cannot run an op, or an op that must share its device."""
    if not any(graph.devices) or not (graph.needs_cpu.any() or graph.needs_gpu.any()):
        return graph
    parsed = {text: parse_device_string(text, "") for text in set(graph.devices)}
    classes = colocation_classes(graph)
    unable = {GPU: _in_class_of(graph.needs_cpu, classes), CPU: _in_class_of(graph.needs_gpu, classes)}
    devices = list(graph.devices)
    unfixed_ops = 0
    for op, text in enumerate(devices):
        device = parsed[text]
        if device.type in unable and unable[device.type][op]:
            devices[op] = spelled_device(device.machine)
            unfixed_ops += 1
    return dataclasses.replace(graph, devices=tuple(devices), unfixed_ops=graph.unfixed_ops + unfixed_ops)


def _in_class_of(chosen: NDArray[np.bool_], classes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """[ops] whether the op's class has an op that is `chosen` [ops]."""
    has_one = np.zeros(int(classes.max()) + 1, dtype=bool)
    has_one[classes[chosen]] = True
    return has_one[classes]
