"""`manage.py vacuum`: gives SQLite's free pages back to the disk, all at once."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection

from webapp.disk_use import disk_use
from webapp.jobs.free_pages import rewrite


class Command(BaseCommand):
    """Rewrites the database file without its free pages. From then on a worker gives them back in small steps."""

    help = "Rewrite SQLite's file without free pages; the application must be stopped."

    def handle(self, *_: Any, **__: Any) -> None:
        """Check that there is room for the copy, and rewrite."""
        if connection.vendor != "sqlite":
            self.stdout.write("PostgreSQL's autovacuum needs no help.")
            return
        before = disk_use()
        needed_bytes = 2 * (before.database_bytes - before.reusable_bytes)  # the copy, and the log of its pages
        if needed_bytes > before.free_bytes:
            raise CommandError(f"{needed_bytes} bytes are needed beside the database; {before.free_bytes} are free.")
        try:
            rewrite(connection)
        except OperationalError as error:
            raise CommandError(f"{error}; stop the application first.") from None
        self.stdout.write(f"{before.database_bytes} bytes before, {disk_use().database_bytes} after.")
