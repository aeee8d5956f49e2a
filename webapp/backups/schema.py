"""The tables of a database at a state of its migrations, be it this code's or an older one."""

from collections.abc import Iterable
from typing import Any

from django.apps import apps as current_apps
from django.db import connection, models
from django.db.migrations.exceptions import IrreversibleError
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from webapp.backups.failure import BackupError
from webapp.workers.version import Migrations

TableModel = type[models.Model]

OF_THIS_INSTALLATION = frozenset(
    {
        "jobs.healthmark",
        "workers.databaseversion",
        "workers.worker",
        "workers.offeredmachine",
        "backups.backuprecord",
    }
)
"""tables that a backup leaves out: they describe processes and disks, not what people have stored"""


def applied_migrations() -> list[tuple[str, str]]:
    """The migrations of the database. Raises BackupError if it has some that this code does not have."""
    loader = MigrationLoader(connection)
    ours = {app.label for app in current_apps.get_app_configs()}
    applied = sorted(node for node in loader.applied_migrations if node[0] in ours)
    require_known(applied, loader, "the database")
    return applied


def require_known(migrations: Migrations, loader: MigrationLoader, what: str) -> None:
    """Raise BackupError for migrations that this code does not have."""
    unknown = sorted(f"{app}.{name}" for app, name in migrations if (app, name) not in loader.graph.nodes)
    if unknown:
        raise BackupError(f"{what} is of a newer version ({', '.join(unknown[:3])}): use that version or a later one")


def current_names(migrations: Migrations, loader: MigrationLoader) -> list[tuple[str, str]]:
    """The migrations under their names of this version: those of apps that were joined have others than before."""
    renamed = {old: key for key, migration in loader.disk_migrations.items() for old in migration.replaces}
    return sorted({renamed.get(node, node) for node in migrations})


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
    require_known(migrations, executor.loader, "the backup")
    apps = {app for app, _ in migrations}
    unwanted: Iterable[tuple[str, Any]] = {
        (app, None) for app in executor.loader.migrated_apps if app not in apps and _has_tables(executor, app)
    }
    try:
        executor.migrate([*unwanted, *_last_of_each_app(migrations, executor.loader)])
    except IrreversibleError as error:
        raise BackupError(f"the database is of a later version ({error}): restore into one without tables") from None


def record_names(migrations: Migrations) -> None:
    """Record exactly `migrations` as those of the database, under the names that older code has for them."""
    recorder = MigrationRecorder(connection)
    ours = {app.label for app in current_apps.get_app_configs()} | {app for app, _ in migrations}
    recorded = {node for node in recorder.applied_migrations() if node[0] in ours}
    for app, name in recorded.difference(migrations):
        recorder.record_unapplied(app, name)
    for app, name in set(migrations).difference(recorded):
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
