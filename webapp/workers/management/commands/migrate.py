"""`manage.py migrate`: Django's, for databases of which it finds all migrations or none."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections

from webapp.workers.migration_names import TooOldError, applied_names


class Command(migrate.Command):
    """Brings the tables up to date."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Do so, unless the database is too old for this code. Raises CommandError with one line."""
        try:
            applied_names(connections[options["database"]])
        except TooOldError as error:
            raise CommandError(str(error)) from None
        super().handle(*args, **options)
