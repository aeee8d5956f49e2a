"""A Chromium for the tests that drive a browser."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setup.commands import run, say
from setup.failure import SetupError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""names of Chromium browsers on a PATH"""

PLAYWRIGHT_PATH = (
    "from playwright.sync_api import sync_playwright as p\nwith p() as s: print(s.chromium.executable_path)"
)


class Browser:
    """This machine's Chromium, or one installed for the tests."""

    def __init__(self, root: Path) -> None:
        """`root` is the checkout; its `.venv` must hold playwright."""
        self._python = root / ".venv" / "bin" / "python"
        self._logs = root / "build"

    def find(self) -> Path | None:
        """The browser to use: PLACETO_CHROMIUM, one on the PATH, or playwright's own; None without any."""
        named = os.environ.get("PLACETO_CHROMIUM")
        if named:
            return Path(named)
        for name in NAMES:
            found = shutil.which(name)
            if found:
                return Path(found)
        answer = subprocess.run([self._python, "-c", PLAYWRIGHT_PATH], capture_output=True, text=True, check=False)
        path = Path(answer.stdout.strip())
        return path if answer.returncode == 0 and path.is_file() else None

    def install(self) -> None:
        """Install one if there is none: the system's package, else playwright's. Raises SetupError."""
        if self.find() is not None:
            return
        failures = []
        for attempt in (self._install_with_apt, self._install_with_playwright):
            try:
                attempt()
            except SetupError as error:
                failures.append(str(error))
            if self.find() is not None:
                return
        raise SetupError(
            f"no Chromium for the browser tests: install one or set PLACETO_CHROMIUM ({'; '.join(failures)})"
        )

    def _install_with_apt(self) -> None:
        if not (sys.platform == "linux" and shutil.which("apt-get")):
            raise SetupError("apt-get is not on this machine")
        prefix = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
        if prefix and (
            not shutil.which("sudo") or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
        ):
            raise SetupError("apt-get needs root or sudo without a password")
        say("installing Chromium for the browser tests with apt-get")
        apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet"]
        run("apt-get", [*apt, "update"], self._logs / "setup-apt.log")
        run("apt-get", [*apt, "install", "--no-install-recommends", "chromium"], self._logs / "setup-apt.log")

    def _install_with_playwright(self) -> None:
        say("installing Chromium for the browser tests with playwright")
        with_system_libraries = ["--with-deps"] if os.geteuid() == 0 and shutil.which("apt-get") else []
        run(
            "playwright",
            [str(self._python), "-m", "playwright", "install", *with_system_libraries, "chromium"],
            self._logs / "setup-playwright.log",
        )
