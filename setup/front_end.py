"""The front-end packages, and the Node.js that installs and checks them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from setup.commands import run, say
from setup.failure import SetupError
from setup.python_packages import TOOLS, PythonPackages
from setup.stamps import Stamp, digest

OLDEST_NODE = 20
NODE_FOLDER = "build/node"
"""where Node.js is installed in a checkout if the machine has none: the application does without it once set up"""


def major_version(node: str) -> int | None:
    """The major version of a node binary; None if it does not start or is not Node.js."""
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"v(\d+)\.", answer.stdout)
    return int(match[1]) if match and answer.returncode == 0 else None


def _node_of_the_machine() -> Path | None:
    """The Node.js on the PATH if it is new enough and has npm."""
    found = shutil.which("node")
    return Path(found) if found and (major_version(found) or 0) >= OLDEST_NODE and shutil.which("npm") else None


class FrontEnd:
    """`frontend/` of a checkout: its packages from the npm registry, by lock file."""

    def __init__(self, root: Path) -> None:
        """`root` is the checkout."""
        self._folder = root / "frontend"
        self._tools = PythonPackages(root, NODE_FOLDER)

    def node(self) -> Path:
        """The machine's Node.js if it is new enough and has npm, else the one that was installed. Raises SetupError."""
        found = _node_of_the_machine() or self._tools.folder / "bin" / "node"
        if major_version(str(found)) is None:
            raise SetupError(f"no Node.js: install version {OLDEST_NODE} or newer with npm, or run `make setup-tests`")
        return found

    def ensure_node(self) -> None:
        """Install Node.js from a Python package unless there is one. Raises SetupError."""
        if _node_of_the_machine() is None:
            try:
                self._tools.install(TOOLS)
            except SetupError as error:
                raise SetupError(f"no Node.js: install version {OLDEST_NODE} or newer with npm ({error})") from error

    def install(self) -> None:
        """Install the packages and copy the files that the pages load to `frontend/vendor`. Raises SetupError."""
        inputs = [self._folder / name for name in ("package.json", "package-lock.json", ".npmrc")]
        stamp = Stamp(self._folder / "node_modules" / ".stamp", digest(inputs))
        if stamp.holds() and (self._folder / "vendor").is_dir():
            return
        stamp.remove()
        self.ensure_node()
        node = self.node()
        say("installing the front-end packages")
        for arguments in (["ci", "--no-fund", "--no-audit", "--no-update-notifier"], ["run", "vendor"]):
            run(
                "npm",
                [str(node.parent / "npm"), *arguments],
                self._folder.parent / "build" / "setup-npm.log",
                cwd=self._folder,
                environment={"PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}", "CI": "true"},
            )
        stamp.set()
