"""The tables of a database at a state of its migrations, be it this code's or an older one."""

from collections.abc import Iterable
from typing import Any

from django.db import connection, models
from django.db.migrations.exceptions import IrreversibleError
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from webapp.backups.archive import Manifest
from webapp.backups.failure import BackupError
from webapp.workers.migration_names import Migrations, TooOldError, applied_names, own_migrations, present_names

TableModel = type[models.Model]

OF_THIS_INSTALLATION = frozenset(
    {
        "jobs.healthmark",
        "workers.databaseversion",
        "workers.worker",
        "workers.offeredmachine",
        "backups.backuprecord",
        *("contenttypes.contenttype", "auth.permission", "auth.group", "auth.group_permissions"),
        *("sessions.session", "usersessions.usersession", "admin.logentry"),
        *("axes.accessattempt", "axes.accesslog", "axes.accessfailurelog", "axes.accessattemptexpiration"),
        *("account.emailconfirmation", "socialaccount.socialtoken"),
        *("uploads.partialupload", "api.keptanswer"),
    }
)
"""tables that a backup leaves out: they describe processes, disks, who is logged in and what is under way, or repeat
what the code says; people have stored nothing in them"""


def applied_migrations() -> list[tuple[str, str]]:
    """The migrations of the database. Raises BackupError if it is too old, or has some that this code does not have."""
    try:
        applied = applied_names(connection)
    except TooOldError as error:
        raise BackupError(str(error)) from None
    return _known(applied, "the database")


def migrations_of_backup(manifest: Manifest) -> list[tuple[str, str]]:
    """The migrations that its rows fit, under their names of this version. Raises BackupError as for a database."""
    try:
        migrations = present_names(manifest.migrations, "the backup")
    except TooOldError as error:
        raise BackupError(str(error)) from None
    return _known(migrations, "the backup")


def _known(migrations: Migrations, what: str) -> list[tuple[str, str]]:
    unknown = sorted(".".join(node) for node in migrations if node not in own_migrations())
    if unknown:
        raise BackupError(f"{what} is of a newer version ({', '.join(unknown[:3])}): use that version or a later one")
    return sorted(migrations)


def name_of(table: TableModel) -> str:
    """The table's name in a backup, `app.model`: it stays when the model moves to another app."""
    return str(table._meta.db_table).replace("_", ".", 1)


def tables_at(migrations: Migrations) -> list[TableModel]:
    """The tables at that state, those of this installation left out, in a fixed order."""
    loader = MigrationLoader(connection)
    state = loader.project_state(sorted(migrations))
    tables = [model for model in state.apps.get_models(include_auto_created=True) if not is_of_installation(model)]
    return sorted(tables, key=name_of)


def is_of_installation(model: TableModel) -> bool:
    """Whether a backup leaves the table out."""
    return model._meta.label_lower in OF_THIS_INSTALLATION


def migrate_to(migrations: Migrations) -> None:
    """Bring the tables, which are empty, to that state, forwards or backwards. Raises BackupError."""
    executor = MigrationExecutor(connection)
    apps = {app for app, _ in migrations}
    unwanted: Iterable[tuple[str, Any]] = {
        (app, None) for app in executor.loader.migrated_apps if app not in apps and _has_tables(executor, app)
    }
    try:
        executor.migrate([*unwanted, *_last_of_each_app(migrations, executor.loader)])
    except IrreversibleError as error:
        raise BackupError(f"the database is of a later version ({error}): restore into one without tables") from None


def record_names(migrations: Migrations) -> None:
    """Record `migrations`, with all that they stand for, and no others: older code has names of its own."""
    wanted = set(migrations).union(*(own_migrations().get(node, ()) for node in migrations))
    recorder = MigrationRecorder(connection)
    apps = {app for app, _ in [*own_migrations(), *wanted]}
    recorded = {node for node in recorder.applied_migrations() if node[0] in apps}
    for app, name in recorded - wanted:
        recorder.record_unapplied(app, name)
    for app, name in wanted - recorded:
        recorder.record_applied(app, name)


def _has_tables(executor: MigrationExecutor, app: str) -> bool:
    return any(applied_app == app for applied_app, _ in executor.loader.applied_migrations)


def _last_of_each_app(migrations: Migrations, loader: MigrationLoader) -> list[tuple[str, str]]:
    """Of each app the migrations that no other one of `migrations` of that app needs."""
    wanted = set(migrations)
    needed = {
        parent.key
        for node in wanted
        for parent in loader.graph.node_map[node].parents
        if parent.key in wanted and parent.key[0] == node[0]
    }
    return sorted(wanted - needed)


def first_with_rows(tables: Iterable[TableModel]) -> str:
    """The name of the first table that holds rows; an empty string if none does."""
    existing = set(connection.introspection.table_names())
    for model in tables:
        if model._meta.db_table in existing and model._default_manager.exists():
            return model._meta.db_table
    return ""
