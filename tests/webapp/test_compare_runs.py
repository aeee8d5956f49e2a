"""Other runs to compare a run with: of the same graph on the same cluster, with a placement."""

import uuid
from typing import Any

import pytest
from django.test import Client

from tests.webapp.scripted_engine import CLUSTER
from webapp.graphs.models import Graph
from webapp.pages.explorer import others
from webapp.runs.models import Answer, Run


def add_run(graph: Graph, best_us: float | None, **fields: Any) -> Run:
    fields = {"cluster": CLUSTER, "method": "heft", "settings": {}, "evaluations": 9, "seed": 0, **fields}
    run = Run.objects.create(graph=graph, status=Run.DONE, best_step_time_us=best_us, **fields)
    if best_us is not None:
        Answer.objects.create(run=run, step_time_us=best_us, device_of_group=[0, 1])
    return run


@pytest.fixture
def run(real_graph: Graph) -> Run:
    return add_run(real_graph, 50.0)


def listed(client: Client, run: Run) -> dict[str, Any]:
    answer = client.get(f"/runs/{run.id}/others.json")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def test_the_other_runs_on_the_cluster_are_listed_with_the_fastest_first(client: Client, run: Run) -> None:
    slow, fast = add_run(run.graph, 90.0, seed=3, name="Night shift"), add_run(run.graph, 40.0, method="random")
    add_run(run.graph, None)
    add_run(run.graph, 10.0, cluster={**CLUSTER, "op_rest_us": 1.0})
    found = listed(client, run)
    assert [row["id"] for row in found["runs"]] == [str(fast.id), str(slow.id)]
    words = {"method": "heft", "label": "HEFT", "name": "Night shift"}
    assert found["runs"][1] == {"id": str(slow.id), **words, "seed": 3, "step_time_us": 90.0}
    assert found["count"] == 2


def test_a_long_list_holds_the_fastest_and_says_how_many_there_are(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(others, "MOST_LISTED", 2)
    for best_us in (3.0, 2.0, 1.0):
        add_run(run.graph, best_us)
    found = listed(client, run)
    assert [row["step_time_us"] for row in found["runs"]] == [1.0, 2.0]
    assert found["count"] == 3


def test_the_placement_of_another_run_is_by_group(client: Client, run: Run) -> None:
    other = add_run(run.graph, 40.0)
    found = client.get(f"/runs/{run.id}/others/{other.id}.json").json()
    assert (found["placement"], found["label"], found["step_time_us"]) == ([0, 1], "HEFT", 40.0)


def test_a_run_that_cannot_be_compared_is_404_with_a_sentence(client: Client, run: Run) -> None:
    elsewhere = add_run(run.graph, 10.0, cluster={**CLUSTER, "op_rest_us": 1.0})
    without = add_run(run.graph, None)
    for other_id in (elsewhere.id, without.id, run.id, uuid.uuid4()):
        answer = client.get(f"/runs/{run.id}/others/{other_id}.json", headers={"accept": "application/json"})
        assert answer.status_code == 404
        assert "no such run on this cluster" in answer.content.decode()
