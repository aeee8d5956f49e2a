"""Makes a backup while the application runs.

    read snapshot ─▶ link the files ─▶ write the rows ─▶ end of the snapshot ─▶ write the files ─▶ rename

A file is written before its row and deleted after it. So the files of all rows of the snapshot are there when it
begins; links in a folder of our own keep those that are deleted during the backup. A file that vanishes between
snapshot and link has lost its row too: then everything starts again with a new snapshot.
"""

import errno
import logging
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.db import DatabaseError, connection, transaction

from engine import api
from webapp.backups.archive import FILE_FOLDERS, PIECE_BYTES, ArchiveWriter, Manifest
from webapp.backups.failure import BackupError
from webapp.backups.models import BackupRecord
from webapp.backups.rows import lines_of
from webapp.backups.schema import TableModel, applied_migrations, name_of, tables_at
from webapp.graphs.models import Graph
from webapp.measuring.models import Profile
from webapp.temporary_files import temporary_folder

log = logging.getLogger(__name__)

MOST_SNAPSHOTS = 10


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What a backup holds."""

    rows: int
    files: int
    missing: list[Path]
    """files that rows refer to and that are not on this machine"""
    archive_bytes: int


def back_up(path: Path) -> BackupReport:
    """Write the archive `path`, and note in the database whether it worked. Raises BackupError."""
    try:
        report = _back_up(path)
    except (BackupError, DatabaseError, OSError) as error:
        fault = _sentence(error)
        _note(lambda: BackupRecord.failed(fault))
        raise BackupError(fault) from error
    except (KeyboardInterrupt, SystemExit):
        _note(lambda: BackupRecord.failed("it was stopped"))
        raise
    _note(lambda: BackupRecord.succeeded(report.archive_bytes))
    return report


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return "the disk is full; nothing was written"
        return f"{error.strerror}: {error.filename}"
    return str(error) if isinstance(error, BackupError) else f"the database does not answer: {str(error).strip()}"


def _note(write: Callable[[], None]) -> None:
    try:
        write()
    except DatabaseError as error:  # it is away, or older than that table
        log.warning("the database cannot note whether the backup worked: %s", error)


def _back_up(path: Path) -> BackupReport:
    if connection.in_atomic_block:
        raise AssertionError("a snapshot is a transaction of its own")
    with ArchiveWriter(path) as archive, temporary_folder() as links:
        migrations = applied_migrations()
        if not migrations:
            raise BackupError("the database has no tables yet: there is nothing to back up")
        manifest = Manifest(api.VERSION, migrations, datetime.now(UTC).isoformat(timespec="seconds"))
        tables = tables_at(migrations)
        missing = _write_snapshot(archive, manifest, tables, links)
        manifest.missing = sorted(entry_of(path) for path in missing)
        files = sorted(file for folder in FILE_FOLDERS for file in (links / folder).iterdir())
        for file in files:
            archive.write(entry_of(file), _pieces(file))
        return BackupReport(sum(manifest.rows.values()), len(files), sorted(missing), archive.finish(manifest))


def _write_snapshot(archive: ArchiveWriter, manifest: Manifest, tables: list[TableModel], links: Path) -> set[Path]:
    """Write the rows of one snapshot, to whose files `links` then has links; returns the files that are missing."""
    missing: set[Path] = set()
    for _ in range(MOST_SNAPSHOTS):
        with _snapshot():
            found_missing = _link_files(tables, links)
            if (
                not found_missing <= missing
            ):  # either their rows are gone in the next snapshot, or they never were there
                missing = found_missing
                continue
            for table in tables:
                with closing(_counted(table, manifest)) as lines:  # before the connection, if a stop comes between
                    archive.write(f"rows/{name_of(table)}.jsonl", lines)
            return found_missing
    raise BackupError("files are deleted all the time: try again when less is deleted")


def _counted(table: TableModel, manifest: Manifest) -> Generator[bytes, None, None]:
    count = -1  # the line with the columns' names
    for line in lines_of(table):
        count += 1
        yield line
    manifest.rows[name_of(table)] = count


@contextmanager
def _snapshot() -> Iterator[None]:
    """One state of the database for all that is read in the block, while others write."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")  # Django's own would be IMMEDIATE, and keep all others from writing
            try:
                cursor.execute("SELECT COUNT(*) FROM sqlite_master")  # the first read fixes the snapshot
                yield
            finally:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield


def _link_files(tables: list[TableModel], links: Path) -> set[Path]:
    """Link the files of the snapshot's rows; returns those that are expected and missing."""
    missing = set()
    for folder in FILE_FOLDERS:
        shutil.rmtree(links / folder, ignore_errors=True)
        (links / folder).mkdir()
    for path, expected in files_of_rows(tables):
        try:
            os.link(path, links / path.parent.name / path.name)
        except FileNotFoundError:
            if expected:
                missing.add(path)
    return missing


def entry_of(path: Path) -> str:
    """The name of a stored file's entry."""
    return f"files/{path.parent.name}/{path.name}"


def files_of_rows(tables: list[TableModel]) -> Iterator[tuple[Path, bool]]:
    """Each path that a row may have a file at, and whether the row says that it has one."""
    for table in tables:
        rows = table._default_manager.order_by("pk")
        if name_of(table) == "graphs.graph":
            columns = rows.values_list("id", "suffix", "file_bytes", "times_name")
            for key, suffix, file_bytes, times_name in columns.iterator():
                source, times = Graph(id=key, suffix=suffix).paths
                yield source, file_bytes > 0
                yield times, bool(times_name)
        elif name_of(table) == "profiles.profile":
            for key, status in rows.values_list("id", "status").iterator():
                yield Profile(id=key).times_path, status == Profile.DONE


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
