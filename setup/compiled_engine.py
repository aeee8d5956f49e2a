"""The engine's compiled code, made once, so that no run's seconds go into it."""

import platform
from pathlib import Path

from setup.commands import run, say
from setup.stamps import Stamp, digest


class CompiledEngine:
    """What `engine/` of a checkout keeps beside its sources."""

    def __init__(self, root: Path) -> None:
        """`root` is the checkout; its `.venv` must hold the Python packages."""
        self._root = root

    def compile(self) -> None:
        """Compile what a change of the sources or of the packages has left to be compiled. Raises SetupError."""
        sources = sorted((self._root / "engine").rglob("*.py"))
        if not sources:  # an image installs the packages before it has the sources
            return
        inputs = [self._root / "requirements.txt", *sources]
        stamp = Stamp(self._root / ".venv" / "stamps" / "engine", digest(inputs, platform.machine()))
        if stamp.holds():
            return
        stamp.remove()
        say("compiling the engine: a minute the first time")
        run(
            "python -m engine compile",
            [str(self._root / ".venv" / "bin" / "python"), "-m", "engine", "compile"],
            self._root / "build" / "setup-compile.log",
            cwd=self._root,
        )
        stamp.set()
