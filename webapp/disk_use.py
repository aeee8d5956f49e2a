"""What the application's data take on the disk, and what is left."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection

LEAST_FREE_BYTES = 1024**3
"""less than this is worth a warning"""
SQLITE_SUFFIXES = ("", "-wal", "-shm")


@dataclass(frozen=True, slots=True)
class DiskUse:
    """Bytes by kind."""

    database_bytes: int
    """all files of SQLite, or what PostgreSQL reports for its database, which may lie on another machine"""
    reusable_bytes: int
    """of SQLite's file, what deleted rows have left and later rows fill; 0 with PostgreSQL"""
    graphs_bytes: int
    """uploaded and built graphs with their measured times, and uploads in progress"""
    profiles_bytes: int
    """measured op times, and rounds of measured placements"""
    families_bytes: int
    logs_bytes: int
    free_bytes: int
    """of the disk with the data folder"""

    @property
    def used_bytes(self) -> int:
        """The sum of all kinds."""
        files = self.graphs_bytes + self.profiles_bytes + self.families_bytes + self.logs_bytes
        return self.database_bytes + files


def disk_use() -> DiskUse:
    """Measure now. It reads the size of each file: some milliseconds for a thousand. Raises DatabaseError."""
    folder = Path(settings.DATA_FOLDER)
    database_bytes, reusable_bytes = _database()
    return DiskUse(
        database_bytes=database_bytes,
        reusable_bytes=reusable_bytes,
        graphs_bytes=_files_below(folder / "graphs") + _files_below(folder / "incoming"),
        profiles_bytes=_files_below(folder / "profiles") + _files_below(folder / "measurements"),
        families_bytes=_files_below(Path(settings.FAMILIES_FOLDER)),
        logs_bytes=_files_below(folder / "logs"),
        free_bytes=shutil.disk_usage(folder).free,
    )


def _database() -> tuple[int, int]:
    """The bytes of the database, and of its reusable pages."""
    with connection.cursor() as cursor:
        if connection.vendor != "sqlite":
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0]), 0
        cursor.execute("SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size")
        reusable_bytes = int(cursor.fetchone()[0])
    path = str(connection.settings_dict["NAME"])
    return sum(_size_of(Path(path + suffix)) for suffix in SQLITE_SUFFIXES), reusable_bytes


def _files_below(folder: Path) -> int:
    return sum(_size_of(path) for path in folder.rglob("*"))


def _size_of(path: Path) -> int:
    """The bytes of a file; 0 for a folder, and for what has just been deleted. A file with two names counts twice."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0
