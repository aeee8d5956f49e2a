"""Notes of what was ended because it hung, for the status page: lines of JSON in the data folder of this machine."""

import json
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

FILE = "incidents.jsonl"
"""in the data folder"""
SHOWN_FOR_SECONDS = 24 * 3600.0
MOST_KEPT = 100


@dataclass(frozen=True, slots=True)
class Incident:
    """One of them."""

    at: datetime
    sentence: str


def note_incident(data_folder: Path, sentence: str) -> None:
    """Add a note; nothing where the disk takes none: the log has the line too."""
    lines = [*_lines(data_folder)[1 - MOST_KEPT :], json.dumps({"at": time.time(), "sentence": sentence})]
    path = data_folder / FILE
    try:
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError:
        return


def recent_incidents(data_folder: Path) -> list[Incident]:
    """Those of the last day, the newest first."""
    since = datetime.now(UTC) - timedelta(seconds=SHOWN_FOR_SECONDS)
    found = [incident for line in _lines(data_folder) if (incident := _incident_of(line)) is not None]
    return [incident for incident in found if incident.at >= since][::-1]


def _incident_of(line: str) -> Incident | None:
    """None for a line that is no note: the status page must show the others."""
    try:
        note = json.loads(line)
        return Incident(datetime.fromtimestamp(note["at"], UTC), str(note["sentence"]))
    except (ValueError, TypeError, KeyError, OverflowError, OSError, RecursionError):
        return None


def _lines(data_folder: Path) -> list[str]:
    try:
        return (data_folder / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
