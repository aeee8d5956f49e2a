"""Ids of another team in forms, bodies and queries get the answer of a row that is not there, and store nothing."""

import io
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.test import Client

from tests.engine.policies.small_policies import small_policy
from tests.webapp.access.asking import bearer, stored
from tests.webapp.access.belongings import Belongings, belongings_of
from tests.webapp.access.people import Team, client_of, team_of, without_form_tokens
from webapp.accounts.models import ApiToken, TokenScope
from webapp.accounts.visitor import of_user
from webapp.graphs.models import Graph
from webapp.projects.models import Project
from webapp.runs.models import Run

JSON = {"accept": "application/json"}
OTHERS = "Wombat"
RUN = {"cluster": "2xK80", "evaluations": "5", "seed": "0"}
TRAINING = {"name": "new", "clusters": "2xK80", "seconds": "9", "seed": "0"}


@pytest.fixture
def others(rows: Belongings, prepared_blob: bytes) -> Belongings:
    """What another team has; the graph has as many ops as the first team's."""
    team = team_of(Project.objects.create(name=f"{OTHERS} project"), OTHERS)
    theirs = belongings_of(team.project, prepared_blob, OTHERS, of_user(team.owner))
    for graph in (rows.graph, theirs.graph):
        Graph.objects.filter(id=graph.id).update(op_count=9)
    return theirs


def split(rows: Belongings) -> str:
    """A placement whose groups are where those of another one are."""
    return json.dumps([-1] * rows.groups)


Asked = Callable[[Client, Belongings, str], Any]


def post(pattern: str, field: str, more: Mapping[str, str] | None = None, value: str = "{}") -> Asked:
    """A form with the id in `field`. `pattern`: the address, with the names of the team's own rows."""

    def ask(client: Client, rows: Belongings, row_id: str) -> Any:
        fields = dict(more or {}) | {field: value.replace("{}", row_id)}
        fields = {name: split(rows) if text == "split" else text for name, text in fields.items()}
        return client.post(pattern.format(**rows.ids()), fields, headers=JSON)

    return ask


def get(pattern: str) -> Asked:
    """An address with the id as `{other}` in it."""
    return lambda client, rows, row_id: client.get(pattern.format(**rows.ids(), other=row_id), headers=JSON)


def post_to(pattern: str) -> Asked:
    """A POST to an address with the id as `{other}` in it."""
    return lambda client, rows, row_id: client.post(pattern.format(**rows.ids(), other=row_id), headers=JSON)


def upload_policy(client: Client, rows: Belongings, row_id: str) -> Any:
    file = io.BytesIO(small_policy().to_bytes())
    file.name = "policy.safetensors"
    return client.post("/policies/upload/", {"project": row_id, "file": file}, headers=JSON)


FORMS: dict[str, tuple[str, Asked]] = {
    "policy of a run": ("policy", post("/graphs/{graph_id}/runs/", "policy", {**RUN, "method": "placeto"})),
    "policy of a comparison": (
        "policy",
        post("/graphs/{graph_id}/compare/", "policy", {**RUN, "methods": "placeto", "seeds": "1"}),
    ),
    "project of a policy": ("project", upload_policy),
    "project of a training": ("project", post("/policies/train/?project={project_id}", "project", TRAINING)),
    "graphs of a training": ("graph", post("/policies/train/?project={project_id}", "graphs", TRAINING)),
    "held-out graphs": (
        "graph",
        post("/policies/train/?project={project_id}", "held_out", {**TRAINING, "families": "no-such"}),
    ),
    "project in the address": ("project", get("/policies/train/?project={other}")),
    "policy to train again": ("policy", get("/policies/train/?project={project_id}&like={other}")),
    "policy to train like": ("policy", post_to("/policies/train/?like={other}")),
    "second graph of plans": (
        "graph",
        post("/graphs/{graph_id}/plan/", "second", {"cluster": "2xK80", "batch": "64", "seconds": "1"}),
    ),
    "runs of a measurement": ("run", post("/graphs/{graph_id}/measure/", "runs", {"consent": "on", "rounds": "1"})),
    "search in the address": ("search", get("/graphs/{graph_id}/plan/?search={other}")),
    "comparison in the address": ("comparison", get("/graphs/{graph_id}/compare/?comparison={other}")),
    "run in the address of a comparison": ("run", get("/graphs/{graph_id}/compare/?run={other}")),
    "run in the address of a graph": ("run", get("/graphs/{graph_id}/?run={other}")),
    "other run in the explorer": ("run", get("/runs/{run_id}/others/{other}.json")),
    "run of a kept placement": ("run", get("/placements/{placement_id}/placement?run={other}")),
    "states of runs": ("run", get("/states.json?run={other}")),
    "delivery of another webhook": ("delivery", post_to("/hooks/{hook_id}/deliveries/{other}/again/")),
    **{
        f"{base} as the base of {what}": (
            "run" if base == "run" else "placement",
            post(
                address,
                "base",
                {"placement": "split", "name": "x", "method": "hillclimb", "evaluations": "9"} | more,
                "run-{}" if base == "run" else "{}",
            ),
        )
        for base in ("run", "placement")
        for what, address, more in (
            ("a step", "/runs/{run_id}/step", {}),
            ("gains", "/runs/{run_id}/gains.json", {}),
            ("a kept one", "/runs/{run_id}/placements/", {}),
            ("a file", "/runs/{run_id}/hand/placement.json", {}),
            ("an export", "/runs/{run_id}/exports/groups.csv", {}),
            ("a run", "/runs/{run_id}/go-on/", {"locked": "[]", "words": "w", "token": ""}),
        )
    },
}
"""what takes an id → the kind of row, and the request"""


def as_said(answer: Any, row_id: str) -> tuple[int, str, str]:
    """What the answer says, without the id itself."""
    text = "" if answer.streaming else without_form_tokens(answer.content.decode("utf-8", "replace"))
    masked = text.replace(row_id, "ID").replace(row_id.replace("-", ""), "ID")
    return answer.status_code, masked, answer.headers.get("Location", "").replace(row_id, "ID")


@pytest.mark.parametrize("what", FORMS)
def test_an_id_of_others_is_one_that_is_not_there(what: str, team: Team, rows: Belongings, others: Belongings) -> None:
    kind, ask = FORMS[what]
    client = client_of(team.owner)
    theirs, nowhere = str(getattr(others, kind).id), str(uuid.uuid4())
    before = stored()
    missing = as_said(ask(client, rows, nowhere), nowhere)
    assert as_said(ask(client, rows, theirs), theirs) == missing
    assert OTHERS not in missing[1]
    assert stored() == before or missing[0] in (200, 302), "a refused request stores nothing"
    assert stored() == before


@pytest.mark.parametrize("what", [what for what in FORMS if what not in ("project of a training",)])
def test_the_same_request_with_an_own_id_is_another_one(
    what: str, team: Team, rows: Belongings, others: Belongings
) -> None:
    """So the test above asks what it means to ask: the server does look at the id."""
    kind, ask = FORMS[what]
    client = client_of(team.owner)
    own, nowhere = str(getattr(rows, kind).id), str(uuid.uuid4())
    if kind == "run":
        own = str(rows.ids()["other_id"]) if "other" in what or "base" in what else own
    found = as_said(ask(client, rows, own), own)
    assert found != as_said(ask(client, rows, nowhere), nowhere) or what in SAME_ANYWAY


SAME_ANYWAY = {
    "policy to train like",  # asks for the project first
    "policy to train again",
    "second graph of plans",  # a graph is no second reading of itself
    "runs of a measurement",  # on devices that this machine lacks
    "held-out graphs",
}


def test_what_belongs_to_an_account_is_its_own(team: Team) -> None:
    """Tokens and sessions of others, and members of other projects."""
    others = team_of(Project.objects.create(name="other"), OTHERS)
    token, _ = ApiToken.make(others.owner, "theirs", TokenScope.READ)
    theirs = client_of(others.owner)
    from allauth.usersessions.models import UserSession

    session = UserSession.objects.get(user=others.owner)
    client = client_of(team.owner)
    assert client.post(f"/account/tokens/{token.id}/revoke/").status_code == 404
    assert client.post(f"/account/sessions/{session.pk}/end/").status_code == 404
    assert client.post(f"/projects/{team.project.id}/members/{others.viewer.id}/remove/").status_code == 404
    assert client.post(f"/projects/{others.project.id}/members/{others.viewer.id}/remove/").status_code == 404
    assert theirs.get("/account/").status_code == 200
    assert ApiToken.objects.filter(id=token.id).exists()
    assert others.project.memberships.count() == 3


API: dict[str, tuple[str, str, Mapping[str, Any]]] = {
    "policy of a run": ("policy", "/graphs/{graph_id}/runs", {**RUN, "evaluations": 5, "seed": 0, "policy": "ID"}),
    "project of a training": ("project", "/policies/train", {"project_id": "ID", "name": "n", "clusters": "2xK80"}),
    "graphs of a training": (
        "graph",
        "/policies/train",
        {"project_id": "{project_id}", "name": "n", "clusters": "2xK80", "graphs": ["ID"]},
    ),
    "second graph of plans": (
        "graph",
        "/graphs/{graph_id}/plans",
        {"cluster": "2xK80", "batch": 64, "seconds": 1, "second": "ID"},
    ),
    "runs of a measurement": ("run", "/graphs/{graph_id}/measurements", {"consent": True, "runs": ["ID"]}),
    "placement as a base": ("placement", "/runs/{run_id}/evaluate", {"placement": "split", "base": "ID"}),
    "run as a base": ("run", "/runs/{run_id}/timeline", {"placement": "split", "base": "run-ID"}),
}


@pytest.mark.parametrize("what", API)
def test_the_api_takes_no_id_of_others_either(what: str, team: Team, rows: Belongings, others: Belongings) -> None:
    kind, pattern, body = API[what]
    headers = bearer(team.owner)
    before = stored()

    def asked(row_id: str) -> tuple[int, str, str]:
        text = json.dumps(body).replace("ID", row_id).replace('"split"', split(rows))
        for name, value in rows.ids().items():
            text = text.replace("{" + name + "}", str(value))
        place = "/api/v1" + pattern.format(**rows.ids())
        return as_said(Client().post(place, text, content_type="application/json", headers=headers), row_id)

    theirs, nowhere = asked(str(getattr(others, kind).id)), asked(str(uuid.uuid4()))
    assert theirs == nowhere
    assert nowhere[0] in (400, 404), nowhere
    assert stored() == before


def test_two_ids_in_an_address_are_both_looked_at(team: Team, rows: Belongings, others: Belongings) -> None:
    """An own run beside another team's, and the other way round."""
    client = client_of(team.owner)
    own, theirs = rows.ids(), others.ids()
    for first, second in ((own["run_id"], theirs["other_id"]), (theirs["run_id"], own["other_id"])):
        assert client.get(f"/runs/{first}/others/{second}.json").status_code == 404
    for hook, delivery in ((own["hook_id"], theirs["delivery_id"]), (theirs["hook_id"], own["delivery_id"])):
        assert client.post(f"/hooks/{hook}/deliveries/{delivery}/again/").status_code == 404
    assert Run.objects.count() == 6
