"""Sets the number of torch's threads for a while, and lets the process keep the memory that torch frees."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""parameters of `mallopt`, by glibc's malloc.h"""
KEPT_BYTES = 2**31 - 1
"""free memory at the end of the heap up to which none goes back to the system"""
MAPPED_BYTES = 2**30
"""a block of so many bytes is still mapped by itself, and goes back when it is freed"""


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Run a block with `threads` threads of torch, then restore their number: the order of sums depends on it."""
    _keep_freed_memory()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@cache
def _keep_freed_memory() -> None:
    """Let glibc keep freed blocks for the next ones; other C libraries are left as they are.

    An update frees and takes the same tens of megabytes each time. If they go back to the system in between, it clears
    each page anew: a third of the RNN's time, a quarter of the hierarchical placer's.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)
        mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
