"""A person finds what they look for in long lists: by words, in another order, page by page."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.webapp.run_rows import answered, compared, started
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.pages import pagination
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.models import Run


def page(client: Client, address: str) -> str:
    """A page that is there."""
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


def jobs(text: str) -> list[str]:
    """The ids of the jobs that a page lists, in order."""
    return re.findall(r'data-job="\w+" data-job-id="([0-9a-f]{32})"', text)


def names(text: str) -> list[str]:
    """The names in a list's rows, in order."""
    return re.findall(r'<th scope="row" class="name"><a href="[^"]*">([^<]*)</a>', text)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["b", "A", "c a"]),
        ("sort=oldest", ["c a", "A", "b"]),
        ("sort=name", ["A", "b", "c a"]),
        ("sort=largest", ["c a", "b", "A"]),
        ("search=a", ["A", "c a"]),
        ("search=a+C", ["c a"]),
        ("search=zebra", []),
        ("search=%25", []),
        ("search=%00", ["b", "A", "c a"]),
    ],
)
def test_projects(client: Client, query: str, found: list[str]) -> None:
    for name, size in (("c a", 9), ("A", 0), ("b", 0)):
        project = Project.objects.create(name=name)
        Graph.objects.create(project=project, name="g.pb", suffix=".pb", file_bytes=size)
    text = page(client, f"/projects/?{query}")
    assert names(text) == found
    assert bool(found) or "No project has" in text


def test_graphs_of_a_project(client: Client, project: Project) -> None:
    for name, ops, size in (("one.pb", 5, 30), ("two.pb", None, 20), ("three.json", 7, 10)):
        suffix = name[name.index(".") :]
        Graph.objects.create(project=project, name=name, suffix=suffix, op_count=ops, file_bytes=size)
    address = f"/projects/{project.id}/"
    assert names(page(client, f"{address}?graphs-search=.pb")) == ["two.pb", "one.pb"]
    assert names(page(client, f"{address}?graphs-sort=ops")) == ["three.json", "one.pb", "two.pb"]
    assert names(page(client, f"{address}?graphs-sort=largest")) == ["one.pb", "two.pb", "three.json"]
    assert "No graph has “x&lt;y”" in page(client, f"{address}?graphs-search=x%3Cy")


def test_runs_and_comparisons(client: Client, ready_graph: Graph) -> None:
    slow = started(ready_graph, best_step_time_us=9.0, status=Run.DONE)
    none = started(ready_graph, status=Run.FAILED)
    comparison = compared(ready_graph, 1)
    Run.objects.filter(compared__comparison=comparison).update(best_step_time_us=5.0)
    fast = started(ready_graph, best_step_time_us=1.0, status=Run.DONE)
    Run.objects.filter(id=fast.id).update(method="heft")
    every = [row.id.hex for row in (fast, comparison, none, slow)]
    for address in (f"/projects/{ready_graph.project_id}/?", f"/graphs/{ready_graph.id}/?"):
        shown = [key for key in jobs(page(client, address)) if key != ready_graph.id.hex]
        assert shown == every
        for query, found in (
            ("sort=oldest", every[::-1]),
            ("sort=fastest", [fast.id.hex, comparison.id.hex, slow.id.hex, none.id.hex]),
            ("sort=method", [comparison.id.hex, fast.id.hex, none.id.hex, slow.id.hex]),
            ("search=HEFT", [fast.id.hex]),
            ("search=compar", [comparison.id.hex]),
            ("search=random", [comparison.id.hex, none.id.hex, slow.id.hex]),
            ("search=random+failed", [none.id.hex]),
            ("search=zebra", []),
        ):
            text = page(client, address + query)
            assert [key for key in jobs(text) if key != ready_graph.id.hex] == found, query
            assert bool(found) or "No run has" in text


def test_policies_and_their_runs(client: Client, ready_graph: Graph) -> None:
    for name, size in (("beta", 5), ("Alpha", 9)):
        Policy.objects.create(name=name, status=Policy.DONE, digest=name, file_version=2, file_bytes=size)
    assert names(page(client, "/policies/")) == ["Alpha", "beta"]
    assert names(page(client, "/policies/?sort=oldest")) == ["beta", "Alpha"]
    assert names(page(client, "/policies/?sort=name")) == ["Alpha", "beta"]
    assert names(page(client, "/policies/?search=BET")) == ["beta"]
    policy = Policy.objects.get(name="beta")
    runs = [started(ready_graph, policy=policy, best_step_time_us=time) for time in (1.0, 2.0, None)]
    address = f"/policies/{policy.id}/"
    assert jobs(page(client, f"{address}?sort=fastest")) == [run.id.hex for run in runs]
    assert jobs(page(client, f"{address}?search=heft")) == []


def test_the_next_page_keeps_words_and_order(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pagination, "ROWS_A_PAGE", 1)
    for name in ("a & b 1", "a & b 2", "other"):
        Project.objects.create(name=name)
    text = page(client, "/projects/?search=a+%26&sort=name")
    [following] = re.findall(r'rel="next" href="([^"]*)"', text)
    assert following == "/projects/?search=a+%26&amp;sort=name&amp;page=2#projects-title"
    assert names(page(client, following.replace("&amp;", "&"))) == ["a &amp; b 2"]


@pytest.mark.parametrize(
    "address", ["/projects/?sort=odd", "/policies/?sort=-id", "/projects/{project}/?graphs-sort=x"]
)
def test_an_order_that_there_is_not(client: Client, project: Project, address: str) -> None:
    response = client.get(address.format(project=project.id))
    assert response.status_code == 404 and "This list has no such order." in response.content.decode()


@pytest.mark.parametrize("query", ["", "?search=random&sort=fastest", "?search=random&sort=method"])
def test_more_rows_ask_no_more_queries(client: Client, ready_graph: Graph, query: str) -> None:
    counts = []
    for more in (1, 9):
        for seed in range(more):
            started(ready_graph, seed)
            compared(ready_graph, 1)
            Project.objects.create(name=f"random {seed}")
        with CaptureQueriesContext(connection) as queries:
            page(client, f"/projects/{ready_graph.project_id}/{query}")
            page(client, f"/projects/{query.partition('&')[0]}")
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_deletion_names_what_goes_with_it(client: Client, ready_graph: Graph) -> None:
    Graph.objects.filter(id=ready_graph.id).update(file_bytes=2048)
    Graph.objects.create(project=ready_graph.project, name="other.pb", suffix=".pb")
    comparison = compared(ready_graph, 2)
    started(ready_graph)
    asked = page(client, f"/projects/{ready_graph.project_id}/delete/")
    for words in ("“Placements”", "2 graphs", "3 runs", "1 comparison", 'data-bytes="2048"', "cannot be undone"):
        assert words in asked, words
    assert "3 runs" in page(client, f"/graphs/{ready_graph.id}/delete/")
    assert "Its runs go with it: 2." in page(client, f"/comparisons/{comparison.id}/delete/")
    assert Graph.objects.count() == 2, "a look deletes nothing"


def test_graphs_and_policies_are_renamed(client: Client, ready_graph: Graph) -> None:
    policy = Policy.objects.create(name="Mine", status=Policy.DONE)
    for address, row in ((f"/graphs/{ready_graph.id}/", ready_graph), (f"/policies/{policy.id}/", policy)):
        revision = row.revision
        assert client.post(f"{address}rename/", {"name": " <b>New "}).headers["Location"] == address
        row.refresh_from_db()
        assert (row.name, row.revision) == ("<b>New", revision + 1)
        for odd in ("", "a\x00b", "x" * 201):
            assert client.post(f"{address}rename/", {"name": odd}).status_code == 400
        assert "<b>New" not in page(client, address)
    Policy.objects.filter(id=policy.id).update(source=Policy.DEFAULT)
    client.post(f"/policies/{policy.id}/rename/", {"name": "Other"})
    assert not Policy.objects.filter(name="Other").exists()


@pytest.mark.parametrize("kind", ["runs", "comparisons"])
def test_runs_and_comparisons_get_a_name_or_go_back_to_their_words(
    client: Client, ready_graph: Graph, kind: str
) -> None:
    row: Run | Comparison = started(ready_graph) if kind == "runs" else compared(ready_graph, 2)
    address, usual = f"/{kind}/{row.id}/", f" on {ready_graph.name} · Placeto Explorer</title>"
    lists = [f"/graphs/{ready_graph.id}/", f"/projects/{ready_graph.project_id}/"]
    assert usual in page(client, address)
    assert client.post(f"{address}rename/", {"name": " <b>Night shift "}).headers["Location"] == address
    for shown in (address, f"{address}delete/", *lists):
        assert "&lt;b&gt;Night shift" in page(client, shown) and "<b>Night" not in page(client, shown)
    assert "<title>&lt;b&gt;Night shift ·" in page(client, address)
    assert row.id.hex in jobs(page(client, f"{lists[1]}?search=night"))
    assert row.id.hex not in jobs(page(client, f"{lists[1]}?search=evening"))
    assert client.post(f"{address}rename/", {"name": "x" * 201}).status_code == 400
    assert client.post(f"{address}rename/", {"name": ""}).status_code == 302
    assert usual in page(client, address)


def test_the_file_and_the_link_of_a_run_have_its_name(client: Client, real_graph: Graph) -> None:
    run, _ = answered(real_graph, name="Night shift")
    assert client.get(f"/runs/{run.id}/run.json").json()["name"] == "Night shift"
    link = client.post(f"/runs/{run.id}/links/new", headers={"accept": "application/json"}).json()["url"]
    for shown in (client.get(link), client.get(f"/runs/{run.id}/exports/run/run.html")):
        assert "<title>Night shift · Placeto Explorer</title>" in shown.content.decode()
