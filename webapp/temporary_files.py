"""Temporary files lie in the data folder, each process's in a folder of its own; what killed processes left is removed.

A process holds the lock of its folder, and so do those that it forks; the kernel releases it when the last of them
ends, however it ends. Whoever makes a folder first removes those that nobody holds. Nothing is left in the system's own
temporary folder, which nobody may ever empty.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.util import Finalize
from pathlib import Path

from django.conf import settings

FOLDER = "temporary"
AFTER_OTHERS = -1000
"""priority at exit: multiprocessing empties its own folder, which lies in this one, at -100"""


def use_own_folder() -> None:
    """Let this process and those that it starts make all their temporary files in a folder of its own."""
    folder, handle = _made()
    tempfile.tempdir = str(folder)
    os.environ["TMPDIR"] = str(folder)

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)

    Finalize(None, remove, exitpriority=AFTER_OTHERS)  # does nothing in a forked process


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is removed when the context ends, or after a kill by whoever makes the next one."""
    folder, handle = _made()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _made() -> tuple[Path, int]:
    """A new folder and the handle that holds its lock; folders that nobody holds are removed."""
    parent = Path(settings.DATA_FOLDER) / FOLDER
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    among_us = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(among_us, fcntl.LOCK_EX)  # a new folder is not yet held
        for left in parent.iterdir():
            _remove_unless_held(left)
        folder = Path(tempfile.mkdtemp(dir=parent))
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(handle, fcntl.LOCK_EX)
        return folder, handle
    finally:
        os.close(among_us)


def _remove_unless_held(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(handle)
