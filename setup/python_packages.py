"""The virtual environment and the Python packages in it."""

import platform
import subprocess
import sys
from pathlib import Path

from setup.commands import run, say
from setup.failure import SetupError
from setup.stamps import Stamp, digest

APPLICATION = ("requirements.txt",)
TESTS = ("requirements.txt", "requirements-dev.txt")
TOOLS = ("requirements-setup.txt",)
"""what set-up and tests start and nothing imports"""
CONSTRAINTS = "constraints.txt"
"""the exact versions of all packages, indirect ones included"""


class PythonPackages:
    """A virtual environment of a checkout and its packages."""

    def __init__(self, root: Path, folder: str = ".venv") -> None:
        """`root` is the checkout, `folder` where the environment is in it."""
        self._root = root
        self.folder = root / folder
        self.python = self.folder / "bin" / "python"

    def install(self, requirements: tuple[str, ...]) -> None:
        """Install the last of `requirements`, which includes those before it. Raises SetupError."""
        if self._stamp(requirements).holds() and self.python.exists():
            return
        self.ensure_environment()
        stamps = [self._stamp(requirements[: count + 1]) for count in range(len(requirements))]
        for stamp in stamps:
            stamp.remove()
        large = "" if requirements == TOOLS else ": some minutes the first time, torch and TensorFlow are large"
        say(f"installing the Python packages of {requirements[-1]}{large}")
        run(
            "pip",
            [
                *(str(self.python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"),
                *("--progress-bar", "off", "--constraint", str(self._root / CONSTRAINTS)),
                *("--requirement", str(self._root / requirements[-1])),
            ],
            self.folder / "setup-pip.log",
            shows=_shows_progress,
        )
        for stamp in stamps:
            stamp.set()

    def ensure_environment(self) -> None:
        """Create the virtual environment unless there is a working one. Raises SetupError."""
        if not self._works():
            self._create()

    def _stamp(self, requirements: tuple[str, ...]) -> Stamp:
        files = [self._root / name for name in (CONSTRAINTS, *requirements)]
        return Stamp(self.folder / "stamps" / requirements[-1], digest(files, platform.machine()))

    def _works(self) -> bool:
        """Whether its Python starts and has pip: not if its base was removed or its creation interrupted."""
        try:
            check = subprocess.run([self.python, "-c", "import pip"], capture_output=True, check=False)
        except OSError:
            return False
        return check.returncode == 0

    def _create(self) -> None:
        say(f"creating the virtual environment {self.folder.name} with Python {platform.python_version()}")
        if Path(sys.prefix).resolve() == self.folder.resolve():
            raise SetupError(f"{self.folder} is broken: remove the folder and start again")
        run(
            "python -m venv",
            [sys.executable, "-m", "venv", "--clear", str(self.folder)],
            self._root / "build" / "setup-venv.log",
        )


def _shows_progress(line: str) -> bool:
    """Whether the line reports a large download or the last step."""
    return line.startswith("Installing collected") or (line.startswith("Downloading ") and " MB)" in line)
