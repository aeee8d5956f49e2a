"""Workers: which ones live, and whether their version is the database's."""

import logging
from typing import Any

from django.apps import AppConfig
from django.core.management.base import CommandError
from django.db import connections
from django.db.migrations import Migration
from django.db.models.signals import post_migrate, pre_migrate

log = logging.getLogger(__name__)


class WorkersConfig(AppConfig):
    """The app `workers`."""

    name = "webapp.workers"
    label = "workers"

    def ready(self) -> None:
        pre_migrate.connect(_refuse_newer_database, sender=self)
        post_migrate.connect(_record_version, sender=self)


def _refuse_newer_database(using: str, plan: list[tuple[Migration, bool]], **_: Any) -> None:
    """Raise CommandError where a newer version has migrated the database; else log what will be done."""
    from webapp.workers.version import unknown_migrations

    unknown = unknown_migrations(connections[using])
    if unknown:
        raise CommandError(
            f"a newer version has migrated this database ({', '.join(unknown)}): "
            "use that version, or restore a backup into an empty database"
        )
    if plan:
        log.info("migrating: %s", ", ".join(f"{migration.app_label}.{migration.name}" for migration, _ in plan))


def _record_version(using: str, **_: Any) -> None:
    """Store the version of this code, whenever the tables have been brought up to date."""
    from webapp.workers.version import record_version

    stored = record_version(connections[using])
    if stored is not None:
        log.info("the database is of version %s", stored)
