"""The folder of all stored data, used by one supervisor at a time."""

import fcntl
import os
import tempfile
from pathlib import Path

from webapp.supervisor.failure import StartError

OURS = ("placeto.sqlite3*", "secret_key", "graphs", "profiles", "incoming", "redis", "families", "logs", "logs/*.log*")


class DataFolder:
    """A writable folder and the lock on it.

    The lock is on the folder itself: there is no lock file, and the kernel releases it when the last process that holds
    it ends, however it ends.
    """

    def __init__(self, path: Path) -> None:
        """Create the folder if it is missing, and lock it. Raises StartError."""
        self.path = path
        self.logs = path / "logs"
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.tightened = _tighten(path)
            """how many entries others could read before"""
            self._handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            self._lock()
            self.logs.mkdir(mode=0o700, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass  # a test whether it can be written
        except OSError as error:
            raise StartError(
                f"cannot write the data folder {path} ({error.strerror}): "
                "make it writable, or choose another with PLACETO_DATA"
            ) from None

    def _lock(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StartError(
                f"the application already runs on the data folder {self.path}: "
                "stop it first, or choose another with PLACETO_DATA"
            ) from None

    def close(self) -> None:
        """Release the folder."""
        os.close(self._handle)


def _tighten(folder: Path) -> int:
    """Take the rights of others off the folder and our entries in it; returns how many had such rights.

    Nobody else then reaches what lies deeper, which is made without such rights anyway.
    """
    ours = [entry for pattern in OURS for entry in folder.glob(pattern)]
    open_ones = [entry for entry in (folder, *ours) if not entry.is_symlink() and entry.stat().st_mode & 0o077]
    for entry in open_ones:
        entry.chmod(entry.stat().st_mode & 0o700)
    return len(open_ones)
