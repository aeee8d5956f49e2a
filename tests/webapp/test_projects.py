"""A person makes and renames projects."""

import pytest
from django.test import Client

from tests.webapp.run_rows import started
from webapp.graphs.models import Graph
from webapp.projects.models import Project

JSON = {"accept": "application/json"}


def test_the_first_page_lists_them(client: Client, project: Project) -> None:
    page = client.get("/")
    assert list(page.context["projects"]) == [project]
    assert f"/projects/{project.id}/" in page.content.decode()


def test_a_project_is_made(client: Client) -> None:
    response = client.post("/projects/", {"name": "  Vision  "})
    made = Project.objects.get()
    assert made.name == "Vision"
    assert response.headers["Location"] == f"/projects/{made.id}/"
    assert client.get(f"/projects/{made.id}/").status_code == 200


@pytest.mark.parametrize("name", ["", "   ", "x" * 201, "a\x00b"])
def test_an_odd_name_is_refused_at_its_field(client: Client, project: Project, name: str) -> None:
    for address in ("/projects/", f"/projects/{project.id}/rename/")[not name.strip() :]:
        assert list(client.post(address, {"name": name}, headers=JSON).json()["errors"]) == ["name"]
        assert client.post(address, {"name": name}).status_code == 400
    assert [each.name for each in Project.objects.all()] == ["Placements"]


def test_a_project_is_renamed(client: Client, project: Project) -> None:
    client.post(f"/projects/{project.id}/rename/", {"name": "Vision"})
    project.refresh_from_db()
    assert project.name == "Vision"


def test_a_name_is_text_and_not_html(client: Client, project: Project) -> None:
    client.post(f"/projects/{project.id}/rename/", {"name": "<script>alert(1)</script>"})
    for address in ("/", f"/projects/{project.id}/"):
        assert "<script>alert" not in client.get(address).content.decode()


def test_what_does_not_exist_is_a_sentence(client: Client) -> None:
    page = client.get("/projects/00000000-0000-0000-0000-000000000000/")
    assert page.status_code == 404
    assert "This project does not exist, or it has been deleted." in page.content.decode()
    assert client.get("/no/such/page", headers=JSON).json() == {"errors": {"": ["There is nothing at this address."]}}


def test_a_project_shows_about_what_it_takes_on_the_disk(client: Client, project: Project) -> None:
    address = f"/projects/{project.id}/"
    assert "take about" not in client.get(address).content.decode()
    for times_bytes in (0, 1000):
        Graph.objects.create(project=project, name="a.pb", suffix=".pb", file_bytes=2000, times_bytes=times_bytes)
    started(Graph.objects.earliest("created_at"), event_bytes=700)
    assert 'take about <span data-bytes="5700">' in client.get(address).content.decode()
    assert '<span data-bytes="5700">' in client.get("/projects/").content.decode()
