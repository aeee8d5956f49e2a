"""One line on the terminal that says how far work is."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import TextIO

BETWEEN_SECONDS = 0.1
BAR = 20
UNITS = ((1e6, "s"), (1e3, "ms"))


class ProgressLine:
    """A line that is written over; nothing where nobody looks: by default, where stderr is no terminal."""

    def __init__(self, shown: bool | None = None, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream.isatty() if shown is None else shown
        self._last_seconds = 0.0
        self._width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def show(self, words: str, *, now: bool = False) -> None:
        """Writes the words over those before; at most ten times a second, unless it is to be `now`."""
        seconds = time.monotonic()
        if not self._shown or (not now and seconds - self._last_seconds < BETWEEN_SECONDS):
            return
        self._last_seconds = seconds
        line = " ".join(words.split())[: shutil.get_terminal_size().columns - 1]
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def clear(self) -> None:
        """Leaves the line empty."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


def bar(done: float, total: float) -> str:
    """`━━━━━━──────────────`."""
    part = min(max(round(BAR * done / total), 0), BAR) if total > 0 else 0
    return "━" * part + "─" * (BAR - part)


def time_words(time_us: float) -> str:
    """`12.3 ms`."""
    for size, unit in UNITS:
        if time_us >= size:
            return f"{time_us / size:.4g} {unit}"
    return f"{time_us:.4g} µs"


def bytes_words(count: float) -> str:
    """`16.8 MB`."""
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:g} bytes"
