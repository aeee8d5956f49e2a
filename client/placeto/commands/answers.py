"""Writes the answer of a run where a command is told to."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from placeto.remote.runs import PlacedRun, file_named
from placeto.whole_files import written_whole


def require_names(options: argparse.Namespace) -> None:
    """Looks at `--out` before any work.

    Raises:
        ClientError: No file of a placement ends so.
    """
    if options.out is not None:
        file_named(Path(options.out).name)


def write_answer(placed: PlacedRun, options: argparse.Namespace) -> None:
    """Prints the answer, and writes what `--out` and `--report` ask for.

    Raises:
        ServerError: The graph has no such file.
        OSError: It cannot be written.
    """
    print(placed)
    if options.report is not None:
        with written_whole(Path(options.report)) as file:
            file.write(json.dumps(placed.report, indent=1).encode() + b"\n")
        print(f"written to {options.report}")
    if options.out is not None:
        placed.save(options.out)
        print(f"written to {options.out}")
