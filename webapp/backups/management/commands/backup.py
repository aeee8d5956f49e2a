"""`manage.py backup FILE`: all rows and files in one zip, while the application runs."""

import signal
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webapp.backups.backup import back_up
from webapp.backups.failure import BackupError


class Command(BaseCommand):
    """Writes a backup."""

    help = "Write all rows and files to one zip, while the application runs. FILE must not exist."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file."""
        parser.add_argument("file", type=Path)

    def handle(self, *_: Any, file: Path, **__: Any) -> None:
        """Make it. Raises CommandError with one line."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the draft is removed on the way
        try:
            report = back_up(file)
        except BackupError as error:
            raise CommandError(str(error)) from None
        for path in report.missing:
            self.stderr.write(f"missing, though a row names it: {path}")
        self.stdout.write(f"{file}: {report.rows} rows, {report.files} files, {report.archive_bytes} bytes")
