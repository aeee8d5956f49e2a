"""A person compares methods for the throughput of a stream of micro-batches."""

from typing import Any

import pytest
from django.test import Client

from engine import api
from webapp.comparisons.forms import first_values_of_comparison
from webapp.comparisons.models import Comparison
from webapp.comparisons.requests import request_of
from webapp.graphs.models import Graph
from webapp.runs.models import Run

STREAM = {"objective": "throughput", "micro_batches": "4", "pipeline": "usual", "contiguous": "on"}
FORM = {"cluster": "2xK80", "methods": ["auto", "pipeline_dp"], "seeds": "1", "evaluations": "100", "seconds": ""}


def compare(client: Client, graph: Graph, **changes: Any) -> Any:
    """Send the form."""
    return client.post(f"/graphs/{graph.id}/compare/", FORM | changes, headers={"accept": "application/json"})


@pytest.fixture
def compared(client: Client, real_graph: Graph) -> Comparison:
    assert compare(client, real_graph, **STREAM).status_code == 302
    return Comparison.objects.get()


def test_the_stream_is_stored_and_every_run_has_it(compared: Comparison) -> None:
    asked: api.Json = {"micro_batches": 4, "pipeline": "inference", "contiguous": True}
    assert compared.stream == asked
    assert [run.stream for run in Run.objects.all()] == [asked, asked]
    assert request_of(compared).stream == api.Stream(4, api.Pipeline.INFERENCE, contiguous=True)
    values = first_values_of_comparison(compared)
    assert (values["objective"], values["micro_batches"], values["contiguous"]) == ("throughput", 4, True)


def test_the_page_speaks_of_micro_batches_and_periods(client: Client, compared: Comparison) -> None:
    page = client.get(f"/comparisons/{compared.id}/").content.decode()
    assert "throughput of 4 micro-batches, inference, contiguous stages" in page
    assert "Best period against evaluations" in page and "Micro-batches a second: mean" in page
    assert "Best step time against" not in page
    assert "Micro-batches a second: mean" in client.get(f"/comparisons/{compared.id}/table.html").content.decode()
    report = client.get(f"/comparisons/{compared.id}/comparison.json").json()
    assert report["stream"] == compared.stream


def test_a_comparison_of_steps_has_no_stream(client: Client, real_graph: Graph) -> None:
    assert compare(client, real_graph, methods=["auto"]).status_code == 302
    comparison = Comparison.objects.get()
    assert comparison.stream is None and comparison.stream_words == ""
    assert "Best step time against evaluations" in client.get(f"/comparisons/{comparison.id}/").content.decode()


def test_methods_that_cannot_are_refused_at_their_field(client: Client, real_graph: Graph) -> None:
    for changes in ({"methods": ["pipeline_dp"]}, STREAM | {"methods": ["random"]}):
        refused = compare(client, real_graph, **changes)
        assert refused.status_code == 400
        assert "methods" in refused.json()["errors"]
    assert not Comparison.objects.exists()


def test_lists_sort_periods_after_step_times(client: Client, compared: Comparison) -> None:
    """A period is no step time: in "fastest first" those of streams come behind all steps."""
    graph = compared.graph
    Run.objects.update(status=Run.DONE, best_step_time_us=1.0)
    for name, best_us, stream in (("stream", 2.0, compared.stream), ("step", 3.0, None), ("none", None, None)):
        values = {"cluster": compared.cluster, "method": "auto", "settings": {}, "evaluations": 9, "seed": 0}
        Run.objects.create(graph=graph, name=name, status=Run.DONE, best_step_time_us=best_us, stream=stream, **values)
    page = client.get(f"/graphs/{graph.id}/?sort=fastest").content.decode()
    places = [page.find(f">{name}</a>") for name in ("step", "stream", "none")]
    assert -1 not in places and places == sorted(places), places


def test_the_form_of_a_run_gives_its_stream(client: Client, real_graph: Graph) -> None:
    address = f"/graphs/{real_graph.id}/compare/?objective=throughput&micro_batches=6&pipeline=inference"
    page = client.get(address).content.decode()
    assert 'name="micro_batches" value="6"' in page
