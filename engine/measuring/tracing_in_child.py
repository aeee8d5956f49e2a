"""Traces steps of a placed graph in full and reads TensorFlow's step stats: the child's side of `step_record.py`.

Processes of one machine have one clock, so the spans of all devices are comparable. The receiver traces a transfer
between processes: it begins when the sender has the tensor and was asked for it, and ends when the tensor arrives.
Within a process nothing is copied, and TensorFlow traces no transfers. Now and then a trace lacks some or all of
another process's transfers: TensorFlow asks that process to trace them and does not wait for the request to arrive.
Source: SetRPCLogging of tensorflow/core/distributed_runtime/master_session.cc.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tensorflow.core.protobuf import config_pb2

from engine.measuring.session_graph import Steps, run
from engine.measuring.step_record import TracedStep, arrays_of, median_whole


def traced_step(
    session: Any,
    targets: Sequence[Any],
    feeds: Mapping[Any, Any],
    devices: Sequence[str],
    steps: int,
    progress: Steps,
) -> tuple[dict[str, NDArray[np.generic]], list[str]]:
    """The arrays and names of the `median_whole` one of the traced steps.

    `devices` by TensorFlow's names; `traced_us` [1] is the step's duration. Raises GraphError.
    """
    asked = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
    traced = []
    for _ in range(steps):
        progress.next()
        metadata = config_pb2.RunMetadata()
        began_ns, began = time.time_ns(), time.perf_counter()
        run(session, targets, feeds, options=asked, run_metadata=metadata)
        traced.append((time.perf_counter() - began, began_ns, metadata.step_stats))
    chosen = median_whole(
        [TracedStep(seconds, *arrays_of(stats, devices, began_ns)) for seconds, began_ns, stats in traced]
    )
    return chosen.arrays | {"traced_us": np.array([chosen.seconds * 1e6])}, chosen.names
