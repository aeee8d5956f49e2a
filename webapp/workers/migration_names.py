"""The names of migrations, which a database keeps from when they were applied: up to 0.2.0 an app had many of them."""

from collections.abc import Collection
from functools import cache

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Migrations = Collection[tuple[str, str]]
"""(app, name)"""

NAMED_ANEW = {
    ("measuring", "0001_profiles"): ("profiles", "0001_initial"),
    ("measuring", "0002_revision"): ("profiles", "0002_revision"),
    ("measuring", "0003_fruitless_attempts"): ("profiles", "0003_fruitless_attempts"),
    ("measuring", "0004_deleted_rows"): ("profiles", "0004_deleted_rows"),
    ("measuring", "0005_calibrations"): ("calibrations", "0001_initial"),
    ("measuring", "0006_measurements"): ("measurements", "0001_initial"),
    ("runs", "0014_kept_policy"): ("decisions", "0001_kept_policy"),
}
"""what databases may have in place of a name of 0.2.0, or beside it: checkouts after 0.2.0 had joined those apps"""


class TooOldError(Exception):
    """One line for the operator: the database, or a backup, stands before 0.2.0, or between two versions."""

    def __init__(self, what: str, lacking: Migrations) -> None:
        """`lacking`: the migrations without which this code cannot bring it up to date."""
        first, *others = sorted(lacking)
        more = f" and {len(others)} more" if others else ""
        super().__init__(
            f"{what} is too old for this version (it lacks {'.'.join(first)}{more}): "
            "take it to version 0.2.0 first, with the code of commit 3dd8061d, as docs/upgrade.md says"
        )


@cache
def own_migrations() -> dict[tuple[str, str], frozenset[tuple[str, str]]]:
    """Each migration of this code → those that it stands for."""
    migrations = MigrationLoader(None).disk_migrations
    return {node: frozenset(migration.replaces) for node, migration in migrations.items()}


def present_names(recorded: Migrations, what: str) -> frozenset[tuple[str, str]]:
    """The migrations `recorded` under their names of this version. Raises TooOldError where a part of one is missing.

    Django takes a migration of which it finds a part for one to apply, and would create tables that are there.
    """
    present = {NAMED_ANEW.get(node, node) for node in recorded}
    lacking: set[tuple[str, str]] = set()
    for node, former in own_migrations().items():
        if former and former <= present:
            present.add(node)
        elif former & present:
            lacking |= former - present
    if lacking:
        raise TooOldError(what, lacking)
    return frozenset(present.difference(*own_migrations().values()))


def applied_names(connection: BaseDatabaseWrapper) -> frozenset[tuple[str, str]]:
    """The database's, of the apps that this code has: others may share it. Raises DatabaseError, TooOldError."""
    apps = {app for app, _ in own_migrations()}
    present = present_names(MigrationRecorder(connection).applied_migrations(), "the database")
    return frozenset((app, name) for app, name in present if app in apps)
