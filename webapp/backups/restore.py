"""Puts a backup into an empty data folder and an empty database, of whatever kind.

    verify everything ─▶ migrate to the backup's schema ─▶ rows and files, in one transaction ─▶ migrate to this code's

Until the rows are committed, a failure leaves the tables empty and no file.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models.functions import Now

from webapp.backups.archive import FILE_FOLDERS, ArchiveReader, Manifest
from webapp.backups.backup import entry_of, files_of_rows
from webapp.backups.failure import BackupError
from webapp.backups.row_values import most_line_bytes
from webapp.backups.rows import columns_of, insert, reset_sequences
from webapp.backups.schema import (
    TableModel,
    applied_migrations,
    first_with_rows,
    migrate_to,
    migrations_of_backup,
    name_of,
    record_names,
    tables_at,
)
from webapp.jobs.reaper import queue_all_again
from webapp.temporary_files import temporary_folder
from webapp.workers.models import Worker


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What was restored."""

    rows: int
    files: int
    queued_again: int
    """jobs that were being worked on"""
    missing_files: int = 0
    """that rows refer to, and that the machine with the backup's original did not have either"""


def restore(path: Path, *, keep_schema: bool = False) -> RestoreReport:
    """Restore the archive `path`. Raises BackupError.

    With `keep_schema` the tables stay at the backup's schema, for older code, whose reaper then queues its jobs.
    """
    try:
        with _locked(Path(settings.DATA_FOLDER)) as data_folder:
            archive = ArchiveReader(path)
            try:
                return _restore(archive, data_folder, keep_schema=keep_schema)
            finally:
                archive.close()
    except IntegrityError as error:
        raise BackupError(f"{path} is damaged: its rows do not belong together ({str(error).strip()})") from error
    except DatabaseError as error:
        raise BackupError(f"the database does not answer: {str(error).strip()}") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BackupError("the disk is full; nothing was restored") from error
        raise BackupError(f"{error.strerror}: {error.filename}") from error


def _restore(archive: ArchiveReader, data_folder: Path, *, keep_schema: bool) -> RestoreReport:
    manifest = archive.manifest
    migrations = migrations_of_backup(manifest)
    _require_empty(data_folder)
    if archive.files_bytes > shutil.disk_usage(data_folder).free:
        raise BackupError(f"the files of the backup take {archive.files_bytes} bytes; {data_folder} has less space")
    archive.verify()
    tables = tables_at(migrations)
    _require_rows(manifest, tables)
    migrate_to(migrations)
    with temporary_folder() as stage:
        _write_files(archive, stage)
        with _removed_on_failure(stage, data_folder) as move_into_place, transaction.atomic():
            _insert_rows(archive, tables)
            missing = _check_files(archive, tables)
            move_into_place()  # before the commit: no row is without its file
    queued_again = 0
    if keep_schema:
        record_names(manifest.migrations)
    else:
        _migrate_forward(manifest)
        queued_again = queue_all_again()
    return RestoreReport(sum(manifest.rows.values()), len(archive.files()), queued_again, missing)


def _require_rows(manifest: Manifest, tables: list[TableModel]) -> None:
    labels = [name_of(table) for table in tables]
    if sorted(labels) != sorted(manifest.rows):
        raise BackupError("the backup is damaged: its tables are not those of its migrations")
    for label in labels:
        if _entry_of_rows(label) not in manifest.entries:
            raise BackupError(f"the backup is damaged: it has no rows of {label}")


def _entry_of_rows(label: str) -> str:
    return f"rows/{label}.jsonl"


def _check_files(archive: ArchiveReader, tables: list[TableModel]) -> int:
    """How many files rows refer to that the backup lacks. Raises BackupError unless rows and files belong together."""
    left = set(archive.files())
    missing = []
    for path, expected in files_of_rows(tables):
        name = entry_of(path)
        if expected and name not in left:
            missing.append(name)
        left.discard(name)
    if left:
        raise BackupError(f"the backup is damaged: it has a file of no row, {min(left)}")
    known = archive.manifest.missing
    if known is not None and (lost := set(missing) - set(known)):
        raise BackupError(f"the backup is damaged: it lacks a file of a row, {min(lost)}")
    return len(missing)


def _migrate_forward(manifest: Manifest) -> None:
    try:
        call_command("migrate", verbosity=0)
    except Exception as error:
        raise BackupError(
            f"all is restored, but cannot be brought from version {manifest.version} to this one ({error}): "
            "empty the database and the data folder, and restore with that version"
        ) from error


@contextmanager
def _locked(data_folder: Path) -> Iterator[Path]:
    """Keep the application from starting on the folder. Raises BackupError if it runs."""
    handle = os.open(data_folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(f"the application runs on the data folder {data_folder}: stop it first") from None
        yield data_folder
    finally:
        os.close(handle)


def _require_empty(data_folder: Path) -> None:
    for folder in FILE_FOLDERS:
        if any((data_folder / folder).glob("*")):
            raise BackupError(f"the data folder {data_folder} has files in {folder}/: a restore needs an empty one")
    occupied = first_with_rows(tables_at(applied_migrations()))
    if occupied:
        raise BackupError(f"the database has rows ({occupied}): a restore needs an empty one")
    if Worker._meta.db_table in connection.introspection.table_names():
        alive = Worker.objects.filter(seen_at__gt=Now() - timedelta(seconds=settings.STALE_AFTER_SECONDS)).first()
        if alive is not None:
            raise BackupError(f"the application runs on this database (worker {alive}): stop it first")


def _write_files(archive: ArchiveReader, stage: Path) -> None:
    for folder in FILE_FOLDERS:
        (stage / folder).mkdir(mode=0o700)
    for name in archive.files():
        _, folder, file_name = name.split("/")
        with (stage / folder / file_name).open("xb") as file:
            for piece in archive.pieces(name):
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def _removed_on_failure(stage: Path, data_folder: Path) -> Iterator[Callable[[], None]]:
    """Yield a function that moves the files into place; they are removed if the block fails after all."""
    moved: list[Path] = []

    def move() -> None:
        for folder in FILE_FOLDERS:
            (stage / folder).replace(data_folder / folder)
            moved.append(data_folder / folder)

    try:
        yield move
    except BaseException:
        for folder in moved:
            shutil.rmtree(folder)
        raise


def _insert_rows(archive: ArchiveReader, tables: list[TableModel]) -> None:
    """Insert all rows, in any order: references are checked at the end of the transaction."""
    for table in tables:
        label = name_of(table)
        lines = archive.lines(_entry_of_rows(label), most_line_bytes(columns_of(table)))
        if insert(table, lines) != archive.manifest.rows[label]:
            raise BackupError(f"the backup is damaged: its rows of {label} are not all there")
    reset_sequences(tables)
