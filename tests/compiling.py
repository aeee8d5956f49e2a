"""The engine's native code, compiled beside the other checks: the first test waits for it.

Two processes that meet code that is not compiled would both compile it.
"""

import fcntl
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parent.parent / "build" / "compiling.lock"


def compile_and_hold() -> int:
    """Compile all; tests wait meanwhile."""
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        return subprocess.run([sys.executable, "-m", "engine", "compile"], check=False).returncode


def wait_until_compiled() -> None:
    """Wait for a process that compiles; without one, go on."""
    if LOCK.exists():
        with LOCK.open() as held:
            fcntl.flock(held, fcntl.LOCK_SH)


if __name__ == "__main__":
    sys.exit(compile_and_hold())
