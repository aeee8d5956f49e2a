"""Arguments that several commands take."""

from __future__ import annotations

import argparse
from typing import Any


def positive(text: str) -> int:
    """A whole number from 1."""
    number = int(text) if text.isascii() and text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return number


def add_answer(command: Any) -> None:
    """Adds where the answer of a run is written."""
    command.add_argument(
        "--out",
        metavar="FILE",
        help="wait, then write the placed graph (.pb, .pbtxt, .onnx, .zip), what a runtime loads (.device_map.json), "
        "{op: device} (.json), or the run's page (.html)",
    )
    command.add_argument("--report", metavar="FILE", help="wait, then write the report, as JSON")
