"""Shares of the memory that the readings of one machine may use together.

A share is a number of locked files, one for each gibibyte. The kernel releases the locks with their process, however
that ends. Whoever waits for more keeps the files that it already has: only one waits so at a time, the others behind
it, so that a large share is not passed over for ever.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.conf import settings

UNIT_BYTES = 1024**3
LOOK_EVERY_SECONDS = 0.1
FOLDER = "memory"
"""in the data folder, which all readings of a machine share"""


@contextmanager
def share_of_memory(wanted_bytes: int) -> Iterator[None]:
    """Wait until `wanted_bytes` fit beside the shares of others, and keep them until the context ends.

    More than `settings.READING_MEMORY_BYTES` counts as all of it: such a reading works alone.
    """
    units = units_of_all()
    wanted = min(units, -(-wanted_bytes // UNIT_BYTES))
    folder = Path(settings.DATA_FOLDER) / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as share:
        with _locked(folder / "first-in-line"):
            _take(share, [folder / f"{unit}" for unit in range(units)], wanted)
        yield


def units_of_all() -> int:
    """The units that can be taken at once."""
    return max(1, settings.READING_MEMORY_BYTES // UNIT_BYTES)


def _take(share: ExitStack, free: list[Path], wanted: int) -> None:
    """Lock `wanted` of the files in `free`, and put them into `share`."""
    while wanted > 0:
        for path in list(free):
            if wanted > 0 and _lock_now(share, path):
                free.remove(path)
                wanted -= 1
        if wanted > 0:
            time.sleep(LOOK_EVERY_SECONDS)


def _lock_now(share: ExitStack, path: Path) -> bool:
    with ExitStack() as attempt:
        descriptor = _opened(path, attempt)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        share.enter_context(attempt.pop_all())
    return True


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with ExitStack() as stack:
        while not _lock_now(stack, path):  # it looks all the time, so that a process that waits here does not hang
            time.sleep(LOOK_EVERY_SECONDS)
        yield


def _opened(path: Path, stack: ExitStack) -> int:
    """A descriptor of the file, closed with `stack`: that releases its lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    stack.callback(os.close, descriptor)
    return descriptor
