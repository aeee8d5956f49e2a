"""Watches the resident memory of an application's processes."""

import threading
from pathlib import Path
from types import TracebackType

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
                self._look(Path(f"/proc/{process}"))

    def _look(self, process: Path) -> None:
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            status = (process / "status").read_text(errors="replace")
        except OSError:  # it has ended
            return
        part = next((name for mark, name in PARTS.items() if mark in words), "other")
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                self.largest_bytes[part] = max(self.largest_bytes.get(part, 0), int(line.split()[1]) * 1024)
