"""What a client asks of runs beside their row: all of a project, why nothing fits, and the page as a file."""

from pathlib import Path

import pytest
from django.test import Client

from tests.engine.policies.small_policies import small_policy
from tests.webapp.run_rows import answered, started
from webapp.graphs.models import Graph
from webapp.policies import default_policy
from webapp.projects.models import Project
from webapp.runs.models import Run

API = "/api/v1"


def test_the_runs_of_a_project_are_those_of_its_graphs(client: Client, ready_graph: Graph) -> None:
    other = Project.objects.create(name="another")
    older, newer = started(ready_graph), started(ready_graph)
    page = client.get(f"{API}/projects/{ready_graph.project_id}/runs?limit=1").json()
    assert [row["id"] for row in page["items"]] == [str(newer.id)]
    rest = client.get(f"{API}/projects/{ready_graph.project_id}/runs", {"after": page["next"]}).json()
    assert ([row["id"] for row in rest["items"]], rest["next"]) == ([str(older.id)], None)
    assert client.get(f"{API}/projects/{other.id}/runs").json() == {"items": [], "next": None}


def test_the_runs_of_no_project_are_not_found(client: Client, run: Run) -> None:
    assert client.get(f"{API}/projects/{run.id}/runs").status_code == 404


def test_a_run_without_a_placement_that_fits_says_why(client: Client, run: Run) -> None:
    verdict = {"kind": "infeasible", "sentence": "Nothing fits."}
    Run.objects.filter(id=run.id).update(status=Run.FAILED, error="nothing fits", verdict=verdict)
    assert client.get(f"{API}/runs/{run.id}").json()["verdict"] == verdict


def test_the_page_of_a_run_is_a_file(client: Client, real_graph: Graph) -> None:
    run, _ = answered(real_graph, status=Run.DONE)
    answer = client.get(f"{API}/runs/{run.id}/files/run.html")
    assert answer.status_code == 200
    assert b"Content-Security-Policy" in answer.content and b"file-data" in answer.content


def test_a_run_that_works_has_no_such_page_yet(client: Client, real_graph: Graph) -> None:
    run, _ = answered(real_graph, status=Run.RUNNING)
    answer = client.get(f"{API}/runs/{run.id}/files/run.html")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("fields", "has_policy"), [({}, True), ({"method": "heft"}, False), ({"method": "auto", "policy": ""}, False)]
)
def test_the_release_s_policy_goes_to_methods_that_take_one(
    client: Client, real_graph: Graph, release_policy: Path, fields: dict[str, str], has_policy: bool
) -> None:
    release_policy.write_bytes(small_policy().to_bytes())
    default_policy.bring_up_to_date()
    body = {"cluster": "2xK80", "evaluations": 9, **fields}
    answer = client.post(f"{API}/graphs/{real_graph.id}/runs", body, content_type="application/json")
    assert answer.status_code == 202, answer.json()
    assert (answer.json()["policy"] is not None) == has_policy


def test_devices_without_room_are_told_from_nonsense(client: Client, ready_graph: Graph) -> None:
    Graph.objects.filter(id=ready_graph.id).update(summary={"groups": 3, "ops": 3, "persistent_bytes": 10**12})
    for cluster, status in (("2xK80", 422), ("2xZZZ", 400)):
        body = {"cluster": cluster, "method": "heft"}
        answer = client.post(f"{API}/graphs/{ready_graph.id}/runs", body, content_type="application/json")
        assert (answer.status_code, answer.json()["error"]["field"]) == (status, "cluster")
    assert not Run.objects.exists()
