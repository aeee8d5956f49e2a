"""Limits the memory of this process itself, for work that is not done in a child, and recognises its end."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.child.machine_memory import available_memory_bytes

MARKS = ("can't allocate memory", "cannot allocate memory", "not enough memory", "out of memory", "bad_alloc")
"""in the texts of errors by which libraries say that memory ran out"""
PAGE_BYTES = resource.getpagesize()
ADDRESSES, DATA = 0, 5
"""columns of /proc/self/statm: all addresses; data and stacks"""


@contextmanager
def limited_memory(more_bytes: int) -> Iterator[None]:
    """Let this process, and each that it starts, write at most `more_bytes` beyond what it has now. Linux only.

    What goes beyond raises MemoryError or a library's own error, which `is_out_of_memory` recognises.
    """
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _own_bytes(DATA) + more_bytes
    lowest = min(each for each in (wanted, soft, hard) if each != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def room_bytes() -> int:
    """The bytes that this process may still write: up to its limit if it has one, else what the machine has left."""
    if sys.platform == "linux":
        limits = ((resource.RLIMIT_DATA, DATA), (resource.RLIMIT_AS, ADDRESSES))
        soft = [(resource.getrlimit(which)[0], column) for which, column in limits]
        left = [limit - _own_bytes(column) for limit, column in soft if limit != resource.RLIM_INFINITY]
        if left:
            return max(0, min(left))
    return available_memory_bytes()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error`, or one behind it, says that memory ran out."""
    seen: set[int] = set()
    behind: BaseException | None = error
    while behind is not None and id(behind) not in seen:
        says_so = isinstance(behind, RuntimeError | OSError) and any(mark in str(behind).lower() for mark in MARKS)
        if isinstance(behind, MemoryError) or says_so:
            return True
        seen.add(id(behind))
        behind = behind.__cause__ or behind.__context__
    return False


def _own_bytes(column: int) -> int:
    """Bytes of this process that a limit counts."""
    return int(Path("/proc/self/statm").read_text().split()[column]) * PAGE_BYTES
