"""A data folder of version 0.2.0, as its code left it: the file of its database, a backup, and answers.

It was made by the code of commit 3dd8061d. Two projects; three graphs, one of them read again with the times of a
profile; runs that are done, failed, cancelled, queued and half-way with a saved state, one that goes on from a
placement and one that starts from a policy; a kept policy, kept placements; policies that are the release's, uploaded,
trained, queued and half-way with a state; a comparison that is done and one half-way; a calibration that is done and
one half-way; a measurement of placements; links; a run that waits for its purge. Weights and states are cut off after
their first thousand bytes.
"""

import gzip
import json
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "older"
BACKUP = FOLDER / "backup-0.2.0.zip"
"""made by `manage.py backup` of 0.2.0"""
DATABASE = FOLDER / "database-0.2.0.sqlite3.gz"
ANSWERS: dict[str, Any] = json.loads((FOLDER / "answers-0.2.0.json").read_text())
"""address → status and what was answered; of a large answer its digest"""


def _manifest() -> dict[str, Any]:
    with zipfile.ZipFile(BACKUP) as archive:
        manifest: dict[str, Any] = json.loads(archive.read("manifest.json"))
    return manifest


ROWS: dict[str, int] = _manifest()["rows"]
"""app.table → number of rows in the backup"""
MIGRATIONS_OF_0_2_0: list[tuple[str, str]] = [(app, name) for app, name in _manifest()["migrations"]]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table as SQLite has it."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def write_database(path: Path) -> None:
    """Put the file of the database at `path`."""
    path.write_bytes(gzip.decompress(DATABASE.read_bytes()))


def tables_in(path: Path) -> dict[str, StoredTable]:
    """The tables of a database file, those of SQLite itself left out."""
    with closing(sqlite3.connect(path)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        return {name: _table(database, name) for (name,) in names.fetchall()}


def _table(database: sqlite3.Connection, name: str) -> StoredTable:
    found = database.execute(f"SELECT * FROM {name} ORDER BY 1")
    return StoredTable(tuple(column[0] for column in found.description), found.fetchall())
