"""The folder of all stored data, used by one supervisor at a time."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from webapp.supervisor.failure import StartError

OURS = (
    *("placeto.sqlite3*", "placeto.pid", "secret_key", "graphs", "profiles", "incoming", "redis", "families"),
    *("measurements", "machine.json", "temporary", "uploads"),
    *("logs", "logs/*.log*"),
)
PID_FILE = "placeto.pid"
LEFT_BY_OLDER = ("placed-*", ".restore-*")
"""folders that killed processes of versions up to 0.2.0 left; later ones have theirs in `temporary/`"""
LONGEST_WAIT_SECONDS = 30.0
"""for an application that is ending: its parts take up to 10 s a stage"""


class DataFolder:
    """A writable folder and the lock on it.

    The lock is on the folder itself: there is no lock file, and the kernel releases it when the last process that holds
    it ends, however it ends. While the application runs, `placeto.pid` holds its process id.
    """

    def __init__(self, path: Path, say: Callable[[str], None] = lambda _line: None) -> None:
        """Create the folder if it is missing, and lock it, waiting for one that ends. Raises StartError."""
        self.path = path
        self.logs = path / "logs"
        self._pid_file = path / PID_FILE
        self._say = say
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.tightened = _tighten(path)
            """how many entries others could read before"""
            self._handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            self._lock()
            for left in (entry for pattern in LEFT_BY_OLDER for entry in path.glob(pattern)):
                shutil.rmtree(left, ignore_errors=True)
            self.logs.mkdir(mode=0o700, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass  # a test whether it can be written
        except OSError as error:
            raise StartError(
                f"cannot write the data folder {path} ({error.strerror}): "
                "make it writable, or choose another with PLACETO_DATA"
            ) from None

    def _lock(self) -> None:
        deadline = None
        while not self._try_to_lock():
            if deadline is None:
                deadline = time.monotonic() + LONGEST_WAIT_SECONDS
                if not self._pid_file.exists():
                    self._say(f"waiting for the end of the application on the data folder {self.path}")
            if self._pid_file.exists() or time.monotonic() > deadline:
                raise StartError(
                    f"the application already runs on the data folder {self.path}: "
                    "stop it first, or choose another with PLACETO_DATA"
                )
            time.sleep(0.1)
        self.unmark()  # one that was killed has left it

    def _try_to_lock(self) -> bool:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def mark(self, process_id: int) -> None:
        """Note that the application runs, and which process takes its signals."""
        self._pid_file.write_text(f"{process_id}\n", encoding="ascii")

    def unmark(self) -> None:
        """Note that the application is about to end."""
        self._pid_file.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the folder."""
        os.close(self._handle)


def is_used(path: Path) -> bool:
    """Whether an application holds the folder `path`."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def marked_process(path: Path) -> int | None:
    """The process that takes the signals of the application on `path`; None while it starts or ends."""
    try:
        return int((path / PID_FILE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _tighten(folder: Path) -> int:
    """Take the rights of others off the folder and our entries in it; returns how many had such rights.

    Nobody else then reaches what lies deeper, which is made without such rights anyway.
    """
    ours = [entry for pattern in OURS for entry in folder.glob(pattern)]
    open_ones = [entry for entry in (folder, *ours) if not entry.is_symlink() and entry.stat().st_mode & 0o077]
    for entry in open_ones:
        entry.chmod(entry.stat().st_mode & 0o700)
    return len(open_ones)
