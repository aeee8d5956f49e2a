"""Fields that no form shows change nothing: who started something, whose it is, what its state and rights are."""

from typing import Any

import pytest
from django.apps import apps
from django.db.models import Model
from django.test import Client

from tests.webapp.access.addresses import all_addresses
from tests.webapp.access.asking import values_of
from tests.webapp.access.belongings import Belongings, belongings_of
from tests.webapp.access.people import PASSWORD, Team, client_of, log_in, team_of
from tests.webapp.access.table import FIELDS, TABLE
from webapp.accounts.models import ApiToken, User
from webapp.accounts.visitor import of_user
from webapp.graphs.models import Graph
from webapp.projects.models import Membership, Project
from webapp.runs.models import Run

JSON = {"accept": "application/json"}
RUN = {"cluster": "2xK80", "method": "heft", "evaluations": "9", "seed": "0"}
OWNED = {"project_id", "graph_id", "started_by_id", "user_id", "is_operator", "is_active", "digest", "is_published"}
OWNED |= {"open_to_all", "password", "token_id", "secret_salt", "source", "scope", "ending", "last_used_at", "id"}
TARGETS = [address for address in all_addresses() if TABLE[address.name][1] is not None]
MAY_CHANGE = {
    "members:open": {"open_to_all"},
    "policies:publish": {"is_published"},
    "hooks:secret": {"secret_salt"},
}
"""name of an address → what it is there to change"""


@pytest.fixture
def others(rows: Belongings, prepared_blob: bytes) -> Belongings:
    """Another team's."""
    team = team_of(Project.objects.create(name="Wombat project"), "Wombat")
    return belongings_of(team.project, prepared_blob, "Wombat", of_user(team.owner))


def hostile(team: Team, others: Belongings) -> dict[str, object]:
    """What somebody would like to set."""
    ids = {name: str(value) for name, value in others.ids().items()}
    rights = {"is_operator": "on", "is_staff": "on", "is_superuser": "on", "is_active": "", "role": "owner"}
    rights |= {"scope": "admin", "open_to_all": "on", "is_published": "on", "may_measure": "on"}
    whose = {"project": ids["project_id"], "graph": ids["graph_id"], "user": str(team.stranger.id)}
    whose |= {"user_id": str(team.stranger.id), "started_by": str(team.stranger.id), "owner": str(team.stranger.id)}
    state = {"status": "done", "digest": "0" * 64, "id": ids["run_id"], "pk": ids["run_id"], "deleted_at": "2030-01-01"}
    state |= {"created_at": "2001-01-01", "claim": ids["run_id"], "attempts": "99", "source": "default", "error": "x"}
    return {**ids, **rights, **whose, **state, "password": "stolen", "secret_salt": "x", "worker": "x"}


def owned_columns() -> dict[tuple[str, str], dict[str, Any]]:
    """Kind and id of each row → its columns of that kind."""
    found = {}
    for model in apps.get_models():
        columns = [field.attname for field in model._meta.concrete_fields if field.attname in OWNED]
        if model._meta.app_label in ("accounts", "contenttypes", "sessions", "axes", "usersessions", "auth", "admin"):
            columns = columns if model in (User, ApiToken) else []
        for row in model._base_manager.all() if columns else ():
            found[model._meta.label, str(row.pk)] = {name: getattr(row, name) for name in columns}
    return found


def test_no_form_sets_what_it_does_not_show(team: Team, rows: Belongings, others: Belongings) -> None:
    """Each form of a page, as an owner, with all of it at once, beside its own fields."""
    client: Any = client_of(team.owner)
    cookies = client.cookies.copy()
    values = {**values_of(rows), "user_id": team.viewer.id, "token_id": rows.run.id, "session_number": 1}
    values |= {"name": "placement.json", "token": rows.tokens["run"]}
    before, changed = owned_columns(), {}
    for address in TARGETS:
        if address.name.startswith("accounts:") or address.name in ("members:list", "members:remove"):
            continue
        client.cookies = cookies.copy()
        client.post(address.filled(values), {**hostile(team, others), **FIELDS.get(address.name, {})}, headers=JSON)
        now = owned_columns()
        for key, columns in before.items():
            allowed = MAY_CHANGE.get(address.name, set())
            other = {name for name, value in columns.items() if key in now and now[key][name] != value} - allowed
            if other:
                changed[address.name, key[0]] = other
        before = {**before, **now}
    assert changed == {}


def columns_of_new(model: type[Model], before: set[Any]) -> Any:
    """The row that is new."""
    [row] = [row for row in model._base_manager.all() if row.pk not in before]
    return row


def test_a_new_row_belongs_to_who_made_it_where_they_made_it(team: Team, rows: Belongings, others: Belongings) -> None:
    client, extra = client_of(team.editor), hostile(team, others)
    runs = set(Run._base_manager.values_list("pk", flat=True))
    assert client.post(f"/graphs/{rows.graph.id}/runs/", {**extra, **RUN}).status_code == 302
    run = columns_of_new(Run, runs)
    assert (run.graph, run.project, run.started_by) == (rows.graph, rows.project, team.editor)
    assert (run.status, run.claim, run.attempts, run.error) == (Run.QUEUED, None, 0, "")
    graphs = set(Graph._base_manager.values_list("pk", flat=True))
    client.post(f"/projects/{rows.project.id}/samples/", {**extra, "sample": "inception_v3"})
    graph = columns_of_new(Graph, graphs)
    assert (graph.project, graph.started_by, graph.status) == (rows.project, team.editor, Graph.QUEUED)


def test_a_new_project_has_its_maker_as_its_owner_and_is_closed(
    team: Team, rows: Belongings, others: Belongings
) -> None:
    client_of(team.stranger).post("/projects/", {**hostile(team, others), "name": "mine", "user": str(team.owner.id)})
    project = Project.objects.get(name="mine")
    assert [(row.user, row.role) for row in project.memberships.all()] == [(team.stranger, Membership.OWNER)]
    assert (project.open_to_all, project.deleted_at) == (False, None)


def test_a_new_token_is_of_who_makes_it(team: Team, rows: Belongings, others: Belongings) -> None:
    fields = {**hostile(team, others), "name": "script", "scope": "read", "days": "30", "user": str(team.operator.id)}
    assert client_of(team.viewer).post("/account/tokens/", fields).status_code == 201
    token = ApiToken.objects.get()
    assert (token.user, token.scope) == (team.viewer, "read")
    assert token.digest != "0" * 64 and token.expires_at is not None


@pytest.mark.parametrize("how", ["log-in", "password"])
def test_nobody_becomes_an_operator_by_the_way(how: str, team: Team, rows: Belongings, others: Belongings) -> None:
    extra, client = hostile(team, others), client_of(team.owner)
    if how == "log-in":
        log_in(Client(), team.owner.username)
        Client().post("/accounts/log-in/", {**extra, "username": team.owner.username, "password": PASSWORD})
    else:
        new = "a horse of no colour at all"
        client.post(
            "/accounts/password/", {**extra, "old_password": PASSWORD, "new_password1": new, "new_password2": new}
        )
    team.owner.refresh_from_db()
    assert (team.owner.is_operator, team.owner.is_active) == (False, True)


def test_an_editor_makes_nobody_an_owner(team: Team) -> None:
    client, place = client_of(team.editor), f"/projects/{team.project.id}/members/"
    assert client.post(place, {"username": team.editor.username, "role": "owner"}).status_code == 403
    assert client_of(team.owner).post(place, {"username": team.editor.username, "role": "operator"}).status_code == 400
    assert Membership.objects.get(user=team.editor).role == Membership.EDITOR
