"""The memory of the machine, or of the container that this process runs in."""

import os
from contextlib import suppress
from pathlib import Path

CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""of the container, where there is one: version 2 and version 1"""
USED_OF_LIMIT = {"memory.max": "memory.current", "memory.limit_in_bytes": "memory.usage_in_bytes"}
"""file of a limit → the file beside it with the bytes that are used, those of cached files included"""
MEMORY_OF_MACHINE = Path("/proc/meminfo")


def machine_memory_bytes() -> int:
    """The bytes that all processes together may use."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in CGROUP_LIMITS:
        try:
            limits.append(int(path.read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue  # no such file, or "max"
    return min(limits)


def available_memory_bytes() -> int:
    """The bytes that processes may use beside those that are used now; all of them, where the system does not say."""
    left = [machine_memory_bytes()]
    with suppress(OSError, KeyError):
        left.append(_numbers(MEMORY_OF_MACHINE)["MemAvailable:"] * 1024)
    for limit in CGROUP_LIMITS:
        with suppress(OSError, ValueError):
            used_bytes = int(limit.with_name(USED_OF_LIMIT[limit.name]).read_text(encoding="ascii"))
            cached_bytes = _numbers(limit.with_name("memory.stat")).get("inactive_file", 0)
            left.append(int(limit.read_text(encoding="ascii")) - used_bytes + cached_bytes)
    return max(0, min(left))


def _numbers(path: Path) -> dict[str, int]:
    """The first number of each line, by the line's first word."""
    lines = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}
