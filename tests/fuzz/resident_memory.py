"""Watches the resident memory of an application's processes."""

import threading
from types import TracebackType

from tests.process_facts import command_line, memory_bytes
from webapp.processes import descendants

SECONDS_BETWEEN_LOOKS = 0.1
CHILDREN = "children that read and check"
PARTS = {
    "engine.child": CHILDREN,
    "uvicorn": "web",
    "--hostname cpu@": "cpu worker",
    "--hostname gpu@": "gpu worker",
    "--hostname execute@": "execute worker",
    "redis": "redis",
}
"""words of a command line → the part"""


class MemoryWatch:
    """Keeps the peak (VmHWM) of the largest process of each part below `ancestor`, while it is entered."""

    def __init__(self, ancestor: int) -> None:
        self.largest_bytes: dict[str, int] = {}
        """part → bytes"""
        self._ancestor = ancestor
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *_error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_LOOKS):
            for process in descendants(self._ancestor):
                self._look(process)

    def _look(self, process: int) -> None:
        try:
            peak_bytes = memory_bytes(process, "VmHWM")
        except OSError:  # it has ended
            return
        words = command_line(process)
        part = next((name for mark, name in PARTS.items() if mark in words), "other")
        self.largest_bytes[part] = max(self.largest_bytes.get(part, 0), peak_bytes)
