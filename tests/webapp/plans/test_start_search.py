"""A person starts a search for plans."""

from typing import Any

import pytest
from django.test import Client

from engine import api
from tests.webapp.conftest import MemoryBroker
from tests.webapp.plans.planned import CLUSTER_TEXT
from webapp.graphs.models import Graph
from webapp.plans.forms import first_values_of_search
from webapp.plans.models import PlanSearch
from webapp.plans.requests import request_of
from webapp.projects.models import Project

FORM = {"cluster": CLUSTER_TEXT, "batch": "8", "seconds": "5", "second": "", "pipeline": "usual", "algorithm": "ring"}


def plan(client: Client, graph: Graph, **changes: Any) -> Any:
    """Send the form."""
    return client.post(f"/graphs/{graph.id}/plan/", FORM | changes, headers={"accept": "application/json"})


def errors_of(response: Any) -> dict[str, list[str]]:
    """The sentences of a refused form."""
    assert response.status_code == 400, response.content
    errors: dict[str, list[str]] = response.json()["errors"]
    return errors


def test_it_is_stored_as_asked_and_queued(client: Client, readings: dict[int, Graph], broker: MemoryBroker) -> None:
    more = {"second": str(readings[2].id), "recompute": "on", "shards_optimizer": "on", "contiguous": "on"}
    response = plan(client, readings[1], **more)
    search = PlanSearch.objects.get()
    assert response.headers["Location"] == f"/plans/{search.id}/"
    assert (search.graph, search.second, search.second_name) == (readings[1], readings[2], "step2.json")
    rules = api.PlanRules(api.Pipeline.ONE_F_ONE_B, api.Recompute.STAGES, True, api.Algorithm.RING, True)
    request = request_of(search)
    assert (request.rules, request.batch, request.seconds) == (rules, 8, 5.0)
    assert len(broker.messages("gpu")) == 1
    assert search.rules_words == "1f1b, contiguous stages, stages run again, sharded optimizer, all-reduce by ring"
    assert first_values_of_search(search)["cluster"] == CLUSTER_TEXT


def test_the_form_offers_the_other_readings_of_the_project(client: Client, readings: dict[int, Graph]) -> None:
    Graph.objects.create(project=readings[1].project, name="other.json", suffix=".json", status=Graph.READY, op_count=1)
    page = client.get(f"/graphs/{readings[1].id}/plan/?cluster=4xA100").content.decode()
    assert "step2.json" in page and "other.json" not in page and "4xA100" in page
    assert f"/graphs/{readings[1].id}/plan/" in client.get(f"/graphs/{readings[1].id}/").content.decode()


def test_the_form_begins_as_an_earlier_search(client: Client, search: PlanSearch) -> None:
    page = client.get(f"/graphs/{search.graph_id}/plan/?search={search.id}").content.decode()
    assert f'value="{search.second_id}" selected' in page and 'name="batch" value="8"' in page


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"batch": "0"}, "batch", "greater than or equal to 1"),
        ({"batch": ""}, "batch", "required"),
        ({"seconds": "1e9"}, "seconds", "less than or equal to 3600"),
        ({"cluster": "2xNothing"}, "cluster", "Nothing"),
        ({"second": "7"}, "second", "has been deleted, or has other ops"),
        ({"pipeline": "inference"}, "pipeline", "backward pass"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    client: Client, readings: dict[int, Graph], changes: dict[str, str], field: str, words: str
) -> None:
    errors = errors_of(plan(client, readings[1], **changes))
    assert words in " ".join(errors[field]), errors
    assert not PlanSearch.objects.exists()


def test_a_batch_that_cannot_be_divided_is_refused(client: Client, readings: dict[int, Graph]) -> None:
    errors = errors_of(plan(client, readings[2], batch="3"))
    assert "cannot be divided into micro-batches of 2" in errors["batch"][0]


def test_two_readings_of_the_same_number_are_refused(client: Client, readings: dict[int, Graph]) -> None:
    twin = readings[2]
    prepared = twin.prepared
    prepared.blob = readings[1].prepared.blob
    prepared.save()
    errors = errors_of(plan(client, readings[1], second=str(twin.id)))
    assert "both readings are of 1 samples" in errors["second"][0]


def test_a_graph_that_does_not_say_its_samples_is_refused(client: Client, real_graph: Graph) -> None:
    errors = errors_of(plan(client, real_graph))
    assert "of how many samples" in " ".join(errors["batch"])


def test_a_graph_that_is_not_read_yet_is_refused(client: Client, graph: Graph) -> None:
    assert "has not been read yet" in errors_of(plan(client, graph))[""][0]


def test_it_is_listed_on_the_pages_of_graph_and_project(client: Client, project: Project, search: PlanSearch) -> None:
    for address in (f"/projects/{project.id}/", f"/graphs/{search.graph_id}/"):
        page = client.get(address).content.decode()
        assert f"/plans/{search.id}/" in page and "batch of 8 samples" in page
        assert f"/plans/{search.id}/" in client.get(f"{address}?search=plans").content.decode()
        assert f"/plans/{search.id}/" in client.get(f"{address}?sort=fastest").content.decode()
        assert f"/plans/{search.id}/" not in client.get(f"{address}?search=heft").content.decode()
    states = client.get(f"/states.json?plans={search.id.hex}").json()
    assert states["plans"][search.id.hex]["status"] == "queued"
