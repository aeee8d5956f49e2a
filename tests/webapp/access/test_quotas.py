"""What a user may use at most, through the forms of the pages: the sentence, and nothing is stored."""

import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from engine import api
from tests.engine.plans.layered_step import step
from tests.webapp.access.asking import bearer, stored
from tests.webapp.access.belongings import Belongings, graph_of
from tests.webapp.access.people import Team, client_of, team_of
from tests.webapp.graph_files import graphdef
from tests.webapp.plans.planned import CLUSTER_TEXT
from tests.webapp.run_rows import answered, searched, started
from tests.webapp.uploads import upload
from webapp.accounts.models import Quota, User
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.jobs import deletion
from webapp.plans.models import PlanSearch
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.models import Run

JSON = {"accept": "application/json"}
ASK = "ask an operator for more"
RUN = {"cluster": "2xK80", "method": "heft", "evaluations": "9", "seed": "0"}
COMPARISON = {"cluster": "2xK80", "methods": ["heft", "random"], "seeds": "2", "evaluations": "9"}
PLAN = {"cluster": CLUSTER_TEXT, "batch": "8", "seconds": "1"}
TRAINING = {"name": "new", "clusters": "2xK80", "families": ["nmt"], "seconds": "60", "seed": "0"}


def limit(user: User | None, **columns: object) -> None:
    """Give them limits."""
    Quota.objects.update_or_create(user=user, defaults=columns)


@pytest.fixture(scope="module")
def step_blob(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A training step that says of how many samples it is, read."""
    path = tmp_path_factory.mktemp("step") / "step.json"
    path.write_text(json.dumps(step(1)))
    return api.prepare(path, ".json", lambda *_: None, api.Limits(), groups=None).to_bytes()


@pytest.fixture
def planned(rows: Belongings, step_blob: bytes) -> Graph:
    """A graph of the team for which plans can be searched."""
    return graph_of(rows.project, step_blob, "planned")


@pytest.fixture
def client(team: Team) -> Client:
    """The editor's."""
    return client_of(team.editor)


def refusal(answer: Any, before: Mapping[str, int]) -> str:
    """The one sentence of a refusal, after which nothing is stored."""
    assert answer.status_code == 403, (answer.status_code, answer.content[:300])
    assert stored() == before
    [[sentence]] = answer.json()["errors"].values()
    return str(sentence)


@pytest.mark.slow
def test_uploads_of_a_day(client: Client, team: Team) -> None:
    limit(team.editor, uploads_a_day=2)
    for name in ("one.pb", "two.pb"):
        assert upload(client, team.project, name, graphdef()).status_code == 302
    before = stored()
    answer = client.post(f"/projects/{team.project.id}/samples/", {"sample": "inception_v3"}, headers=JSON)
    assert refusal(answer, before) == f"3 graphs added in 24 hours; allowed: at most 2; or {ASK}"
    answer = upload(client, team.project, "three.pb", graphdef(), **JSON)
    assert refusal(answer, before).endswith(ASK)
    files = [path for path in (Graph.objects.first() or Graph()).source_path.parent.iterdir() if path.is_file()]
    assert len(files) == 2


@pytest.mark.slow
def test_the_disk(client: Client, team: Team) -> None:
    limit(team.editor, disk_bytes=len(graphdef()) + 10)
    upload(client, team.project, "one.pb", graphdef())
    before = stored()
    assert refusal(upload(client, team.project, "two.pb", graphdef(), **JSON), before).endswith(
        f"together; delete some, or {ASK}"
    )
    again = client.post(f"/graphs/{Graph.objects.get().id}/again/", {"groups": "2"}, headers=JSON)
    assert again.status_code == 403
    deletion.delete(Graph.objects.get())
    assert upload(client, team.project, "two.pb", graphdef()).status_code == 302


@pytest.mark.parametrize(
    ("kind", "fields"), [("runs", RUN), ("compare", COMPARISON), ("plan", PLAN)], ids=["run", "comparison", "plans"]
)
def test_runs_and_searches_at_once(
    kind: str, fields: dict[str, Any], client: Client, team: Team, rows: Belongings, planned: Graph
) -> None:
    """Comparisons count with each of their runs, and what is one too many stores none of them."""
    limit(team.editor, runs_at_once=3)
    place = f"/graphs/{planned.id if kind == 'plan' else rows.graph.id}/{kind}/"
    started(rows.graph, started_by=team.editor)
    searched(rows.graph, is_done=False)
    PlanSearch.objects.exclude(status=PlanSearch.DONE).update(started_by=team.editor)
    assert (
        client.post(place, fields if kind != "compare" else {**fields, "methods": ["heft"], "seeds": "1"}).status_code
        == 302
    )
    before = stored()
    sentence = refusal(client.post(place, fields, headers=JSON), before)
    assert sentence == f"4 runs at once; allowed: at most 3; or {ASK}"
    Run.objects.filter(started_by=team.editor).update(status=Run.DONE)
    PlanSearch.objects.update(status=PlanSearch.DONE)
    assert client.post(place, {**fields, "seeds": "1"}).status_code == 302
    assert Comparison.objects.count() == (3 if kind == "compare" else 1)


def test_a_run_that_goes_on_counts_too(client: Client, team: Team, rows: Belongings) -> None:
    limit(team.editor, runs_at_once=1)
    started(rows.graph, started_by=team.editor)
    groups = rows.groups
    fields = {"placement": json.dumps([0] * groups), "locked": "[]", "method": "local_search", "evaluations": "9"}
    [(_, methods), *_] = client.get(f"/runs/{rows.run.id}/").context["methods_from_a_start"]
    fields |= {"method": methods[0][0], "words": "w", "token": ""}
    before = stored()
    answer = client.post(f"/runs/{rows.run.id}/go-on/", fields, headers=JSON)
    assert "2 runs at once" in refusal(answer, before)


@pytest.mark.parametrize(("kind", "fields"), [("runs", RUN), ("compare", COMPARISON)], ids=["run", "comparison"])
def test_evaluations_of_a_run(kind: str, fields: dict[str, Any], client: Client, team: Team, rows: Belongings) -> None:
    limit(team.editor, evaluations_a_run=9)
    before = stored()
    answer = client.post(f"/graphs/{rows.graph.id}/{kind}/", {**fields, "evaluations": "10"}, headers=JSON)
    assert refusal(answer, before) == f"10 evaluations of one run; allowed: at most 9; or {ASK}"
    assert client.post(f"/graphs/{rows.graph.id}/{kind}/", fields).status_code == 302


@pytest.mark.parametrize(("kind", "fields"), [("runs", RUN), ("compare", COMPARISON), ("plan", PLAN)])
def test_seconds_of_a_run(
    kind: str, fields: dict[str, Any], client: Client, team: Team, rows: Belongings, planned: Graph
) -> None:
    limit(team.editor, seconds_a_run=5)
    place, before = f"/graphs/{planned.id if kind == 'plan' else rows.graph.id}/{kind}/", stored()
    asked = client.post(place, {**fields, "seconds": "6"}, headers=JSON)
    assert refusal(asked, before) == f"6 s for one run; allowed: at most 5 s; or {ASK}"
    if kind != "plan":
        without = client.post(place, {**fields, "seconds": ""}, headers=JSON)
        assert refusal(without, before) == f"no limit of time; allowed: at most 5 s; or {ASK}"
    assert client.post(place, {**fields, "seconds": "5"}).status_code == 302


def test_trainings_at_once(client: Client, team: Team) -> None:
    limit(team.editor, trainings_at_once=1)
    place = f"/policies/train/?project={team.project.id}"
    assert client.post(place, TRAINING).status_code == 302
    before = stored()
    answer = client.post(place, TRAINING, headers=JSON)
    assert refusal(answer, before) == f"2 trainings at once; allowed: at most 1; or {ASK}"
    assert client_of(team.owner).post(place, TRAINING).status_code == 302, "others have limits of their own"
    Policy.objects.update(status=Policy.DONE)
    assert client.post(place, TRAINING).status_code == 302


def test_whether_graphs_may_be_run_here(
    client: Client, team: Team, rows: Belongings, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(team.editor, may_measure=False)
    sentence = f"you may not run graphs on this machine; allowed: simulated runs; or {ASK}"
    before = stored()
    answer = client.post(f"/graphs/{rows.graph.id}/profiles/", {"consent": "on"}, headers=JSON)
    assert refusal(answer, before) == sentence
    run, _ = answered(rows.graph, cluster=api.cluster_to_json(api.parse_cluster("2xCPU")))
    monkeypatch.setattr("engine.api.most_processes", lambda: 2)
    before = stored()
    fields = {"consent": "on", "runs": [str(run.id)], "others": "8", "rounds": "1", "steps": "1"}
    answer = client.post(f"/graphs/{rows.graph.id}/measure/", fields, headers=JSON)
    assert refusal(answer, before) == sentence


def test_whoever_has_no_limits_of_their_own_has_everybody_s(client: Client, team: Team, rows: Belongings) -> None:
    limit(None, evaluations_a_run=5)
    limit(team.owner, evaluations_a_run=20)
    place = f"/graphs/{rows.graph.id}/runs/"
    assert client.post(place, RUN).status_code == 403
    assert client_of(team.owner).post(place, RUN).status_code == 302
    assert client_of(team.operator).post(place, RUN).status_code == 302, "operators have none"


def test_the_api_says_it_too(team: Team, rows: Belongings) -> None:
    limit(team.editor, evaluations_a_run=5)
    body = json.dumps({"cluster": "2xK80", "method": "heft", "evaluations": 9})
    place = f"/api/v1/graphs/{rows.graph.id}/runs"
    before = stored()
    headers = bearer(team.editor)
    before = stored()
    answer = Client().post(place, body, content_type="application/json", headers=headers)
    assert answer.status_code == 403
    assert answer.json()["error"]["message"] == f"9 evaluations of one run; allowed: at most 5; or {ASK}"
    assert stored() == before


@pytest.mark.usefixtures("log_that_is_emptied")
def test_two_at_the_same_time_are_not_one_too_many(transactional_db: None, local: object, prepared_blob: bytes) -> None:
    team = team_of(Project.objects.create(name="both"))
    graph = graph_of(team.project, prepared_blob, "both")
    limit(team.editor, runs_at_once=1)
    clients, together, answers = [client_of(team.editor) for _ in range(3)], threading.Barrier(3), []

    def start(client: Client) -> None:
        together.wait(timeout=30)
        answers.append(client.post(f"/graphs/{graph.id}/runs/", RUN, headers=JSON).status_code)
        connection.close()

    threads = [threading.Thread(target=start, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(answers) == [302, 403, 403]
    assert Run.objects.count() == 1
