"""The lists find their rows in order by an index: SQLite sorts nothing and scans no table for a page."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.webapp.run_rows import compared, started
from webapp.graphs.models import Graph
from webapp.jobs.purging import purge_step
from webapp.jobs.reaper import job_models, publish_queued, reap
from webapp.measuring.models import Profile
from webapp.policies.models import Policy
from webapp.runs.models import Run

pytestmark = pytest.mark.skipif(connection.vendor != "sqlite", reason="the words are SQLite's")

WITHOUT_AN_INDEX = re.compile(r"SCAN (?!.*USING (COVERING )?INDEX)|TEMP B-TREE")
SMALL_TABLES = ("jobs_savedstate", "workers_worker")
"""tables that hold a row for each unfinished job, or for each worker, at most"""


@pytest.fixture
def policy(ready_graph: Graph) -> Policy:
    """With a run; beside it a comparison, a profile, and a run that waits."""
    policy = Policy.objects.create(name="Mine", status=Policy.DONE, digest="a" * 64, file_version=2)
    Run.objects.filter(id=started(ready_graph).id).update(policy=policy)
    Profile.objects.create(graph=ready_graph)
    compared(ready_graph, 2)
    return policy


def plans(act: Callable[[], object]) -> dict[str, list[str]]:
    """Statement → SQLite's plan, of every statement that reads in an order or many rows."""
    with CaptureQueriesContext(connection) as queries:
        act()
    found = {}
    for query in queries:
        sql = query["sql"]
        if sql.startswith("SELECT") and not re.search(r"LIMIT 1$", sql):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN QUERY PLAN {sql}".replace("%", "%%"))
                found[sql] = [row[3] for row in cursor.fetchall()]
    return found


def slow(found: dict[str, list[str]]) -> dict[str, list[str]]:
    """Those that sort, or look at all rows of a table."""
    return {
        sql: plan
        for sql, plan in found.items()
        if any(WITHOUT_AN_INDEX.search(step) and not step.endswith(SMALL_TABLES) for step in plan)
    }


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/projects/",
        "/projects/{project}/",
        "/projects/{project}/?page=1&graphs=1",
        "/graphs/{graph}/",
        "/graphs/{graph}/measure/",
        "/machine/",
        "/policies/",
        "/policies/{policy}/",
        "/policies/train/",
        "/policies/train/?project={project}",
        "/states.json?run={graph}&graph={graph}&comparison={graph}",
    ],
)
def test_a_page_of_a_list(client: Client, ready_graph: Graph, policy: Policy, address: str) -> None:
    address = address.format(graph=ready_graph.id, project=ready_graph.project_id, policy=policy.id)
    found = plans(lambda: client.get(address))
    assert found
    assert slow(found) == {}


@pytest.mark.parametrize("round_of", [reap, publish_queued])
def test_a_round_of_a_reaper(policy: Policy, round_of: Callable[[Any], object]) -> None:
    found = plans(lambda: [round_of(model) for model in job_models()])
    assert found
    assert slow(found) == {}


def test_the_search_for_deleted_rows(policy: Policy) -> None:
    found = plans(purge_step)
    assert found
    assert slow(found) == {}


def test_the_check_sees_a_sort(policy: Policy) -> None:
    assert slow(plans(lambda: list(Run.objects.order_by("seed"))))
