"""A page with many rows asks for the states of all of them at once."""

import uuid
from typing import Any

import pytest
from django.test import Client

from tests.webapp.scripted_engine import CLUSTER
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.graphs.models import Graph
from webapp.jobs.job import Job
from webapp.measuring.models import Profile
from webapp.pages.states import MOST_AT_ONCE
from webapp.policies.models import Policy
from webapp.runs.models import Run


def many_runs(graph: Graph) -> list[Run]:
    """As many as can be asked for at once."""
    request: dict[str, Any] = {"graph": graph, "cluster": CLUSTER, "method": "random", "settings": {}, "evaluations": 9}
    return Run.objects.bulk_create([Run(project=graph.project, **request, seed=seed) for seed in range(MOST_AT_ONCE)])


def test_all_kinds_in_one_answer(client: Client, run: Run) -> None:
    graph = run.graph
    Run.objects.filter(id=run.id).update(status=Run.RUNNING, evaluations_used=7, best_step_time_us=2.5)
    profile = Profile.objects.create(graph=graph, status=Profile.RUNNING, stage="tracing", stage_done=1, stage_total=3)
    policy = Policy.objects.create(name="Mine", stage="of a worker that was lost")
    comparison = Comparison.objects.create(
        graph=graph, cluster=CLUSTER, methods=["random"], evaluations=9, seconds=None, seeds=1
    )
    ComparedRun.objects.create(comparison=comparison, run=run)
    jobs: dict[str, Job | Comparison] = {"graph": graph, "profile": profile, "policy": policy, "run": run}
    jobs["comparison"] = comparison
    answer = client.get("/states.json", {kind: job.id.hex for kind, job in jobs.items()}).json()
    assert {kind: list(states) for kind, states in answer.items()} == {kind: [job.id.hex] for kind, job in jobs.items()}
    of_run = {"status": "running", "error": "", "evaluations_used": 7, "best_step_time_us": 2.5}
    assert answer["run"][run.id.hex] == of_run
    assert answer["profile"][profile.id.hex] == {
        "status": "running",
        "stage": "tracing",
        "done": 1,
        "total": 3,
        "error": "",
    }
    assert answer["policy"][policy.id.hex]["stage"] == ""
    assert answer["comparison"][comparison.id.hex]["stage"] == "0 of 1 ended"


def test_a_full_page_costs_a_query_a_kind(client: Client, ready_graph: Graph, django_assert_num_queries: Any) -> None:
    ids = [run.id.hex for run in many_runs(ready_graph)]
    with django_assert_num_queries(1):
        answer = client.get("/states.json", {"run": ",".join(ids)})
    assert set(answer.json()["run"]) == set(ids)
    assert len(answer.request["QUERY_STRING"].replace("%2C", ",")) < 8000


def test_what_was_deleted_has_no_state(client: Client, run: Run) -> None:
    other = uuid.uuid4()
    answer = client.get("/states.json", {"run": f"{run.id.hex},{other.hex}", "graph": other.hex}).json()
    assert (list(answer["run"]), answer["graph"]) == ([run.id.hex], {})
    assert client.get("/states.json").json() == {}


ONE = uuid.UUID(int=1).hex
BAD = [
    ({"run": "me"}, {"run": ["run: 'me'; allowed: ids with commas between"]}),
    ({"graph": f"{ONE},"}, {"graph": ["graph: ''; allowed: ids with commas between"]}),
    ({"run": ",".join([ONE] * 201)}, {"": ["states.json: 201 ids; allowed: at most 200 at once"]}),
    ({"run": ",".join([ONE] * 200), "policy": ONE}, {"": ["states.json: 201 ids; allowed: at most 200 at once"]}),
]


@pytest.mark.parametrize(("asked", "errors"), BAD)
def test_nonsense_is_a_sentence(client: Client, asked: dict[str, str], errors: dict[str, list[str]]) -> None:
    answer = client.get("/states.json", asked, headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["errors"]) == (400, errors)
