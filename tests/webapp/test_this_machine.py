"""A person chooses the machine that was measured, where there is one."""

import json
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from engine import api
from tests.webapp.machine_file import MACHINE
from webapp.graphs.models import Graph
from webapp.runs.machines import OWN_CHOICE
from webapp.runs.models import Run
from webapp.runs.requests import request_of


def start(client: Client, graph: Graph, **changes: str) -> Any:
    form = {"cluster": OWN_CHOICE, "method": "auto", "evaluations": "100", "seed": "0"}
    return client.post(f"/graphs/{graph.id}/runs/", form | changes, headers={"accept": "application/json"})


@pytest.fixture
def measured(settings: Settings) -> None:
    settings.MACHINE.write_text(json.dumps(MACHINE))


def page_of(client: Client, graph: Graph) -> str:
    return client.get(f"/graphs/{graph.id}/").content.decode()


@pytest.mark.usefixtures("measured")
def test_a_measured_machine_is_offered_and_placed_on(client: Client, ready_graph: Graph) -> None:
    words = "this machine, 2 × a processor, measured 2026-01-31"
    form = client.get(f"/graphs/{ready_graph.id}/").context["run_form"]
    assert form.device_choices["machines"] == [{"name": OWN_CHOICE, "label": words}]
    assert start(client, ready_graph).status_code == 302
    cluster = request_of(Run.objects.get()).cluster
    assert api.cluster_to_json(cluster) == api.cluster_to_json(api.parse_cluster(json.dumps(MACHINE)))
    assert "measured 2026-01-31" in client.get(f"/runs/{Run.objects.get().id}/").content.decode()


@pytest.mark.usefixtures("measured")
def test_it_is_chosen_again_in_the_next_form(client: Client, ready_graph: Graph) -> None:
    start(client, ready_graph)
    assert client.get(f"/graphs/{ready_graph.id}/").context["run_form"]["cluster"].value() == OWN_CHOICE


def test_without_a_measurement_nothing_is_offered(client: Client, ready_graph: Graph) -> None:
    assert OWN_CHOICE not in page_of(client, ready_graph)
    assert start(client, ready_graph).status_code == 400


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("{", "machine.json is not offered: line 1, column 2: this is not JSON; allowed: one JSON value."),
        ("2xK80", "machine.json is not offered: it is no cluster that `calibrate` has written."),
        (" " * 1024**2 + "2xK80", "machine.json is not offered: it is larger than 1 MiB."),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    client: Client, ready_graph: Graph, settings: Settings, content: str, line: str
) -> None:
    settings.MACHINE.write_text(content)
    page = page_of(client, ready_graph)
    assert line in page and OWN_CHOICE not in page
