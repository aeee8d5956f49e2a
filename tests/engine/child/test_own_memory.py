"""A process that limits its own memory gets an error instead of the machine's memory, and nothing of it stays."""

import mmap
import resource
import sys

import numpy as np
import pytest

from engine.child.own_memory import is_out_of_memory, limited_memory, room_bytes

MEBIBYTE = 1024**2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory that is written")
def test_what_goes_beyond_is_an_error_and_the_limit_ends() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(MemoryError) as caught, limited_memory(64 * MEBIBYTE):
        np.zeros(16 * MEBIBYTE, dtype=np.uint8)
        np.zeros(256 * MEBIBYTE, dtype=np.uint8)
    assert is_out_of_memory(caught.value)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    np.zeros(256 * MEBIBYTE, dtype=np.uint8)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory that is written")
def test_the_room_is_what_the_limit_leaves_else_what_the_machine_has() -> None:
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # an array may lie in what earlier ones left free in the heap
    with limited_memory(128 * MEBIBYTE):
        room = room_bytes()
        with mmap.mmap(-1, 48 * MEBIBYTE, flags=private) as held:
            assert 64 * MEBIBYTE < room <= 128 * MEBIBYTE and room_bytes() <= room - len(held)
    assert room_bytes() > 128 * MEBIBYTE


@pytest.mark.parametrize(
    ("error", "is_for_memory"),
    [
        (RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: 8 bytes"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("the shapes differ"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_libraries_have_errors_of_their_own(error: Exception, is_for_memory: bool) -> None:
    assert is_out_of_memory(error) is is_for_memory
    behind = KeyError("another")
    behind.__context__ = error
    assert is_out_of_memory(behind) is is_for_memory
