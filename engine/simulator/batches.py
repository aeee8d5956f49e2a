"""Evaluation of many placements in one call of compiled code, and the threads that share a batch."""

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled
from engine.simulator.event_loop import simulate_step
from engine.simulator.records import Scratch, Tables


@compiled
def evaluate_batch(
    tables: Tables,
    scratch: Scratch,
    placements: NDArray[np.int32],
    step_time_us: NDArray[np.float64],
    peak_bytes: NDArray[np.int64],
) -> int:
    """Write step time [batch] and peaks [batch, devices]; returns the first placement that cannot run, or -1."""
    for index in range(len(placements)):
        step_time_us[index] = simulate_step(tables, scratch, placements[index])
        if np.isnan(step_time_us[index]):
            return index
        for device in range(len(scratch.devices)):
            peak_bytes[index, device] = scratch.devices[device].peak_bytes
    return -1


class _Threads:
    """A pool of threads for nogil code, made on first use; a forked child makes its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pool: ThreadPoolExecutor | None = None
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = Lock()
        self._pool = None

    def pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(usable_cores(), thread_name_prefix="simulator")
            return self._pool


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


THREADS = _Threads()
