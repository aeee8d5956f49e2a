"""Limits the memory of this process itself, for work that is not done in a child, and recognises its end."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARKS = ("can't allocate memory", "cannot allocate memory", "not enough memory", "out of memory", "bad_alloc")
"""in the texts of errors by which libraries say that memory ran out"""
PAGE_BYTES = resource.getpagesize()


@contextmanager
def limited_memory(more_bytes: int) -> Iterator[None]:
    """Let this process, and each that it starts, write at most `more_bytes` beyond what it has now. Linux only.

    What goes beyond raises MemoryError or a library's own error, which `is_out_of_memory` recognises.
    """
    if sys.platform != "linux":
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = _data_bytes() + more_bytes
    lowest = min(each for each in (wanted, soft, hard) if each != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


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


def _data_bytes() -> int:
    """Bytes of this process that the limit counts: data and stacks."""
    return int(Path("/proc/self/statm").read_text().split()[5]) * PAGE_BYTES
