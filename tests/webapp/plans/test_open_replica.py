"""A person opens a replica of a plan in the explorer."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from django.http import Http404
from django.test import Client

from engine import api
from tests.engine.plans.layered_step import step
from tests.webapp.plans.planned import planned
from webapp.graphs.models import Graph, PreparedBlob
from webapp.jobs import deletion, heartbeat
from webapp.plans.models import OpenedReplica, PlanReport, PlanSearch, SizedGraph
from webapp.plans.opening import run_of_replica
from webapp.runs.models import Run
from webapp.runs.placing import place_run


def open_replica(client: Client, search: PlanSearch, plan: str = "0", replica: int = 0) -> Run:
    """Press the button; the run that it leads to."""
    response = client.post(f"/plans/{search.id}/open/", {"plan": plan, "replica": replica})
    assert response.status_code == 302, response.content
    return Run.objects.get(id=response.headers["Location"].split("/")[2])


def with_replica(search: PlanSearch, **changes: Any) -> dict[str, Any]:
    """The report of the search, whose first replica is changed."""
    report = planned(search)
    report["plans"][0]["replicas"][0] |= changes
    PlanReport.objects.update(content=report)
    row: dict[str, Any] = report["plans"][0]["replicas"][0]
    return row


def test_it_is_a_run_of_its_placement_on_its_devices(client: Client, search: PlanSearch) -> None:
    row = with_replica(search, devices=[1], micro_batch=2, micro_batches=4, device_of_group=[1] * 9)
    run = open_replica(client, search)
    assert run.graph == search.second and [device.name for device in run.cluster_value.devices] == ["/device:GPU:1"]
    assert run.stream == {"micro_batches": row["micro_batches"], "pipeline": "1f1b", "contiguous": False}
    assert run.start.device_of_group == [0] * 9 and run.evaluations == 1
    assert run.name == "Replica 1: GPU:1, 4 × 2 samples"
    page = client.get(f"/runs/{run.id}/").content.decode()
    assert f"/plans/{search.id}/" in page and "without the collectives" in page


def test_a_size_that_was_not_read_gets_a_graph_of_its_own(client: Client, search: PlanSearch) -> None:
    Graph.objects.update(content_hash="ab" * 32)
    search.refresh_from_db()
    with_replica(search, devices=[0], micro_batch=4, micro_batches=2, device_of_group=[0] * 9)
    run = open_replica(client, search)
    graph = run.graph
    assert graph.name == "step1.json at 4 samples" and graph.is_ready
    times = graph.prepared.value.costs.time_us
    assert (times[0] * graph.prepared.value.costs.trips_of_op()).sum() == pytest.approx(3 * 30 * 4 + 3 * 3)
    page = client.get(f"/graphs/{graph.id}/").content.decode()
    assert "Its times and bytes lie on the line through two readings" in page
    assert open_replica(client, search, "0", 0) == run
    other = client.post(f"/graphs/{search.graph_id}/plan/", {})
    assert "at 4 samples" not in other.content.decode(), "it is no reading"
    assert not graph.content_hash, "it is not what its file says"


def test_a_deleted_reading_of_such_a_graph_is_named_without_a_link(client: Client, search: PlanSearch) -> None:
    with_replica(search, devices=[0], micro_batch=4, micro_batches=2, device_of_group=[0] * 9)
    graph = open_replica(client, search).graph
    assert search.second is not None
    deletion.delete(search.second)
    page = client.get(f"/graphs/{graph.id}/").content.decode()
    assert f'/graphs/{search.graph_id}/">step1.json</a> and <span class="name">step2.json</span>, at' in page
    assert f"/graphs/{search.second_id}/" not in page


def test_a_reading_with_other_groups_does_not_stand_for_the_size(
    client: Client, search: PlanSearch, tmp_path: Path
) -> None:
    path = tmp_path / "2.json"
    path.write_text(json.dumps(step(2)))
    blob = api.prepare(path, ".json", lambda *_: None, api.Limits(), groups=4).to_bytes()
    PreparedBlob.objects.filter(graph=search.second_id).update(blob=blob)
    search.refresh_from_db()
    with_replica(search, devices=[0, 1], micro_batch=2, micro_batches=4, device_of_group=[0] * 8 + [1])
    run = open_replica(client, search)
    assert run.graph.name == "step1.json at 2 samples" and run.graph.group_count == 9


def test_a_batch_size_given_with_the_file_is_the_size_of_its_reading(client: Client, search: PlanSearch) -> None:
    """As for TensorFlow's and ONNX files, which do not say their samples."""
    for samples, graph in enumerate((search.graph_id, search.second_id), 1):
        stored = PreparedBlob.objects.get(graph=graph)
        origin = dataclasses.replace(stored.value.origin, samples=0, options={"batch_size": samples})
        stored.blob = dataclasses.replace(stored.value, origin=origin).to_bytes()
        stored.save()
    search.refresh_from_db()
    with_replica(search, devices=[1], micro_batch=2, micro_batches=4, device_of_group=[1] * 9)
    assert open_replica(client, search).graph == search.second
    OpenedReplica.objects.all().delete()
    PlanReport.objects.all().delete()
    with_replica(search, devices=[1], micro_batch=4, micro_batches=2, device_of_group=[1] * 9)
    assert open_replica(client, search).graph.name == "step1.json at 4 samples"


def test_a_search_that_was_deleted_meanwhile_leaves_no_graph(search: PlanSearch) -> None:
    with_replica(search, devices=[0], micro_batch=4, micro_batches=2, device_of_group=[0] * 9)
    deletion.delete(search)
    with pytest.raises(Http404, match="deleted meanwhile"):
        run_of_replica(search, "0", 0)
    assert not SizedGraph.objects.exists(), "graphs are made behind the lock, by one press at a time"


def test_a_second_press_opens_the_same_run_unless_it_was_deleted(client: Client, search: PlanSearch) -> None:
    planned(search)
    first = open_replica(client, search, "data_parallel", 1)
    assert open_replica(client, search, "data_parallel", 1) == first
    deletion.delete(first)
    assert open_replica(client, search, "data_parallel", 1) != first
    assert OpenedReplica.objects.count() == 2


@pytest.mark.usefixtures("transactional_db")
def test_its_run_has_the_placement_as_its_answer(
    client: Client, search: PlanSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)
    halves = [group % 2 for group in range(9)]
    with_replica(search, devices=[0, 1], micro_batch=1, micro_batches=8, device_of_group=halves)
    run = open_replica(client, search)
    place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.DONE, "")
    assert run.answer.device_of_group == halves, "though one device would be faster"


@pytest.mark.parametrize(("plan", "replica"), [("9", 0), ("0", 99), ("nothing", 0)])
def test_no_other_replica_can_be_opened(client: Client, search: PlanSearch, plan: str, replica: int) -> None:
    planned(search)
    assert client.post(f"/plans/{search.id}/open/", {"plan": plan, "replica": replica}).status_code == 404
    assert not Run.objects.exists()


def test_a_form_without_a_replica_is_refused(client: Client, search: PlanSearch) -> None:
    planned(search)
    response = client.post(f"/plans/{search.id}/open/", {"plan": "0", "replica": "-1"})
    assert response.status_code == 400


def test_without_a_report_nothing_can_be_opened(client: Client, search: PlanSearch) -> None:
    assert client.post(f"/plans/{search.id}/open/", {"plan": "0", "replica": 0}).status_code == 404


def test_the_run_outlives_the_search(client: Client, search: PlanSearch) -> None:
    planned(search)
    run = open_replica(client, search)
    client.post(f"/plans/{search.id}/delete/")
    page = client.get(f"/runs/{run.id}/").content.decode()
    assert "Goes on from a replica of" in page and f"/plans/{search.id}/" not in page
    assert Graph.objects.filter(id=run.graph_id).exists()
