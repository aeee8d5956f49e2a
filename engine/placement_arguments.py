"""Placements on the command line: the file that `--placement` names, and the endings of those that are written."""

from pathlib import Path

from engine import api
from engine.errors import PlacementError
from engine.json_text import read_json

PLACED_FORMATS = (".pb", ".pbtxt")
MOST_PLACED = 20_000_000
"""ops in a file of placements, all placements together"""


def read_placements(path: Path) -> api.Json:
    """The JSON in `path`. Raises PlacementError, OSError."""
    return read_json(path.read_bytes(), most_values=MOST_PLACED, error=PlacementError, field="placement")
