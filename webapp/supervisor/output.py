"""The parts' output: all of it in one log file for each part, warnings and errors on the console."""

import contextlib
import json
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


def readable(line: str) -> list[str]:
    """The lines of a record of JSON as they would be in a log of text; any other line as it is."""
    if not line.startswith("{"):
        return [line]
    try:
        record = json.loads(line)
        words = f"{record['time']} {record['level']} {record['logger']}: {record['message']}"
        return [*words.splitlines(), *record.get("exception", "").splitlines()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return [line]


class Console:
    """The terminal of the person who started the application. It may go away at any time."""

    def say(self, line: str, speaker: str = "placeto:") -> None:
        """Print a line, with its speaker."""
        with contextlib.suppress(OSError):  # the terminal was closed, or the pipe's reader ended
            print(speaker, line, flush=True)


class Concern:
    """Selects the lines for the console; the log keeps all."""

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
        """Lines are appended to the file `path`."""
        self.path = path
        self._console, self._largest_bytes = console, largest_bytes
        self._stream: BinaryIO | None = path.open("ab", buffering=0)

    def write(self, line: str) -> None:
        """Append a line. If the log cannot be written, the console shows that once, and its lines are dropped."""
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
        """Close the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


class Lines:
    """The lines of a pipe, read without blocking."""

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
        if len(self._rest) > 65536:  # no real line is that long: limit the buffer
            whole, self._rest = [*whole, self._rest], b""
        return [_text(line) for line in whole]

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._pipe)


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r")


def last_words(lines: list[str]) -> str:
    """Why a part ended, from the last lines it wrote: its exception's message, or else its last line."""
    spoken = [line.strip() for line in lines if line.strip()]
    if any(line.startswith("Traceback ") for line in spoken):
        messages = [match["message"] for line in lines if (match := _EXCEPTION.match(line))]
        spoken = messages or spoken
    return spoken[-1] if spoken else "it printed nothing"
