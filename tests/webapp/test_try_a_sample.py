"""A person presses "Try a sample"."""

from django.test import Client

from engine import api
from tests.webapp.conftest import MemoryBroker
from webapp.graphs.forms import SampleForm
from webapp.graphs.models import Graph
from webapp.projects.first_project import NAME
from webapp.projects.models import Project


def test_the_sample_is_queued(client: Client, project: Project, broker: MemoryBroker) -> None:
    response = client.post(f"/projects/{project.id}/samples/", {"sample": "inception_v3"})
    graph = Graph.objects.get()
    assert response.status_code == 302
    assert response.headers["Location"] == f"/graphs/{graph.id}/"
    assert (graph.sample, graph.name, graph.suffix) == ("inception_v3", api.samples()["inception_v3"], ".pb")
    assert broker.messages("cpu") == [["cpu"]]
    assert client.get(response.headers["Location"]).status_code == 200


def test_every_sample_is_offered(client: Client, project: Project) -> None:
    page = client.get(f"/projects/{project.id}/").content.decode()
    for name in api.samples():
        assert f'name="sample" value="{name}"' in page
    first = next(iter(api.samples()))
    assert f'value="{first}" required checked' in page


def test_a_sample_that_there_is_none_of_is_refused(client: Client, project: Project, broker: MemoryBroker) -> None:
    response = client.post(
        f"/projects/{project.id}/samples/", {"sample": "alexnet"}, headers={"accept": "application/json"}
    )
    assert response.status_code == 400
    assert list(response.json()["errors"]) == ["sample"]
    assert client.post(f"/projects/{project.id}/samples/", {}).status_code == 400
    assert not Graph.objects.exists()
    assert broker.messages("cpu") == []


def test_no_two_samples_have_the_same_name() -> None:
    names = [what for _, what, _ in SampleForm().rows()]
    assert len(set(names)) == len(names)


def test_a_sample_is_tried_from_the_home_page(client: Client, broker: MemoryBroker) -> None:
    page = client.get("/").content.decode()
    assert all(f'name="sample" value="{name}"' in page for name in api.samples())
    response = client.post("/samples/", {"sample": "inception_v3"})
    graph = Graph.objects.get()
    assert (response.headers["Location"], graph.project.name) == (f"/graphs/{graph.id}/", NAME)
    assert broker.messages("cpu") == [["cpu"]]
    assert client.post("/samples/", {"sample": "alexnet"}).status_code == 400
