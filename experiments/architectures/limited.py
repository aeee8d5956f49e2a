"""A function in a child process of its own, which a time limit ends."""

import contextlib
import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from experiments.folders import ROOT

CLIENT = ROOT / "client"
STEP, ROW, START = "step", "row", "start"


def limited_row(function: str, case: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """What a function gives for `case` in a child; `failed` and a `sentence` where it takes longer or the child dies.

    Args:
        function: `module:name`; gives the row of a case, and calls its second argument with each step that begins.
        case: What the row is of.
        seconds: The limit, with the imports.
    """
    command = [sys.executable, "-m", __name__, function, json.dumps(case)]
    with subprocess.Popen(  # noqa: S603  # our own words
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
    ) as process:
        try:
            out, sentence = process.communicate(timeout=seconds)[0], "its process died"
        except subprocess.TimeoutExpired:
            process.kill()
            out, sentence = process.communicate()[0], f"it takes longer than {seconds:g} s"
    step = START
    for line in out.splitlines():
        message: Any = None
        with contextlib.suppress(ValueError):  # what a library prints
            message = json.loads(line)
        if isinstance(message, dict) and ROW in message:
            row: dict[str, Any] = message[ROW]
            return row
        if isinstance(message, dict) and STEP in message:
            step = message[STEP]
    return {"failed": step, "sentence": sentence}


def main(function: str, case: str) -> None:
    """What the child does."""
    sys.path.insert(0, str(CLIENT))
    module, _, name = function.partition(":")
    rows = getattr(importlib.import_module(module), name)
    row = rows(json.loads(case), lambda step: print(json.dumps({STEP: step}), flush=True))
    print(json.dumps({ROW: row}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
