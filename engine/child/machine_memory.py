"""The memory of the machine, or of the container that this process runs in."""

import os
from pathlib import Path

CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""of the container, where there is one: version 2 and version 1"""


def machine_memory_bytes() -> int:
    """The bytes that all processes together may use."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in CGROUP_LIMITS:
        try:
            limits.append(int(path.read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue  # no such file, or "max"
    return min(limits)
