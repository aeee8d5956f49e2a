"""What the parts say: all of it in a log file a part, what matters on the console."""

import contextlib
import os
import re
from pathlib import Path
from typing import BinaryIO

LARGEST_LOG_BYTES = 10 * 1024**2

_RECORD_OF_NO_CONCERN = re.compile(
    r"[\d\-:,.TZ+ ]*\b(INFO|DEBUG)\b"  # the application's own log, and the web server's
    r"|\[[^\]]*: (INFO|DEBUG)/"  # Celery's
    r"|\d{4}-\d\d-\d\d [\d:.]+: I |I\d{4} "  # TensorFlow's
    r"|worker: (Hitting Ctrl\+C again|(Warm|Cold) shutdown)"  # Celery's answer to a stop signal
)
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*: (?P<message>.+)")


class Console:
    """The terminal of the person who started the application. It may go away at any time."""

    def say(self, line: str, speaker: str = "placeto:") -> None:
        """A line, with who says it."""
        with contextlib.suppress(OSError):  # the terminal was closed, or the pipe's reader ended
            print(speaker, line, flush=True)


class Concern:
    """Tells the lines that a person should see from those that only the log keeps."""

    def __init__(self) -> None:
        self._shown = True

    def shows(self, line: str) -> bool:
        """Whether `line` goes to the console: all but records of level INFO and DEBUG, with their indented lines."""
        if line and not line.startswith((" ", "\t")):
            self._shown = _RECORD_OF_NO_CONCERN.match(line) is None
        return bool(line.strip()) and self._shown


class Log:
    """A log file that is renamed to `.1` when it has grown too large."""

    def __init__(self, path: Path, console: Console, largest_bytes: int = LARGEST_LOG_BYTES) -> None:
        """Lines are added to what `path` already holds."""
        self.path = path
        self._console, self._largest_bytes = console, largest_bytes
        self._stream: BinaryIO | None = path.open("ab", buffering=0)

    def write(self, line: str) -> None:
        """Add a line. A log that cannot be written is told once and given up: the application matters more."""
        if self._stream is None:
            return
        try:
            if self._stream.tell() > self._largest_bytes:
                self._stream.close()
                self.path.replace(f"{self.path}.1")
                self._stream = self.path.open("ab", buffering=0)
            self._stream.write(line.encode() + b"\n")
        except OSError as error:
            self._console.say(f"cannot write {self.path} ({error.strerror}); its lines are lost from here on")
            self.close()

    def close(self) -> None:
        """No line will follow."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


class Lines:
    """The lines of a pipe that is read without waiting."""

    def __init__(self, pipe: int) -> None:
        """`pipe` is a file descriptor to read; this object closes it."""
        self._pipe, self._rest = pipe, b""
        os.set_blocking(pipe, False)

    def fileno(self) -> int:
        """For selectors."""
        return self._pipe

    def read(self) -> list[str] | None:
        """The lines that have come since the last call; None when no more will come."""
        try:
            chunk = os.read(self._pipe, 65536)
        except BlockingIOError:
            return []
        if not chunk:
            rest, self._rest = self._rest, b""
            return [_text(rest)] if rest else None
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > 65536:  # no line is that long: do not gather without end
            whole, self._rest = [*whole, self._rest], b""
        return [_text(line) for line in whole]

    def close(self) -> None:
        """No more is read."""
        os.close(self._pipe)


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r")


def last_words(lines: list[str]) -> str:
    """Why a part ended, from the last lines it wrote: its exception's message, or else its last line."""
    spoken = [line.strip() for line in lines if line.strip()]
    if any(line.startswith("Traceback ") for line in spoken):
        messages = [match["message"] for line in lines if (match := _EXCEPTION.match(line))]
        spoken = messages or spoken
    return spoken[-1] if spoken else "it said nothing"
