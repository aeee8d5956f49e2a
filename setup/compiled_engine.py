"""Compiles the engine once, so that runs do not spend their seconds on it."""

import platform
from pathlib import Path

from setup.commands import run, say
from setup.python_packages import CONSTRAINTS
from setup.stamps import Stamp, digest


class CompiledEngine:
    """The compiled code beside the sources of a checkout's `engine/`."""

    def __init__(self, root: Path) -> None:
        """`root` is the checkout; its `.venv` must hold the Python packages."""
        self._root = root

    def compile(self) -> None:
        """Compile again if the sources or the packages have changed. Raises SetupError."""
        sources = sorted((self._root / "engine").rglob("*.py"))
        if not sources:  # an image installs the packages before it gets the sources
            return
        inputs = [self._root / "requirements.txt", self._root / CONSTRAINTS, *sources]
        stamp = Stamp(self._root / "engine" / "__pycache__" / "compiled.stamp", digest(inputs, _processor()))
        if stamp.holds():
            return
        stamp.remove()
        say("compiling the engine: some minutes the first time, less after a change")
        run(
            "python -m engine compile",
            [str(self._root / ".venv" / "bin" / "python"), "-m", "engine", "compile"],
            self._root / "build" / "setup-compile.log",
            cwd=self._root,
        )
        stamp.set()


def _processor() -> str:
    """The processor's model and features, if the system shows them: compiled code depends on both."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    described = {line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))}
    return "\n".join([platform.machine(), *sorted(described)])
