"""Lists of many runs on graphs with large summaries stay cheap, and have pages."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.webapp.run_rows import compared, started
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.graphs.models import Graph
from webapp.pages import pagination
from webapp.policies.models import Policy
from webapp.runs.models import Run

SUMMARY = '"graphs_graph"."summary"'


@pytest.fixture
def policy() -> Policy:
    """One that is there."""
    return Policy.objects.create(name="Mine", status=Policy.DONE, digest="a" * 64, file_version=2)


def asked(client: Client, address: str) -> tuple[list[str], str]:
    """The queries of a page, and the page."""
    with CaptureQueriesContext(connection) as queries:
        response = client.get(address)
    assert response.status_code == 200, address
    return [query["sql"] for query in queries], response.content.decode()


def shown(page: str) -> list[str]:
    """The ids of what its list has, in order."""
    return re.findall(r'data-job="(?:run|comparison)" data-job-id="([0-9a-f]{32})"', page)


@pytest.mark.parametrize("address", ["/graphs/{graph}/", "/projects/{project}/"])
def test_the_list_has_pages_the_newest_first(
    client: Client, ready_graph: Graph, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(pagination, "ROWS_A_PAGE", 2)
    address = address.format(graph=ready_graph.id, project=ready_graph.project_id)
    made: list[Run | Comparison] = [started(ready_graph), compared(ready_graph, 3)]
    made += [started(ready_graph), started(ready_graph), compared(ready_graph, 1)]
    found = []
    for number in (1, 2, 3):
        _, page = asked(client, f"{address}?page={number}")
        assert f"Page {number} of 3, 5 runs, comparisons and plans" in page
        found += shown(page)
    assert found == [each.id.hex for each in reversed(made)]
    assert f'href="{address}?page=2#runs-title"' in asked(client, address)[1]
    assert client.get(f"{address}?page=4").status_code == 404


def test_a_page_that_comes_back_with_errors_leads_to_the_list_s_own(
    client: Client, ready_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagination, "ROWS_A_PAGE", 1)
    for seed in range(2):
        started(ready_graph, seed)
    refused = client.post(f"/graphs/{ready_graph.id}/runs/", {})
    assert refused.status_code == 400
    assert f'href="/graphs/{ready_graph.id}/?page=2#runs-title"' in refused.content.decode()


def test_the_runs_that_apply_a_policy_have_pages(
    client: Client, ready_graph: Graph, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagination, "ROWS_A_PAGE", 2)
    runs = [started(ready_graph, policy=policy) for _ in range(3)]
    pages = [asked(client, f"/policies/{policy.id}/?page={number}")[1] for number in (1, 2)]
    assert [key for page in pages for key in shown(page)] == [run.id.hex for run in reversed(runs)]
    assert "Page 2 of 2, 3 runs" in pages[1]


@pytest.mark.parametrize(
    "address", ["/graphs/{graph}/", "/projects/{project}/", "/policies/{policy}/", "/comparisons/{comparison}/"]
)
def test_no_list_of_runs_loads_what_was_read_of_their_graphs(
    client: Client, ready_graph: Graph, policy: Policy, address: str
) -> None:
    comparison = compared(ready_graph, 1)
    address = address.format(
        graph=ready_graph.id, project=ready_graph.project_id, policy=policy.id, comparison=comparison.id
    )
    started(ready_graph, policy=policy)
    few, _ = asked(client, address)
    for seed in range(1, 4):
        started(ready_graph, policy=policy)
        ComparedRun.objects.create(comparison=comparison, run=started(ready_graph, seed))
    many, page = asked(client, address)
    assert len(many) == len(few), "a query more for each run"
    assert len(shown(page)) >= 4
    lists = [sql for sql in many if '"runs_run"' in sql or '"comparisons_comparison"' in sql]
    assert lists and not [sql for sql in lists if SUMMARY in sql]


def test_the_state_of_a_comparison_reads_its_runs_once(client: Client, ready_graph: Graph) -> None:
    comparison = compared(ready_graph, 3)
    queries, _ = asked(client, f"/comparisons/{comparison.id}/state.json")
    assert len([sql for sql in queries if '"runs_answer"."report"' in sql]) == 1
    assert not [sql for sql in queries if SUMMARY in sql]
