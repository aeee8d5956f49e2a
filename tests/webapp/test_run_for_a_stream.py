"""A person starts a run for the throughput of a stream of micro-batches, and its page and its batch say so."""

from typing import Any

import pytest
from django.test import Client

from engine import api
from tests.webapp.scripted_engine import CLUSTER
from webapp.graphs.models import Graph
from webapp.runs import first_values
from webapp.runs.models import Answer, Run
from webapp.runs.requests import new_run, request_of

FORM = {"cluster": "2xK80", "method": "auto", "preset": "", "evaluations": "100", "seconds": "", "seed": "0"}
STREAM = {"objective": "throughput", "micro_batches": "4", "pipeline": "usual"}


def start(client: Client, graph: Graph, **changes: str) -> Any:
    """Send the form."""
    return client.post(f"/graphs/{graph.id}/runs/", FORM | changes, headers={"accept": "application/json"})


def streamed(graph: Graph) -> Run:
    """A run for a stream that has ended, with its answer on the first device."""
    stream: api.Json = {"micro_batches": 4, "pipeline": "inference", "contiguous": False}
    groups = graph.prepared.value.grouping.group_count
    Graph.objects.filter(id=graph.id).update(op_count=9)
    run = Run.objects.create(
        graph=graph,
        cluster=CLUSTER,
        method="auto",
        settings={},
        evaluations=9,
        seed=0,
        status=Run.DONE,
        stream=stream,
        best_step_time_us=3.0,
    )
    Answer.objects.create(run=run, step_time_us=3.0, device_of_group=[0] * groups)
    return run


def test_the_form_offers_the_objective_with_its_fields(client: Client, real_graph: Graph) -> None:
    page = client.get(f"/graphs/{real_graph.id}/").content.decode()
    assert 'name="objective" value="step_time"' in page and 'name="objective" value="throughput"' in page
    assert 'name="micro_batches" value="8"' in page
    assert "Pipeline DP (throughput only)" in page


def test_the_stream_is_stored_and_asked_for(client: Client, real_graph: Graph) -> None:
    assert start(client, real_graph, **STREAM, contiguous="on").status_code == 302
    run = Run.objects.get()
    assert run.stream == {"micro_batches": 4, "pipeline": "inference", "contiguous": True}
    assert request_of(run).stream == api.Stream(4, api.Pipeline.INFERENCE, contiguous=True)
    assert new_run(real_graph, request_of(run)).stream == run.stream
    answer = client.get(f"/runs/{run.id}/run.json").json()
    assert answer["stream"] == run.stream


def test_without_the_objective_a_step_is_placed_as_before(client: Client, real_graph: Graph) -> None:
    """The fields of a stream do not count then, not even wrong ones."""
    for fields in ({}, {"objective": "step_time", "micro_batches": "none", "pipeline": "backwards"}):
        assert start(client, real_graph, **fields).status_code == 302
        run = Run.objects.get()
        assert run.stream is None and request_of(run).stream is None
        assert "stream" not in client.get(f"/runs/{run.id}/run.json").json()
        run.delete()


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"micro_batches": "0"}, "micro_batches", "1 to 1024"),
        ({"micro_batches": "many"}, "micro_batches", "whole number"),
        ({"pipeline": "backwards"}, "pipeline", "backwards"),
        ({"pipeline": "gpipe"}, "pipeline", "no backward pass"),
        ({"contiguous": "on", "method": "random"}, "method", "contiguous"),
        ({"objective": "step_time", "method": "pipeline_dp"}, "method", "stream of micro-batches"),
        ({"objective": "least memory"}, "objective", "least memory"),
    ],
)
def test_errors_are_at_their_fields(
    client: Client, real_graph: Graph, changes: dict[str, str], field: str, words: str
) -> None:
    answer = start(client, real_graph, **(STREAM | changes))
    assert answer.status_code == 400
    assert words in " ".join(answer.json()["errors"][field])
    assert not Run.objects.exists()


def test_run_again_keeps_the_stream(client: Client, real_graph: Graph) -> None:
    run = streamed(real_graph)
    values = first_values.of_run(run)
    assert (values["objective"], values["micro_batches"], values["pipeline"]) == ("throughput", 4, "inference")
    page = client.get(f"/graphs/{real_graph.id}/?run={run.id}").content.decode()
    assert 'value="throughput" id="id_objective_1" checked' in page.replace("required ", "")
    assert 'name="micro_batches" value="4"' in page
    assert '<option value="inference" selected>' in page


def test_the_page_speaks_of_periods(client: Client, real_graph: Graph) -> None:
    run = streamed(real_graph)
    page = client.get(f"/runs/{run.id}/").content.decode()
    for words in (
        "throughput of 4 micro-batches, inference",
        "Best period",
        "Period per episode",
        "One micro-batch by itself",
        'data-quantity="period"',
        'id="micro-batches"',
    ):
        assert words in page, words
    lines = client.get(f"/graphs/{real_graph.id}/").content.decode()
    assert 'class="muted">period</span>' in lines


def test_the_page_of_a_step_says_nothing_of_streams(client: Client, real_graph: Graph) -> None:
    run = streamed(real_graph)
    Run.objects.filter(id=run.id).update(stream=None)
    page = client.get(f"/runs/{run.id}/").content.decode()
    assert "Timeline of one step" in page and "Best step time" in page and "Step time per episode" in page
    assert "micro-batches" not in page
    assert client.get(f"/runs/{run.id}/blocks.json").status_code == 404


def test_the_batch_is_told_by_its_blocks(client: Client, real_graph: Graph) -> None:
    run = streamed(real_graph)
    answer = client.get(f"/runs/{run.id}/blocks.json").json()
    assert answer["stream"] == run.stream and answer["left_out"] == 0
    assert [block["micro"] for block in answer["blocks"]] == [0, 1, 2, 3]
    assert {block["device"] for block in answer["blocks"]} == {0}
    assert answer["busiest"] == {"kind": "device", "device": 0, "to": None}


def test_periods_are_not_beside_step_times(client: Client, real_graph: Graph) -> None:
    run = streamed(real_graph)
    assert client.get(f"/graphs/{real_graph.id}/methods.json").json()["clusters"] == []
    other = Run.objects.create(
        graph=real_graph,
        cluster=CLUSTER,
        method="heft",
        settings={},
        evaluations=9,
        seed=0,
        status=Run.DONE,
        best_step_time_us=2.0,
    )
    Answer.objects.create(run=other, step_time_us=2.0, device_of_group=[0])
    assert client.get(f"/runs/{run.id}/others.json").json()["runs"] == []
    assert client.get(f"/runs/{other.id}/others.json").json()["runs"] == []
