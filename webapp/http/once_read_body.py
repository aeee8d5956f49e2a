"""A spooled body that gives its room on the disk back while it is read: an upload takes its size once, not twice."""

import ctypes
import sys
import tempfile

PUNCH_EVERY_BYTES = 1024**2
KEEP_SIZE, PUNCH_HOLE = 1, 2
"""flags of Linux's fallocate"""


class OnceReadBody(tempfile.SpooledTemporaryFile[bytes]):
    """It is written, then read once from its beginning to its end, piece by piece."""

    _punched_bytes = 0

    def read(self, *arguments: int) -> bytes:
        """The next bytes; those before them are gone from the disk, where the file system can do that."""
        piece = super().read(*arguments)
        if self._rolled and self.tell() - self._punched_bytes >= PUNCH_EVERY_BYTES:  # type: ignore[attr-defined]
            end = self.tell() - self.tell() % PUNCH_EVERY_BYTES
            punch(self.fileno(), self._punched_bytes, end - self._punched_bytes)
            self._punched_bytes = end
        return piece


def punch(descriptor: int, start: int, length: int) -> bool:
    """Give back the room of a part of a file, whose size stays; False where that cannot be done."""
    if sys.platform != "linux" or _libc is None:
        return False
    bounds = ctypes.c_int64(start), ctypes.c_int64(length)
    return bool(_libc.fallocate(descriptor, KEEP_SIZE | PUNCH_HOLE, *bounds) == 0)


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
