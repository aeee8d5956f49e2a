"""There are many graphs and many projects: their lists have pages, the newest first."""

import re

import pytest
from django.test import Client

from webapp.graphs.models import Graph
from webapp.pages import pagination
from webapp.projects.models import Project


@pytest.fixture(autouse=True)
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pagination, "ROWS_A_PAGE", 2)


def shown(client: Client, address: str) -> str:
    """The page there."""
    response = client.get(address)
    assert response.status_code == 200, address
    return str(response.content.decode())


def test_a_project_s_graphs_have_pages_beside_those_of_its_runs(client: Client) -> None:
    project = Project.objects.create(name="Mine")
    names = [f"graph {number}" for number in range(5)]
    for name in names:
        Graph.objects.create(project=project, name=name, suffix=".pb")
    address, found = f"/projects/{project.id}/", []
    for number in (1, 2, 3):
        page = shown(client, f"{address}?graphs={number}")
        assert f"Page {number} of 3, 5 graphs" in page
        found += re.findall(r">(graph \d)</a>", page)
    assert found == names[::-1]
    assert f'href="{address}?graphs=2#graphs-title"' in shown(client, f"{address}?page=1")
    assert client.get(f"{address}?graphs=4").status_code == 404


def test_projects_have_pages(client: Client) -> None:
    names = [f"project {number}" for number in range(3)]
    for name in names:
        Project.objects.create(name=name)
    first, second = (shown(client, f"/projects/?page={number}") for number in (1, 2))
    assert [name for page in (first, second) for name in re.findall(r">(project \d)</a>", page)] == names[::-1]
    assert "Page 2 of 2, 3 projects" in second and 'href="/projects/?page=1#projects-title"' in second
    refused = client.post("/projects/", {"name": "x" * 201})
    assert refused.status_code == 400 and "Page 1 of 2, 3 projects" in refused.content.decode()
