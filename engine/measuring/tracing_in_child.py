"""Traces steps of a placed graph in full and reads TensorFlow's step stats: the child's side of `step_record.py`.

Processes of one machine have one clock, so the spans of all devices are comparable. A transfer between processes is
traced by its receiver, from the moment at which the sender has the tensor and was asked for it to its arrival. Within a
process nothing is copied, and TensorFlow traces no transfers.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tensorflow.core.protobuf import config_pb2

from engine.measuring.session_graph import Steps, run
from engine.measuring.step_record import arrays_of


def traced_step(
    session: Any,
    targets: Sequence[Any],
    feeds: Mapping[Any, Any],
    devices: Sequence[str],
    steps: int,
    progress: Steps,
) -> tuple[dict[str, NDArray[np.generic]], list[str]]:
    """The arrays and names of the median one of so many traced steps: see `step_record.arrays_of`.

    `devices` by TensorFlow's names; `traced_us` [1] is the step's duration for the session. Raises GraphError.
    """
    asked = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
    traced = []
    for number in range(steps):
        progress.next()
        metadata = config_pb2.RunMetadata()
        began_ns, began = time.time_ns(), time.perf_counter()
        run(session, targets, feeds, options=asked, run_metadata=metadata)
        traced.append((time.perf_counter() - began, number, began_ns, metadata.step_stats))
    seconds, _, began_ns, stats = sorted(traced, key=lambda each: each[:2])[(steps - 1) // 2]
    arrays, names = arrays_of(stats, devices, began_ns)
    return arrays | {"traced_us": np.array([seconds * 1e6])}, names
