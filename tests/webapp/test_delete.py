"""A person deletes a run, a graph, a project: it disappears at once; a worker purges rows and files in small steps."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from engine import api
from tests.webapp.purge import purge
from tests.webapp.run_rows import compared, started
from webapp.comparisons import lifecycle as comparisons
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.graphs.models import Graph, PreparedBlob
from webapp.jobs import deletion, purging
from webapp.jobs.claim import Claim, ClaimLostError
from webapp.jobs.deletion import deletable_models
from webapp.jobs.models import Event, SavedState
from webapp.measuring.models import Profile
from webapp.policies import lifecycle as policies
from webapp.policies.models import Policy, PolicyFile
from webapp.projects.models import Project
from webapp.runs.models import Answer, Run


def fill(run: Run, events: int = 1) -> None:
    """Everything that a run can have."""
    Event.objects.bulk_create(Event(job_id=run.id, seq=seq, type="episode", data="{}") for seq in range(1, events + 1))
    SavedState.objects.create(job_id=run.id, seq=1, state=b"state")
    Answer.objects.create(run=run, step_time_us=1.0, device_of_group=[0])


def of_runs() -> int:
    """Rows that belong to runs."""
    return Run.all_rows.count() + sum(model._default_manager.count() for model in (Event, SavedState, Answer))


def addresses(run: Run) -> Iterator[str]:
    """All pages of a run, its graph and its project."""
    yield from (f"/runs/{run.id}/{name}" for name in ("", "run.json", "graph.json", "events.json"))
    yield from (f"/graphs/{run.graph_id}/{name}" for name in ("", "compare/"))
    yield f"/projects/{run.project_id}/"


def test_a_run_goes_with_its_events_and_leaves_its_graph(client: Client, run: Run) -> None:
    fill(run)
    response = client.post(f"/runs/{run.id}/delete/")
    assert response.headers["Location"] == f"/graphs/{run.graph_id}/"
    assert client.get(f"/runs/{run.id}/").status_code == 404
    purge()
    assert of_runs() == 0
    assert Graph.objects.filter(id=run.graph_id).exists()


def test_a_graph_goes_with_its_files_and_its_runs(client: Client, run: Run) -> None:
    fill(run)
    path = run.graph.source_path
    profile = Profile.objects.create(graph=run.graph)
    profile.times_path.parent.mkdir()
    profile.times_path.touch()
    assert path.exists()
    response = client.post(f"/graphs/{run.graph_id}/delete/")
    assert response.headers["Location"] == f"/projects/{run.graph.project_id}/"
    assert client.get(f"/profiles/{profile.id}/run_metadata.pb").status_code == 404
    purge()
    assert not path.exists() and not profile.times_path.exists()
    assert of_runs() == Profile.all_rows.count() == 0
    assert not PreparedBlob.objects.exists()


def test_a_project_goes_with_all_that_is_in_it(client: Client, run_of_blob: Run, data_folder: Path) -> None:
    run = run_of_blob
    fill(run)
    compared(run.graph, 2)
    other = Project.objects.create(name="Another")
    shown = list(addresses(run))
    assert {client.get(address).status_code for address in shown} == {200}
    response = client.post(f"/projects/{run.graph.project_id}/delete/")
    assert response.headers["Location"] == "/projects/"
    assert {client.get(address).status_code for address in [*shown, f"/runs/{run.id}/report.json"]} == {404}
    assert client.get(f"/states.json?run={run.id.hex}&graph={run.graph_id.hex}").json() == {"run": {}, "graph": {}}
    assert b"Placements" not in client.get("/").content
    purge()
    assert [path for path in data_folder.rglob("*") if path.is_file()] == []
    assert of_runs() == Graph.all_rows.count() == Comparison.all_rows.count() == ComparedRun.objects.count() == 0
    assert list(Project.all_rows.all()) == [other]


def test_deleting_costs_the_same_however_many_events_there_are(client: Client, run: Run) -> None:
    fill(run, events=5000)
    with CaptureQueriesContext(connection) as queries:
        client.post(f"/graphs/{run.graph_id}/delete/")
    touched = [query["sql"] for query in queries if "jobs_event" in query["sql"] or "DELETE" in query["sql"]]
    assert touched == []
    assert Event.objects.count() == 5000


def test_a_purge_takes_small_steps_and_goes_on_after_any(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "EVENTS_A_STEP", 10)
    fill(run, events=35)
    client.post(f"/runs/{run.id}/delete/")
    left = []
    while purging.purge_step():
        left.append(Event.objects.count())
    assert left == [25, 15, 5, 0]
    assert of_runs() == 0


def test_files_go_before_the_row_that_knows_them(client: Client, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    client.post(f"/graphs/{graph.id}/delete/")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "unlink", killed)
        purging.purge_step()
    assert graph.source_path.exists() and Graph.all_rows.exists()
    purge()
    assert not graph.source_path.exists() and not Graph.all_rows.exists()


def test_a_worker_stores_nothing_more_of_a_deleted_run(client: Client, run: Run) -> None:
    claim = Claim.take(Run, run.id)
    assert claim is not None
    client.post(f"/projects/{run.project_id}/delete/")
    for change in (claim.update, claim.cancel_requested, lambda: claim.end(Run.DONE)):
        with pytest.raises(ClaimLostError):
            change()
    assert Claim.take(Run, run.id) is None


def test_a_deleted_run_leaves_its_comparison(client: Client, ready_graph: Graph) -> None:
    comparison = compared(ready_graph, 3)
    first = comparisons.runs_of(comparison)[0]
    client.post(f"/runs/{first.id}/delete/")
    for _ in range(2):
        assert len(comparisons.runs_of(comparison)) == 2
        assert '<span class="muted">2 runs</span>' in client.get(f"/graphs/{ready_graph.id}/").content.decode()
        purge()


def test_a_comparison_goes_with_its_runs_alone(client: Client, ready_graph: Graph, run: Run) -> None:
    comparison = compared(ready_graph, 2)
    client.post(f"/comparisons/{comparison.id}/delete/")
    assert list(Run.objects.all()) == [run]
    assert client.get(f"/comparisons/{comparison.id}/").status_code == 404
    purge()
    assert list(Run.all_rows.all()) == [run]


def test_a_deleted_policy_leaves_its_runs(client: Client, run: Run) -> None:
    policy = policies.keep_file("Mine", Policy.UPLOADED, b"blob", CARD)
    Run.objects.filter(id=run.id).update(policy=policy, policy_name="Mine", status=Run.DONE)
    client.post(f"/policies/{policy.id}/delete/")
    run.refresh_from_db()
    assert (run.policy_id, run.policy_name) == (None, "Mine")
    purge()
    assert not Policy.all_rows.exists() and not PolicyFile.objects.exists()


def test_a_file_can_be_uploaded_again_before_the_purge_of_its_policy() -> None:
    ids = []
    for _ in range(2):
        key = policies.id_of_file(uuid.UUID(int=1), "a" * 64)
        policy = policies.keep_file("Mine", Policy.UPLOADED, b"blob", CARD, key)
        assert policy.deleted_at is None
        ids.append(key)
        deletion.delete(policy)
    assert len(set(ids)) == 2
    purge()
    assert policies.id_of_file(uuid.UUID(int=1), "a" * 64) == ids[0]


def test_what_is_added_to_a_deleted_row_goes_with_it(graph: Graph) -> None:
    deletion.delete(graph)
    fill(started(graph))
    purge()
    assert of_runs() == Graph.all_rows.count() == 0


def test_what_belongs_to_a_row_is_purged_before_it() -> None:
    order = deletable_models()
    for before, after in ((Run, Graph), (Profile, Graph), (Comparison, Graph), (Graph, Project)):
        assert order.index(before) < order.index(after)


def test_a_look_deletes_nothing(client: Client, run: Run) -> None:
    for address in (f"/runs/{run.id}/", f"/graphs/{run.graph_id}/", f"/projects/{run.graph.project_id}/"):
        asked = client.get(f"{address}delete/").content.decode()
        assert "This cannot be undone." in asked and f'href="{address}">Keep it' in asked
    assert Run.objects.exists()


CARD: dict[str, api.Json] = {
    "families": [],
    "graphs": [],
    "clusters": [],
    "seconds": 1.0,
    "mean_gap": None,
    "worst_gap": None,
    "misfits": 0,
    "held_out": [],
}
