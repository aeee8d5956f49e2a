"""What /proc shows of a process."""

import os
from pathlib import Path


def command_line(process: int) -> str:
    """The command line of a process; empty if it has ended."""
    try:
        return os.fsdecode(Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ")).strip()
    except OSError:
        return ""


def memory_bytes(process: int, field: str) -> int:
    """A field of its status: `VmRSS` is the resident memory, `VmHWM` its peak. Raises OSError if it has ended."""
    for line in Path(f"/proc/{process}/status").read_text(errors="replace").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0
