"""A database and a data folder of version 0.2.0 open, and nothing in them is lost."""

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, models, transaction
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from pytest_django import Settings

from tests.webapp import older_installation
from tests.webapp.downloads import content_of
from tests.webapp.older_installation import ANSWERS, BACKUP, MIGRATIONS_OF_0_2_0, ROWS, StoredTable
from webapp.accounts import set_up
from webapp.accounts.models import User
from webapp.backups.archive import ArchiveReader
from webapp.backups.schema import name_of, record_names
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.measuring.models import StepMeasurement
from webapp.placements.models import Placement
from webapp.policies.models import Policy
from webapp.projects.models import Membership, Project
from webapp.runs.models import Run
from webapp.workers.migration_names import own_migrations
from webapp.workers.version import code_version, database_version

ROOT = Path(__file__).parents[2]
SINCE_0_2_0 = {
    "run.json": ("prefer", "result"),
    "comparison.json": ("verdict", "devices_used", "crossing_edges", "simplest"),
    "ops.json": ("short_names",),
    "scope.json": ("short_name", "short_scopes"),
    **dict.fromkeys(("view.json", "graph.json", "drawing.json"), ("short_name",)),
}
"""fields of answers, or of their rows and groups, that version 0.2.0 did not have"""
WORDS_SINCE_0_2_0 = {b"estimated from operations and bytes": b"estimated by Grappler"}
"""words of answers, and what version 0.2.0 said"""
DOWNLOADS_SINCE_0_2_0 = (
    "placed.onnx",
    "placed-stages.zip",
    "model.device_map.json",
    "model.split_spec.json",
    "model.layers.json",
)
"""files among `downloads` that version 0.2.0 did not write"""
LARGEST_WHOLE = 500
"""characters of JSON of an answer that is kept as it was; of a larger one its digest"""
STARTED_BY: dict[str, Any] = {"started_by_id": None}
NEW_COLUMNS: dict[str, dict[str, Any]] = {
    "runs_run": {"prefer": "fastest", "verdict": None, "stream": None, "constraints": None, **STARTED_BY},
    "graphs_graph": STARTED_BY,
    "profiles_profile": STARTED_BY,
    "calibrations_calibration": STARTED_BY,
    "measurements_stepmeasurement": STARTED_BY,
    "policies_policy": {"project_id": None, "is_published": False, **STARTED_BY},
    "projects_project": {"open_to_all": False},
    "sharing_sharelink": dict.fromkeys(("expires_at", "last_used_at", "graph_id", "search_id")),
    "comparisons_comparison": {"stream": None, "constraints": None},
    "jobs_turn": {"worked_at": None, "worked_seconds": 0.0},
}
"""table → columns that version 0.2.0 did not have, with what its rows get"""
NAMED_ANEW = ("comparisons_member_comparison_id_9085c059", "comparisons_comparedrun_comparison_id_3829bb48")
"""the name of an index in a database of 0.2.0, whose table had another name before, and in a new database"""


@pytest.fixture(scope="module")
def database_0_2_0(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the database."""
    path = tmp_path_factory.mktemp("older") / "placeto.sqlite3"
    older_installation.write_database(path)
    return path


@pytest.fixture
def older(database_0_2_0: Path, data_folder: Path) -> Iterator[None]:
    """The test's database with the tables, names and rows of that file, brought up to date; and the files."""
    executor = MigrationExecutor(connection)
    first = [node for node in own_migrations() if node[1] == "0001_tables_of_0_2_0"]
    apps_then = {app for app, _ in first}
    executor.migrate([*first, *sorted({(app, None) for app, _ in own_migrations() if app not in apps_then})])
    models_then = executor.loader.project_state(first).apps.get_models()
    try:
        record_names(MIGRATIONS_OF_0_2_0)
        _fill({model._meta.db_table: model for model in models_then}, older_installation.tables_in(database_0_2_0))
        call_command("migrate", verbosity=0)
        _write_files(data_folder)
        yield
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())


def _fill(models_then: dict[str, type[models.Model]], tables: dict[str, StoredTable]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        for name in models_then.keys() & tables.keys():
            table = tables[name]
            fields = {field.column: field for field in models_then[name]._meta.local_concrete_fields}
            places = ", ".join(["%s"] * len(table.columns))
            rows = [
                [_stored(fields[column], value) for column, value in zip(table.columns, row, strict=True)]
                for row in table.rows
            ]
            if name == "workers_databaseversion":
                cursor.execute(f"DELETE FROM {name}")
            cursor.executemany(f"INSERT INTO {name} ({', '.join(table.columns)}) VALUES ({places})", rows)


def _stored(field: object, value: Any) -> Any:
    """As the database takes it: the file has what SQLite had."""
    return bool(value) if value is not None and isinstance(field, models.BooleanField) else value


def _write_files(data_folder: Path) -> None:
    archive = ArchiveReader(BACKUP)
    for name in archive.files():
        path = data_folder / name.removeprefix("files/")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"".join(archive.pieces(name)))
    archive.close()


@pytest.mark.usefixtures("transactional_db")
def test_every_row_is_there(older: None, client: Client) -> None:
    tables = {name_of(model): model for model in apps.get_models()}
    assert {name: tables[name]._base_manager.count() for name in ROWS} == ROWS
    assert all(ROWS.values()), "each table has rows in the fixture"
    assert {run.status for run in Run.objects.all()} == {Run.QUEUED, Run.RUNNING, Run.DONE, Run.FAILED, Run.CANCELLED}
    for job in (Run.objects.get(status=Run.RUNNING), Policy.objects.get(status=Policy.RUNNING)):
        assert job.saved_state is not None
        assert len(bytes(job.saved_state.state)) == 1000
    assert database_version() == code_version()
    assert {address: _page(client, address) for address in _pages()} == dict.fromkeys(_pages(), 200)


def _pages() -> list[str]:
    addresses = ["/", "/projects/", "/policies/", "/machine/", "/status/"]
    for model in (Project, Graph, Run, Policy, Comparison):
        addresses += [f"/{model._meta.app_label}/{row.pk}/" for row in model._default_manager.all()]
    return [*addresses, *(f"/measurements/{row.pk}/" for row in StepMeasurement.objects.all())]


def _page(client: Client, address: str) -> int:
    return client.get(address).status_code


@pytest.mark.slow
@pytest.mark.usefixtures("transactional_db")
def test_every_address_answers_as_before(older: None, client: Client) -> None:
    others = {address: answer for address in ANSWERS if (answer := _ask(client, address)) != ANSWERS[address]}
    assert others == {}
    assert Placement.objects.count() == 2


def _ask(client: Client, address: str) -> list[Any]:
    response = client.get(address)
    if response.status_code != 200:
        return [response.status_code, None]
    return [200, _answer(address, response.headers["Content-Type"], content_of(response))]


def _without_new_downloads(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_new_downloads(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _without_new_downloads(each) for name, each in value.items() if name not in DOWNLOADS_SINCE_0_2_0}


def _answer(address: str, content_type: str, content: bytes) -> Any:
    for words, before in WORDS_SINCE_0_2_0.items():
        content = content.replace(words, before)
    if address.endswith(("/groups.csv", "/chain.csv")):  # their last column is new
        content = b"".join(line.rpartition(b",")[0] + b"\r\n" for line in content.splitlines())
    if not content_type.startswith("application/json"):
        return hashlib.sha256(content).hexdigest()
    value = _without_new_downloads(json.loads(content))
    since = SINCE_0_2_0.get(address.partition("?")[0].rpartition("/")[2], ())
    listed = value.get("groups") if since else None
    groups = [group for group in listed if isinstance(group, dict)] if isinstance(listed, list) else []
    for fields in [value, *value.get("rows", ()), *groups] if since else []:
        for field in since:
            fields.pop(field, None)
    if address.endswith("/state.json"):
        value.pop("left_seconds", None)  # the same at no two moments
    text = json.dumps(value, sort_keys=True)
    return value if len(text) <= LARGEST_WHOLE else {"sha256": hashlib.sha256(text.encode()).hexdigest()}


@pytest.mark.slow
def test_its_file_is_brought_to_the_tables_of_a_new_one(database_0_2_0: Path, tmp_path: Path) -> None:
    new, old = tmp_path / "new.sqlite3", tmp_path / "old.sqlite3"
    shutil.copy(database_0_2_0, old)
    for path in (new, old):
        _migrate(path, tmp_path)
    assert _schema(old) == _schema(new)
    before, after = older_installation.tables_in(database_0_2_0), older_installation.tables_in(old)
    for name in before.keys() - {"django_migrations", "workers_databaseversion"}:
        added = NEW_COLUMNS.get(name, {})
        assert set(after[name].columns) == {*before[name].columns, *added}
        assert _rows(after[name]) == [row | added for row in _rows(before[name])]


def _migrate(path: Path, folder: Path) -> None:
    environment = {**os.environ, "PLACETO_DATA": str(folder), "DATABASE_URL": f"sqlite:///{path}"}
    command = [sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=60)


def _rows(table: StoredTable) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _schema(path: Path) -> dict[str, list[str]]:
    """What makes each index; of each table its name, columns and constraints, sorted: their order may differ."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    named = {name.replace(*NAMED_ANEW): sql.replace(*NAMED_ANEW) for name, sql in rows}
    return {name: _parts(sql) if sql.startswith("CREATE TABLE") else [sql] for name, sql in named.items()}


def _parts(sql: str) -> list[str]:
    start, _, columns = sql.removesuffix(")").partition("(")
    return [start, *sorted(re.split(r", (?![^(]*\))", columns))]


@pytest.mark.usefixtures("transactional_db", "log_that_is_emptied")
def test_at_set_up_all_of_it_belongs_to_the_first_operator(older: None, settings: Settings) -> None:
    """Everything is in a project, every project is theirs, and nobody else sees any of it."""
    settings.ACCOUNTS = "local"
    word, client = "a horse of another colour", Client()
    fields = {"username": "ann", "email": "", "password1": word, "password2": word}
    assert client.post(f"/accounts/set-up/{set_up.token()}/", fields).status_code == 302
    ann = User.objects.get()
    everything = Project.all_rows.all()
    assert everything.count() >= ROWS["projects.project"]
    assert {(row.user, row.role) for row in Membership.objects.all()} == {(ann, Membership.OWNER)}
    assert set(Membership.objects.values_list("project", flat=True)) == {row.id for row in everything}
    User.objects.filter(id=ann.id).update(is_operator=False)
    assert {address: _page(client, address) for address in _pages() if address != "/status/"} == dict.fromkeys(
        (address for address in _pages() if address != "/status/"), 200
    )
    User.objects.create_user("bob", password=word)
    stranger = Client()
    stranger.post("/accounts/log-in/", {"username": "bob", "password": word})
    own = [address for address in _pages() if address.count("/") > 2]
    answers = {address: _page(stranger, address) for address in own}
    assert {address for address, status in answers.items() if status == 200} <= {
        f"/policies/{policy.id}/" for policy in Policy.objects.filter(source__in=(Policy.DEFAULT, Policy.FORMER))
    }
    assert set(answers.values()) <= {200, 404}
