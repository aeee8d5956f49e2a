"""An application that is brought up to date finds what an older one has stored."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor

from tests.engine.policies.small_policies import changed, small_card, small_policy
from webapp.measuring.models import Calibration, MeasuredPlacement, Profile, StepMeasurement
from webapp.policies import lifecycle
from webapp.policies.models import Policy
from webapp.policies.summary import PolicySummary
from webapp.policies.training_plan import TrainingPlan
from webapp.runs.models import KeptPolicy, Run
from webapp.workers.version import code_version, database_version, unknown_migrations

pytestmark = pytest.mark.usefixtures("transactional_db")

PLAN: dict[str, Any] = {
    "families": ["nmt"],
    "graphs": [],
    "held_out": [],
    "clusters": ["2xK80", "c" * 50],
    "seconds": 9.0,
    "seed": 0,
}
MIGRATIONS = sorted(Path(lifecycle.__file__).parents[1].glob("*/migrations/0*.py"))


@pytest.fixture
def before_summaries() -> Iterator[Any]:
    """The policies of a database from before there were summaries."""
    executor = MigrationExecutor(connection)
    executor.migrate([("policies", "0001_initial")])
    policies = executor.loader.project_state([("policies", "0001_initial")]).apps.get_model("policies", "Policy")
    yield policies.objects
    if MigrationExecutor(connection).recorder.migration_qs.filter(app="policies", name="0002_summary").exists():
        return
    policies.objects.all().delete()  # what it stumbles over is not in the way of the other tests
    _bring_up_to_date()


def _bring_up_to_date() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def older_card(*, without: tuple[str, ...]) -> dict[str, Any]:
    """The small card, its held-out rows (and itself) without some fields."""
    card: dict[str, Any] = small_card().to_json()
    card["held_out"] = [_without(row, without) for row in card["held_out"]]
    return _without(card, without)


def _without(values: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def test_cards_and_plans_of_every_age_get_their_summaries(before_summaries: Any) -> None:
    made: dict[str, dict[str, Any]] = {
        "today's": {"card": older_card(without=())},
        "without evaluations": {"card": older_card(without=("search_evaluations",))},
        "with less": {"card": older_card(without=("search_evaluations", "search_seconds", "mean_gap", "families"))},
        "with little": {"card": {}},
        "a plan": {"plan": PLAN},
        "nothing": {},
    }
    for name, columns in made.items():
        before_summaries.create(name=name, **columns)
    _bring_up_to_date()
    found = {policy.name: policy.short for policy in Policy.objects.all()}
    today_s = lifecycle.keep_file("now", Policy.UPLOADED, b"", small_card().to_json()).short
    assert found["today's"] == today_s
    assert (found["without evaluations"].search_evaluations, found["without evaluations"].search_seconds) == (0, 1.0)
    assert found["without evaluations"].mean_gap == today_s.mean_gap
    assert (found["with less"].mean_gap, found["with less"].families) == (None, ())
    assert found["with little"] == PolicySummary()
    assert found["a plan"] == lifecycle.start_training("now", TrainingPlan.from_json(PLAN)).short
    assert found["nothing"] == PolicySummary()


def test_files_of_every_age_get_their_versions(before_summaries: Any) -> None:
    blobs = {"today's": small_policy().to_bytes(), "an older one": changed("version", 1), "damaged": b"no such file"}
    for name, blob in blobs.items():
        policy = before_summaries.create(name=name, digest="0" * 64)
        policy._meta.apps.get_model("policies", "PolicyFile").objects.create(policy=policy, blob=blob)
    before_summaries.create(name="without a file")
    _bring_up_to_date()
    found = {policy.name: (policy.file_version, policy.is_usable) for policy in Policy.objects.all()}
    assert found == {
        "today's": (3, True),
        "an older one": (1, False),
        "damaged": (0, False),
        "without a file": (0, False),
    }


MOVED: dict[tuple[str, str], tuple[str, str]] = {
    ("profiles", "0001_initial"): ("measuring", "0001_profiles"),
    ("profiles", "0002_revision"): ("measuring", "0002_revision"),
    ("profiles", "0003_fruitless_attempts"): ("measuring", "0003_fruitless_attempts"),
    ("profiles", "0004_deleted_rows"): ("measuring", "0004_deleted_rows"),
    ("calibrations", "0001_initial"): ("measuring", "0005_calibrations"),
    ("measurements", "0001_initial"): ("measuring", "0006_measurements"),
    ("decisions", "0001_kept_policy"): ("runs", "0014_kept_policy"),
}
"""migration of an app that is no more → the one that has taken its place"""


def test_tables_of_apps_that_were_joined_stay_as_they_are(run: Run) -> None:
    """A database from before: its migrations have the names of the former apps."""
    recorder = MigrationExecutor(connection).recorder
    applied = recorder.applied_migrations()
    for former, present in MOVED.items():
        assert former in applied
        recorder.record_unapplied(*present)
    graph = run.graph
    measurement = StepMeasurement.objects.create(graph=graph, cluster=run.cluster, rounds=1, steps=1)
    kept: list[models.Model] = [
        Profile.objects.create(graph=graph),
        Calibration.objects.create(),
        measurement,
        MeasuredPlacement.objects.create(measurement=measurement, position=0, words="one", device_of_group=[0]),
        KeptPolicy.objects.create(run=run, policy=b"policy"),
    ]
    assert unknown_migrations(connection) == []
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
    call_command("migrate", verbosity=0)
    assert set(MOVED.values()) <= set(recorder.applied_migrations())
    assert database_version() == code_version()
    for row in kept:
        assert type(row)._default_manager.get(pk=row.pk) == row
    former_tables = {f"{app}_" for app, _ in MOVED}
    assert all(type(row)._meta.db_table.startswith(tuple(former_tables)) for row in kept)


def test_a_database_from_before_the_apps_were_joined_gets_all_that_it_lacks(run: Run) -> None:
    """Django leaves out what comes before a migration that counts as applied."""
    recorder = MigrationExecutor(connection).recorder
    lacks = [("jobs", "0004_worked_seconds"), ("runs", "0015_prefer"), ("runs", "0016_verdict")]
    gone = [*MOVED.values(), *lacks]
    for node in gone:
        recorder.record_unapplied(*node)
    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        assert sorted((each.app_label, each.name) for each, _ in plan) == lacks
    finally:
        for node in gone:
            recorder.record_applied(*node)


@pytest.mark.parametrize("path", MIGRATIONS, ids=lambda path: f"{path.parents[1].name}/{path.stem}")
def test_a_migration_needs_no_code_that_may_change_after_it(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    own = {name for name in imported if name.split(".")[0] in ("webapp", "engine")}
    assert own <= {"webapp.json_field"}, "columns of JSON, which Django writes into migrations by their name"
