"""Writes `constraints.txt`: the exact version of every required package, indirect ones included."""

import json
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from setup.commands import run, say
from setup.failure import SetupError
from setup.python_packages import CONSTRAINTS, TESTS, TOOLS, PythonPackages

HEAD = """\
# Exact versions of all Python packages, indirect ones included; set-up, image and CI install with them.
# Renew after a change of the requirements: make constraints
# A constraint installs nothing by itself: cuda-*, nvidia-* and triton count for torch's CUDA builds alone.
"""
PACKAGE_INDEX_ALONE = {"PIP_CONFIG_FILE": os.devnull, "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": ""}
"""makes pip ask one index: an index of CPU builds would hide CUDA's packages"""


ELSEWHERE = ("async-timeout",)  # redis needs it before Python 3.11.3
"""packages that only other platforms need"""
BROADEST = {"sys_platform": "linux", "platform_machine": "x86_64", "python_version": "3.11"}
"""the platform on which every requirement applies, and where constraints are renewed"""


def renew(root: Path) -> None:
    """Write the checkout's constraints anew: pip resolves the requirements and installs nothing. Raises SetupError."""
    packages = PythonPackages(root)
    packages.ensure_environment()
    say("resolving the requirements: pip downloads some gigabytes and installs nothing")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        run(
            "pip",
            [
                *(str(packages.python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"),
                *("--progress-bar", "off", "--dry-run", "--ignore-installed", "--report", str(path)),
                *("--requirement", str(root / TESTS[-1]), "--requirement", str(root / TOOLS[-1]), *ELSEWHERE),
            ],
            root / "build" / "setup-constraints.log",
            environment=PACKAGE_INDEX_ALONE,
        )
        report = json.loads(path.read_text(encoding="utf-8"))
    if any(report["environment"][name] != value for name, value in BROADEST.items()):
        raise SetupError("constraints are renewed on Linux x86_64 with Python 3.11, where every requirement applies")
    resolved = constraints_of([each["metadata"] for each in report["install"]])
    (root / CONSTRAINTS).write_text(HEAD + resolved, encoding="utf-8")


def constraints_of(packages: list[dict[str, str]]) -> str:
    """One line a package, by name; a local version label (`+cpu`) names a build and is left out."""
    pins = {re.sub(r"[-_.]+", "-", each["name"]).lower(): each["version"].partition("+")[0] for each in packages}
    return "".join(f"{name}=={version}\n" for name, version in sorted(pins.items()))
