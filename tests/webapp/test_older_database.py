"""A database and a data folder of version 0.1.0 open: nothing of its runs, policies and comparisons is lost.

`older/` was made by that version: two graphs; runs that are done, failed, cancelled, queued and half-way, with a
checkpoint; policies that are trained, queued and half-way, with a state; comparisons, one of them half-way; and what
their addresses answered. Files of weights and states are cut off after their first thousand bytes.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from tests.webapp.downloads import content_of
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.graphs.models import Graph
from webapp.jobs.models import Event, SavedState
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.models import Run

pytestmark = pytest.mark.usefixtures("transactional_db")

OLDER = Path(__file__).parent / "older"
TABLES: dict[str, Any] = json.loads((OLDER / "database.json").read_text())
ANSWERS: dict[str, Any] = json.loads((OLDER / "answers.json").read_text())
VERSION_0_1_0: list[tuple[str, str]] = [
    ("projects", "0001_initial"),
    ("graphs", "0002_options"),
    ("measuring", "0001_profiles"),
    ("policies", "0005_file_version"),
    ("runs", "0003_policy"),
    ("comparisons", "0003_policy"),
]
OF_0_3_0 = ("prefer", "result", "devices_used", "crossing_edges", "verdict", "simplest")
"""fields that rows of comparisons and runs have had since"""
LARGEST_WHOLE = 1500
"""characters of JSON of an answer that is kept as it was; of a larger one its digest"""


@pytest.fixture
def older(data_folder: Path) -> Iterator[None]:
    """The tables as they were, brought up to date; and the files."""
    executor = MigrationExecutor(connection)
    executor.migrate([*VERSION_0_1_0, ("jobs", None)])
    apps = executor.loader.project_state(VERSION_0_1_0).apps
    _fill({model._meta.db_table: model for model in apps.get_models()})
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    shutil.copytree(OLDER / "graphs", data_folder / "graphs")
    yield


def _fill(tables: dict[str, type[models.Model]]) -> None:
    with connection.cursor() as cursor:
        for name, table in TABLES.items():
            fields = {field.column: field for field in tables[name]._meta.local_concrete_fields}
            kinds = [fields[column] for column in table["columns"]]
            places = ", ".join(["%s"] * len(kinds))
            statement = f"INSERT INTO {name} ({', '.join(table['columns'])}) VALUES ({places})"
            rows = [[_stored(kind, value) for kind, value in zip(kinds, row, strict=True)] for row in table["rows"]]
            cursor.executemany(statement, rows)


def _stored(field: object, value: Any) -> Any:
    """As the database takes it: the file has what SQLite had."""
    if value is None:
        return None
    if isinstance(field, models.BooleanField):
        return bool(value)
    return bytes.fromhex(value) if isinstance(field, models.BinaryField) else value


def _number_of_rows(table: str) -> int:
    return len(TABLES[table]["rows"])


def test_every_row_is_there(older: None) -> None:
    assert Event.objects.count() == _number_of_rows("runs_event") + _number_of_rows("policies_policyevent")
    assert SavedState.objects.count() == _number_of_rows("runs_checkpoint") + _number_of_rows("policies_trainingstate")
    kinds = {
        Run: "runs_run",
        Policy: "policies_policy",
        Comparison: "comparisons_comparison",
        ComparedRun: "comparisons_member",
        Graph: "graphs_graph",
    }
    for model, table in kinds.items():
        assert model._default_manager.count() == _number_of_rows(table)


def test_what_the_events_take_is_estimated(older: None) -> None:
    for job in [*Run.objects.all(), *Policy.objects.all()]:
        assert 0.2 * job.event_bytes <= sum(len(event.data) for event in job.events) <= job.event_bytes


def test_every_state_belongs_to_its_job(older: None) -> None:
    [half_way] = Run.objects.filter(status=Run.RUNNING)
    checkpoint = half_way.saved_state
    assert checkpoint is not None
    assert (checkpoint.seq, checkpoint.identity) == (half_way.last_seq, "")
    [training] = Policy.objects.filter(status=Policy.RUNNING)
    state = training.saved_state
    assert state is not None
    assert len(state.identity) == 64
    assert {len(bytes(each.state)) for each in (checkpoint, state)} == {1000}


@pytest.mark.slow
def test_every_address_answers_as_before(older: None, client: Client) -> None:
    others = {address: answer for address in ANSWERS if (answer := _ask(client, address)) != ANSWERS[address]}
    assert others == {}


def _ask(client: Client, address: str) -> list[Any]:
    response = client.get(address)
    if response.status_code != 200:
        return [response.status_code, None]
    return [200, _answer(address, response.headers["Content-Type"], content_of(response))]


def _answer(address: str, content_type: str, content: bytes) -> Any:
    if not content_type.startswith("application/json"):
        return hashlib.sha256(content).hexdigest()
    value = json.loads(content)
    if address.endswith("/comparison.json"):
        value = [{key: row[key] for key in row if key not in OF_0_3_0} for row in value["rows"]]
    if address.endswith("/state.json"):
        value.pop("left_seconds", None)  # the same
    if address.endswith("/run.json"):
        value = {key: value[key] for key in value if key not in OF_0_3_0}
    if address.endswith("/report.json"):
        value.pop("step_time_source")  # which 0.2.0 added
    if len(json.dumps(value)) <= LARGEST_WHOLE:
        return value
    return {"sha256": hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()}


def test_every_page_opens(older: None, client: Client) -> None:
    addresses = ["/", "/policies/"]
    addresses += [f"/projects/{project.id}/" for project in Project.objects.all()]
    addresses += [f"/graphs/{graph.id}/" for graph in Graph.objects.all()]
    addresses += [f"/runs/{run.id}/" for run in Run.objects.all()]
    addresses += [f"/policies/{policy.id}/" for policy in Policy.objects.all()]
    addresses += [f"/comparisons/{comparison.id}/" for comparison in Comparison.objects.all()]
    assert {address: client.get(address).status_code for address in addresses} == dict.fromkeys(addresses, 200)


def test_going_back_loses_nothing_either(older: None) -> None:
    MigrationExecutor(connection).migrate([*VERSION_0_1_0, ("jobs", None)])
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT COUNT(*) FROM {table}")
            assert cursor.fetchone()[0] == _number_of_rows(table)
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
