"""A visitor opens the example that comes with the release, and runs it."""

import json

import pytest
from django.test import Client

from engine import api
from tests.webapp.conftest import MemoryBroker
from tests.webapp.purge import purge
from webapp.example.example_file import read_example
from webapp.example.opening import LONGEST_SECONDS
from webapp.graphs.models import Graph, PreparedBlob
from webapp.jobs import deletion
from webapp.jobs.models import Event
from webapp.projects.models import Project
from webapp.runs.models import Run
from webapp.runs.sessions import session_of


def opened(client: Client) -> Run:
    """The run whose page the button leads to."""
    response = client.post("/example/")
    run = Run.objects.get(id=response.headers["Location"].strip("/").split("/")[1])
    assert client.get(response.headers["Location"]).status_code == 200
    return run


def test_its_page_shows_the_decisions_inside_its_best_episode(client: Client) -> None:
    run, file = opened(client), read_example()
    episodes = [item for item in file.events if isinstance(item.event, api.Episode)]
    best = next(item for item in episodes if item.event.step_time_us == file.report["step_time_us"])  # type: ignore[union-attr]
    found = client.get(f"/runs/{run.id}/decisions/{best.seq}").json()
    assert "obstacle" not in found
    assert sorted(found["order"]) == list(range(run.graph.group_count or 0))


def test_it_is_a_finished_run_of_this_version(client: Client) -> None:
    """Once this fails because the models or the engine have changed, `python -m webapp.example` makes the file anew."""
    run, file = opened(client), read_example()
    session = session_of(run)
    outcome = session.evaluate(session.by_levels(api.placement_of_report(file.report)))
    assert outcome.feasible
    assert run.answer.device_of_group == file.report["device_of_group"]
    assert outcome.step_time_us == run.best_step_time_us == run.answer.step_time_us == file.report["step_time_us"]
    assert (run.status, run.evaluations_used) == (Run.DONE, file.request.evaluations)
    prepared = api.PreparedGraph.from_bytes(file.prepared)
    assert PreparedBlob.objects.get(graph=run.graph).blob == prepared.to_bytes()
    assert run.graph.source_path.read_bytes() == file.graph
    assert run.graph.status == Graph.READY and run.graph.op_count == prepared.graph.op_count
    assert run.last_seq == len(file.events) == Event.objects.filter(job_id=run.id).count()
    last = json.loads(Event.objects.get(job_id=run.id, seq=run.last_seq).data)
    assert last == file.events[-1].to_json()
    best = next(event.seq for event in file.events if isinstance(event.event, api.Episode))
    assert client.get(f"/runs/{run.id}/explanations/{best}").status_code == 200
    assert len(client.get(f"/runs/{run.id}/placement.json").json()) == run.graph.op_count


def test_its_page_says_what_one_sees(client: Client, run: Run) -> None:
    page = client.get(f"/runs/{opened(client).id}/").content.decode()
    assert "Run it yourself" in page
    assert f"At most {LONGEST_SECONDS:.0f} s: it may end with fewer evaluations." in page
    verdict = read_example().report["verdict"]
    assert isinstance(verdict, dict) and str(verdict["sentence"]) in page
    assert verdict["trade_sentence"] and str(verdict["trade_sentence"]) in page
    assert "Run it yourself" not in client.get(f"/runs/{run.id}/").content.decode()


def test_twice_clicked_is_once_stored(client: Client, broker: MemoryBroker) -> None:
    assert opened(client) == opened(client)
    assert Run.objects.count() == Graph.objects.count() == Project.objects.count() == 1
    assert broker.messages("gpu") == broker.messages("cpu") == []


@pytest.mark.parametrize(("part", "purged"), [("run", True), ("graph", False), ("project", False)])
def test_what_was_deleted_is_stored_anew(client: Client, part: str, purged: bool) -> None:
    old = opened(client)
    deletion.delete({"run": old, "graph": old.graph, "project": old.project}[part])
    if purged:
        purge()
    new = opened(client)
    assert (new.id == old.id) == purged
    assert (new.project_id == old.project_id) == (part != "project")
    assert opened(client) == new
    assert Event.objects.filter(job_id=new.id).count() == new.last_seq
    assert new.graph.source_path.exists()


def test_it_is_run_as_it_was_with_a_limit_of_time(client: Client, broker: MemoryBroker) -> None:
    response = client.post("/example/run/")
    run = Run.objects.get(status=Run.QUEUED)
    assert response.headers["Location"] == f"/runs/{run.id}/"
    example = opened(client)
    assert run.seconds == LONGEST_SECONDS
    assert [run.graph, run.method, run.seed, run.evaluations, run.cluster] == [
        example.graph,
        example.method,
        example.seed,
        example.evaluations,
        example.cluster,
    ]
    assert broker.messages("gpu") == [["gpu"]]
