"""A process that stands for a device: a server of TensorFlow that runs what a session sends it. Not for people.

It is started as `python -m engine.measuring.device_server`, with its order in a line on standard input, and says in a
line on standard output that it is ready. Each further line asks something of it: `MEMORY` what it holds, `RESET` to let
its peaks begin anew; both are answered in a line. It ends with the process that started it.
"""

import dataclasses
import json
import sys
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from engine.child.process import bind_to_parent
from engine.measuring.process_memory import memory_here, reset_peaks_here
from engine.measuring.session_graph import session_settings

JOB = "worker"
READY = "ready"
MEMORY, RESET = "memory", "reset"


def started_server(addresses: Sequence[str], index: int, threads: int) -> Any:
    """A server for one of the `addresses`: one op at a time, with `threads` for each."""
    cluster = tf.train.ClusterSpec({JOB: list(addresses)})
    settings = session_settings(threads, parallel_ops=1)
    return tf.distribute.Server(cluster, job_name=JOB, task_index=index, config=settings)


def answer(asked: str) -> str:
    """The answer to a line of the process that started this one: the memory here, after a reset if that was asked."""
    if asked == RESET:
        reset_peaks_here()
    return json.dumps(dataclasses.asdict(memory_here()))


if __name__ == "__main__":
    order: dict[str, Any] = json.loads(sys.stdin.readline())
    bind_to_parent(order["parent"])
    server = started_server(order["addresses"], order["index"], order["threads"])
    print(READY, flush=True)
    for line in sys.stdin:
        print(answer(line.strip()), flush=True)
