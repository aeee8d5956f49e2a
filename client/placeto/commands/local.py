"""The engine on this machine, in a process of its own: the same options, answers and exit status."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from placeto.errors import ClientError

PASSED = ("cluster", "method", "evaluations", "seconds", "seed", "batch_size", "groups", "out", "report")
"""options that the engine's `place` has by the same name"""
LOOKS = "import importlib.util as i, sys; sys.exit(not (i.find_spec('engine') and i.find_spec('engine.cli.main')))"


def place_here(options: argparse.Namespace) -> int:
    """Runs the engine; its words and its exit status are those of the command.

    Raises:
        ClientError: It is not installed there.
    """
    given = {name: getattr(options, name) for name in PASSED}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]
    return subprocess.run([*_engine(options.engine), "place", *words, "--", options.graph], check=False).returncode


def _engine(path: str | None) -> list[str]:
    """What starts it: a Python with the package, or the command that its installation brings."""
    program = path or sys.executable
    try:
        if path is not None and not Path(path).name.startswith("python"):
            subprocess.run([path, "--help"], check=True, capture_output=True)
            return [path]
        subprocess.run([program, "-c", LOOKS], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise ClientError(
            f"{program} has no engine: install Placeto Explorer for it (pip install PATH/OF/ITS/CHECKOUT), "
            "or name the Python that has it by --engine"
        ) from None
    return [program, "-m", "engine"]
