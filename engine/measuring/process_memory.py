"""The memory of this process: what TensorFlow's allocator of the CPU holds, and what is resident. Runs in the child.

With oneDNN TensorFlow counts the allocations of at least 256 KiB; without it, none on CPUs. Linux alone reports the
resident memory and lets a process reset its peak.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

CPU = "CPU:0"
PROCESS = Path("/proc/self")
RESET_RESIDENT_PEAK = "5"
"""Source: proc_pid_clear_refs(5)"""


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """Bytes that a process holds now, and the most since the last reset; None where the system does not report them."""

    allocated_bytes: int | None
    """by TensorFlow's allocator of the CPU"""
    most_allocated_bytes: int | None
    resident_bytes: int | None
    most_resident_bytes: int | None

    def above(self, idle: "ProcessMemory") -> tuple[float, float]:
        """The most allocated and resident bytes above those of an `idle` process; NaN where the system reports none."""
        return (
            _less(self.most_allocated_bytes, idle.allocated_bytes),
            _less(self.most_resident_bytes, idle.resident_bytes),
        )


def _less(most_bytes: int | None, idle_bytes: int | None) -> float:
    return float("nan") if most_bytes is None or idle_bytes is None else float(most_bytes - idle_bytes)


def memory_here() -> ProcessMemory:
    """The memory of this process."""
    return ProcessMemory(*_allocated(), *_resident())


def reset_peaks_here() -> None:
    """Let the peaks of this process begin at what it holds now, where the system can do so."""
    with suppress(ValueError):  # of an allocator that keeps no statistics
        tf.config.experimental.reset_memory_stats(CPU)
    if (PROCESS / "clear_refs").exists():
        (PROCESS / "clear_refs").write_text(RESET_RESIDENT_PEAK)


def _allocated() -> tuple[int, int] | tuple[None, None]:
    """(now, the most)"""
    try:
        stats = tf.config.experimental.get_memory_info(CPU)
    except ValueError:
        return None, None
    return int(stats["current"]), int(stats["peak"])


def _resident() -> tuple[int, int] | tuple[None, None]:
    """(now, the most)"""
    if not (PROCESS / "clear_refs").exists():
        return None, None
    fields = dict(re.findall(r"^(\w+):\s+(\d+) kB$", (PROCESS / "status").read_text(), flags=re.MULTILINE))
    return int(fields["VmRSS"]) * 1024, int(fields["VmHWM"]) * 1024
