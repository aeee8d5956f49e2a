"""`manage.py restore FILE`: a backup into an empty data folder and an empty database."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webapp.backups.failure import BackupError
from webapp.backups.restore import restore


class Command(BaseCommand):
    """Restores a backup."""

    help = "Restore a backup into an empty data folder and an empty database, SQLite or PostgreSQL."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, and whether to leave its schema."""
        parser.add_argument("file", type=Path)
        words = "leave the tables as the backup has them, for the older version that it was made of"
        parser.add_argument("--keep-schema", action="store_true", help=words)

    def handle(self, *_: Any, file: Path, keep_schema: bool, **__: Any) -> None:
        """Restore it. Raises CommandError with one line."""
        try:
            report = restore(file, keep_schema=keep_schema)
        except BackupError as error:
            raise CommandError(str(error)) from None
        lacks = f"; {report.missing_files} files of rows are not in it" if report.missing_files else ""
        self.stdout.write(
            f"{file}: {report.rows} rows, {report.files} files; {report.queued_again} jobs queued again{lacks}"
        )
