"""The version of the code and of the database. A worker takes jobs only where they are the same."""

import hashlib
from dataclasses import dataclass
from functools import cache

from django.db import connection as default_connection
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.db.models.functions import Now

from engine import api
from webapp.workers.migration_names import Migrations, applied_names, own_migrations
from webapp.workers.models import DatabaseVersion

DIGEST_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Version:
    """A release, and the schema of its tables: two checkouts of one release may differ in their migrations."""

    version: str
    schema: str

    def __str__(self) -> str:
        return f"{self.version} (schema {self.schema})"


@cache
def code_version() -> Version:
    """The version of the code that this process has loaded."""
    return Version(api.VERSION, _digest(own_migrations()))


def has_table(model: type[models.Model], connection: BaseDatabaseWrapper = default_connection) -> bool:
    """Whether the database has the table: one of an older schema has not. Raises DatabaseError."""
    return model._meta.db_table in connection.introspection.table_names()


def database_version() -> Version | None:
    """The version that migrated the database last; None before that. Raises DatabaseError."""
    if not has_table(DatabaseVersion):
        return None
    row = DatabaseVersion.objects.filter(id=1).first()
    return None if row is None else Version(row.version, row.schema)


def same_version() -> QuerySet[DatabaseVersion]:
    """The database's row if it has the version of this code, else none."""
    own = code_version()
    return DatabaseVersion.objects.filter(id=1, version=own.version, schema=own.schema)


def record_version(connection: BaseDatabaseWrapper) -> Version | None:
    """Store the version of this code with the schema that the database has; None without a table for it."""
    if not has_table(DatabaseVersion, connection):
        return None  # migrated to a state before this table
    version = Version(api.VERSION, _digest(applied_names(connection)))
    columns = {"version": version.version, "schema": version.schema, "recorded_at": Now()}
    DatabaseVersion.objects.using(connection.alias).update_or_create(id=1, defaults=columns)
    return version


def unknown_migrations(connection: BaseDatabaseWrapper) -> list[str]:
    """The migrations of the database that this code does not have; it is newer then."""
    unknown = set(applied_names(connection)).difference(own_migrations())
    return sorted(f"{app}.{name}" for app, name in unknown)


def _digest(migrations: Migrations) -> str:
    names = "\n".join(sorted(f"{app}.{name}" for app, name in migrations))
    return hashlib.sha256(names.encode()).hexdigest()[:DIGEST_LENGTH]
