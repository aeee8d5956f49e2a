"""A visitor begins on the home page: with an upload, or with a project whose name need not be invented."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from webapp.projects.models import Project

GRAPH = b'{"nodes": [{"id": "a", "time_us": 1, "output_bytes": [1]}], "edges": []}'
JSON = {"accept": "application/json"}


def upload(client: Client, content: bytes = GRAPH) -> int:
    """Send a file from the home page."""
    return client.post("/graphs/", {"file": SimpleUploadedFile("a.json", content)}).status_code


def test_an_upload_goes_into_one_project(client: Client) -> None:
    assert [upload(client), upload(client)] == [302, 302]
    project = Project.objects.get()
    assert project.name == "My graphs"
    assert set(project.graphs.values_list("name", flat=True)) == {"a.json", "a (2).json"}


def test_a_refused_upload_leaves_no_project(client: Client) -> None:
    assert upload(client, b"no graph") == 400
    assert not Project.objects.exists()
    page = client.post("/graphs/", {}).content.decode()
    assert "No file was chosen" in page and "Open the example" in page


@pytest.mark.parametrize("name", ["", "   "])
def test_a_project_without_a_name_gets_one(client: Client, name: str) -> None:
    Project.objects.create(name="Project 2")
    client.post("/projects/", {"name": name})
    client.post("/projects/", {"name": name})
    assert set(Project.objects.values_list("name", flat=True)) == {"Project 2", "Project 3", "Project 4"}


def test_it_shows_the_newest_projects(client: Client) -> None:
    for number in range(7):
        Project.objects.create(name=f"Made {number}")
    page = client.get("/").content.decode()
    assert "Made 1" in page and "Made 0" not in page
    assert 'href="/projects/">All projects' in page
    assert "Made 0" in client.get("/projects/").content.decode()
