"""Workers: which ones live, and whether their version is the database's."""

from typing import Any

from django.apps import AppConfig
from django.core.management.base import CommandError
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate


class WorkersConfig(AppConfig):
    """The app `workers`."""

    name = "webapp.workers"
    label = "workers"

    def ready(self) -> None:
        pre_migrate.connect(_refuse_newer_database, sender=self)
        post_migrate.connect(_record_version, sender=self)


def _refuse_newer_database(using: str, **_: Any) -> None:
    """Raise CommandError where a newer version has migrated the database."""
    from webapp.workers.version import unknown_migrations

    unknown = unknown_migrations(connections[using])
    if unknown:
        raise CommandError(
            f"a newer version has migrated this database ({', '.join(unknown)}): "
            "use that version, or restore a backup into an empty database"
        )


def _record_version(using: str, **_: Any) -> None:
    """Store the version of this code, whenever the tables have been brought up to date."""
    from webapp.workers.version import record_version

    record_version(connections[using])
