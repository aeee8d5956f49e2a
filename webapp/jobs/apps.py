"""Jobs: work on rows that is neither lost nor done twice."""

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import pre_migrate


class JobsConfig(AppConfig):
    """The app `jobs`."""

    name = "webapp.jobs"
    label = "jobs"

    def ready(self) -> None:
        pre_migrate.connect(_prepare_new_database, sender=self)


def _prepare_new_database(using: str, **_: Any) -> None:
    from webapp.jobs.free_pages import prepare_new_database

    prepare_new_database(connections[using])
