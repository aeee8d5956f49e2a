"""A person deletes a run, a graph, a project: rows and files go together."""

from pathlib import Path

from django.test import Client

from webapp.graphs.models import Graph, PreparedBlob
from webapp.jobs.models import Event, SavedState
from webapp.projects.models import Project
from webapp.runs.models import Answer, Run


def fill(run: Run) -> None:
    """Everything that a run can have."""
    Event.objects.create(job_id=run.id, seq=1, type="started", data="{}")
    SavedState.objects.create(job_id=run.id, seq=1, state=b"state")
    Answer.objects.create(run=run, step_time_us=1.0, device_of_group=[0])


def of_runs() -> int:
    """Rows that belong to runs."""
    return sum(model._default_manager.count() for model in (Run, Event, SavedState, Answer))


def test_a_run_goes_with_its_events_and_leaves_its_graph(client: Client, run: Run) -> None:
    fill(run)
    response = client.post(f"/runs/{run.id}/delete/")
    assert response.headers["Location"] == f"/graphs/{run.graph_id}/"
    assert of_runs() == 0
    assert Graph.objects.filter(id=run.graph_id).exists()
    assert client.get(f"/runs/{run.id}/").status_code == 404


def test_a_graph_goes_with_its_file_and_its_runs(client: Client, run: Run) -> None:
    fill(run)
    path = run.graph.source_path
    assert path.exists()
    response = client.post(f"/graphs/{run.graph_id}/delete/")
    assert response.headers["Location"] == f"/projects/{run.graph.project_id}/"
    assert not path.exists()
    assert of_runs() == 0
    assert not PreparedBlob.objects.exists()


def test_a_project_goes_with_all_that_is_in_it(client: Client, run: Run, data_folder: Path) -> None:
    fill(run)
    other = Project.objects.create(name="Another")
    response = client.post(f"/projects/{run.graph.project_id}/delete/")
    assert response.headers["Location"] == "/"
    assert [path for path in data_folder.rglob("*") if path.is_file()] == []
    assert of_runs() == Graph.objects.count() == 0
    assert list(Project.objects.all()) == [other]


def test_a_look_deletes_nothing(client: Client, run: Run) -> None:
    for address in (f"/runs/{run.id}/", f"/graphs/{run.graph_id}/", f"/projects/{run.graph.project_id}/"):
        assert client.get(f"{address}delete/").status_code == 405
    assert Run.objects.exists()
