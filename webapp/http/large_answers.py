"""Answers that wait for their clients: what together exceeds a bound of memory waits on the disk.

A client may read slowly, or not at all until the web server hangs up. Meanwhile its answer is a share of
`MOST_HELD_BYTES` of memory, or an open file without a name; all these files together leave half of the disk free.
"""

import asyncio
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase

from webapp.capacity import BusyError

SMALL_BYTES = 64 * 1024
"""an answer up to this is not counted: the number of connections bounds them"""
MOST_HELD_BYTES = 64 * 1024**2
"""of all other answers that are in memory"""
PIECE_BYTES = 256 * 1024
TOO_MANY = "Too many downloads wait for their clients. Try again in a few minutes."


class Total:
    """The bytes that answers take together, in memory or on the disk."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.bytes = 0

    def take(self, count: int, most_bytes: int) -> Callable[[], None] | None:
        """A function that gives `count` bytes back, once; None if all together would then be over `most_bytes`."""
        with self._lock:
            if self.bytes + count > most_bytes:
                return None
            self.bytes += count

        def give_back() -> None:
            with self._lock:
                self.bytes -= count

        return give_back


in_memory, on_disk = Total(), Total()


class FileAnswer(StreamingHttpResponse):
    """An answer of an open file, which may have lost its name; it is read in pieces and closed with the answer."""

    def __init__(self, file: BinaryIO, **options: Any) -> None:
        """`options` are those of StreamingHttpResponse."""
        super().__init__(_pieces(file), **options)
        self["Content-Length"] = str(os.fstat(file.fileno()).st_size)
        _when_closed(self, file.close)


def temporary_answer(file: BinaryIO, **options: Any) -> FileAnswer:
    """A FileAnswer of a file that takes room on the disk until it is sent. Raises BusyError, and closes `file`."""
    size = os.fstat(file.fileno()).st_size
    free = shutil.disk_usage(settings.DATA_FOLDER).free
    give_back = on_disk.take(size, max(size, (free + on_disk.bytes) // 2))
    if give_back is None:
        file.close()
        raise BusyError(TOO_MANY)
    answer = FileAnswer(file, **options)
    _when_closed(answer, give_back)
    return answer


def held(answer: HttpResponseBase) -> HttpResponseBase:
    """`answer`, or the same answer from the disk where memory has no room for it. Raises BusyError, OSError."""
    if answer.streaming:
        return answer
    content: bytes = answer.content  # type: ignore[attr-defined]  # what is not streamed has it
    if len(content) <= SMALL_BYTES:
        return answer
    if (give_back := in_memory.take(len(content), MOST_HELD_BYTES)) is not None:
        _when_closed(answer, give_back)
        return answer
    stored = temporary_answer(_stored(content), status=answer.status_code, reason=answer.reason_phrase)
    stored.headers = answer.headers
    stored.cookies = answer.cookies
    stored["Content-Length"] = str(len(content))
    return stored


def _stored(content: bytes) -> BinaryIO:
    folder = Path(settings.DATA_FOLDER) / "incoming"
    folder.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile(dir=folder))
        file.write(content)
        file.seek(0)
        stack.pop_all()  # the answer closes it
        return file


def _when_closed(answer: HttpResponseBase, do: Callable[[], None]) -> None:
    """Call `do` when `answer` is closed, or dropped without that: then its request was given up before it was made."""
    answer._resource_closers.append(weakref.finalize(answer, do))  # type: ignore[attr-defined]  # as Django's own


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
        yield piece
