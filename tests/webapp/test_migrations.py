"""An application that is brought up to date knows what an older one has stored, or says which version to use first."""

import ast
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from tests.webapp.older_installation import MIGRATIONS_OF_0_2_0
from webapp.backups.failure import BackupError
from webapp.backups.schema import applied_migrations
from webapp.workers import migration_names
from webapp.workers.migration_names import NAMED_ANEW, own_migrations, present_names
from webapp.workers.models import DatabaseVersion
from webapp.workers.version import code_version, database_version, unknown_migrations

FILES = sorted(Path(migration_names.__file__).parents[1].glob("*/migrations/0*.py"))
SINCE_0_2_0 = [("jobs", "0004_worked_seconds"), ("runs", "0015_prefer"), ("runs", "0016_verdict")]
"""as checkouts had them before the migrations were squashed"""
OF_OTHERS = {"contenttypes", "auth", "sessions", "admin", "axes", "account", "socialaccount", "usersessions"}
"""apps of packages, which came with accounts"""
APPS_SINCE_0_2_0 = {"api", "hooks", "plans", "accounts", "uploads", *OF_OTHERS}
SINCE_THE_SQUASH = [
    *(("comparisons", "0002_stream"), ("comparisons", "0003_constraints")),
    *(("runs", "0003_stream"), ("runs", "0004_constraints")),
    ("plans", "0001_searches"),
    *(("api", "0001_kept_answers"), ("hooks", "0001_webhooks"), ("uploads", "0001_partial_uploads")),
    *((app, "0002_started_by") for app in ("graphs", "measuring", "plans", "policies")),
    *(
        ("accounts", "0001_users"),
        ("projects", "0002_members"),
        ("runs", "0005_started_by"),
        ("sharing", "0002_expiry"),
    ),
    *((app, name) for app, name in own_migrations() if app in OF_OTHERS),
]
OF_A_CHECKOUT = [*MIGRATIONS_OF_0_2_0, *NAMED_ANEW, *SINCE_0_2_0]
OF_0_1_0 = [
    ("projects", "0001_initial"),
    ("graphs", "0001_initial"),
    ("graphs", "0002_options"),
    ("profiles", "0001_initial"),
    *[(app, name) for app, name in MIGRATIONS_OF_0_2_0 if app == "policies" and name <= "0005_file_version"],
    *[(app, name) for app, name in MIGRATIONS_OF_0_2_0 if app in ("runs", "comparisons") and name <= "0003_policy"],
]


def record(names: list[tuple[str, str]]) -> None:
    """Have the database name these migrations and no others, until the test's changes are rolled back."""
    assert connection.in_atomic_block
    recorder = MigrationRecorder(connection)
    recorder.migration_qs.all().delete()
    for name in names:
        recorder.record_applied(*name)


def recorded() -> set[tuple[str, str]]:
    """The migrations that the database names."""
    return set(MigrationRecorder(connection).applied_migrations())


def plan() -> list[tuple[str, str]]:
    """The migrations that would be applied."""
    executor = MigrationExecutor(connection)
    found = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return sorted((migration.app_label, migration.name) for migration, _ in found)


def test_one_migration_of_each_app_makes_its_tables_as_of_0_2_0() -> None:
    apps = {app for app, _ in own_migrations()} - APPS_SINCE_0_2_0
    first = {node: replaced for node, replaced in own_migrations().items() if node[1] == "0001_tables_of_0_2_0"}
    assert {app for app, _ in first} == apps
    assert set().union(*first.values()) == set(MIGRATIONS_OF_0_2_0)


def test_they_stand_for_each_former_one_once() -> None:
    former = [node for replaced in own_migrations().values() for node in replaced]
    assert sorted(former) == sorted([*MIGRATIONS_OF_0_2_0, *SINCE_0_2_0])
    assert set(NAMED_ANEW.values()) <= set(former)


def test_a_database_of_0_2_0_lacks_what_came_since() -> None:
    record(MIGRATIONS_OF_0_2_0)
    assert unknown_migrations(connection) == []
    added = [("jobs", "0002_worked_seconds"), ("runs", "0002_prefer_and_verdict"), *SINCE_THE_SQUASH]
    assert sorted(plan()) == sorted(added)


def test_a_database_of_a_checkout_after_0_2_0_lacks_what_came_since_the_squash() -> None:
    record(OF_A_CHECKOUT)
    assert unknown_migrations(connection) == []
    assert plan() == sorted(SINCE_THE_SQUASH)
    record([*OF_A_CHECKOUT, *SINCE_THE_SQUASH])
    assert plan() == []
    DatabaseVersion.objects.all().delete()
    call_command("migrate", verbosity=0)
    assert database_version() == code_version()
    assert recorded() == {*OF_A_CHECKOUT, *own_migrations()}


def test_so_is_its_backup_which_names_the_joined_apps_alone() -> None:
    names = [name for name in OF_A_CHECKOUT if name not in NAMED_ANEW.values()]
    assert present_names([*names, *SINCE_THE_SQUASH], "the backup") == set(own_migrations())


@pytest.mark.parametrize(
    ("names", "lacks"),
    [
        (OF_0_1_0, "calibrations.0001_initial and 30 more"),
        ([name for name in MIGRATIONS_OF_0_2_0 if name != ("workers", "0002_machines")], "workers.0002_machines"),
        ([name for name in OF_A_CHECKOUT if name != ("runs", "0016_verdict")], "runs.0016_verdict"),
    ],
    ids=["0.1.0", "shortly before 0.2.0", "between two versions"],
)
def test_an_older_database_is_refused_in_one_line_and_stays_as_it_is(names: list[tuple[str, str]], lacks: str) -> None:
    record(names)
    tables, before = connection.introspection.table_names(), recorded()
    line = (
        f"the database is too old for this version (it lacks {lacks}): "
        "take it to version 0.2.0 first, with the code of commit 3dd8061d, as docs/upgrade.md says"
    )
    for arguments in ([], ["--check"], ["runs"]):
        with pytest.raises(CommandError) as refused:
            call_command("migrate", *arguments, verbosity=0)
        assert str(refused.value) == line
    with pytest.raises(BackupError) as refused_too:
        applied_migrations()
    assert str(refused_too.value) == line
    assert (connection.introspection.table_names(), recorded()) == (tables, before)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parents[1].name}/{path.stem}")
def test_a_migration_needs_no_code_that_may_change_after_it(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    own = {name for name in imported if name.split(".")[0] in ("webapp", "engine")}
    assert own <= {"webapp.json_field"}, "columns of JSON, which Django writes into migrations by their name"
