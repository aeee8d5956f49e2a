"""A script calls the API with a token: its user's rights count, as far as its scope lets them."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tests.webapp.api.cast import Cast
from tests.webapp.api.people import member, with_token
from webapp.accounts.models import ApiToken, AuditEntry, Quota, User
from webapp.api.models import KeptAnswer
from webapp.projects.models import Membership, Project

JSON: dict[str, Any] = {"content_type": "application/json"}
RUN = {"cluster": "2xK80", "method": "heft"}


@pytest.fixture(autouse=True)
def with_accounts(settings: Settings) -> None:
    """Users have passwords, and scripts tokens."""
    settings.ACCOUNTS = "local"


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer plx_unknown", "Basic YTpi", "plx_unknown"])
def test_without_a_valid_token_nothing_is_answered(header: str, cast: Cast) -> None:
    client = Client(headers={"Authorization": header} if header else {})
    answer = client.get(f"/api/v1/runs/{cast.ended['run_id']}")
    assert answer.status_code == 401 and answer.json()["error"]["code"] == "unauthorized"
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_session_of_a_browser_does_not_count(cast: Cast) -> None:
    User.objects.create_user("browser", password="correct horse battery")
    client = Client()
    client.post("/accounts/log-in/", {"username": "browser", "password": "correct horse battery"})
    assert client.get("/").status_code == 200
    assert client.get("/api/v1/me").status_code == 401


def test_me_says_who_asks_and_with_which_scope() -> None:
    found = member(None, "Ann", scope="read").get("/api/v1/me").json()
    assert (found["user"], found["scope"], found["accounts"], found["is_operator"]) == ("Ann", "read", "local", False)


def test_a_stranger_gets_404_and_empty_lists(cast: Cast) -> None:
    stranger = member(None, "stranger")
    for kind, key in (("projects", "project_id"), ("graphs", "graph_id"), ("runs", "run_id"), ("uploads", "upload_id")):
        assert stranger.get(f"/api/v1/{kind}/{cast.ended[key]}").status_code == 404
        assert stranger.delete(f"/api/v1/{kind}/{cast.ended[key]}").status_code == 404
    assert stranger.get("/api/v1/projects").json() == {"items": [], "next": None}


def test_a_viewer_looks_and_evaluates_but_starts_nothing(project: Project, cast: Cast) -> None:
    viewer = member(project, "viewer", Membership.VIEWER)
    graph, run = cast.ended["graph_id"], cast.ended["run_id"]
    assert viewer.get(f"/api/v1/graphs/{graph}").status_code == 200
    assert viewer.get(f"/api/v1/projects/{project.id}").json()["role"] == "viewer"
    placement = {"placement": [0] * cast.groups}
    assert viewer.post(f"/api/v1/runs/{run}/evaluate", placement, **JSON).status_code == 200
    refused = viewer.post(f"/api/v1/graphs/{graph}/runs", RUN, **JSON)
    assert refused.status_code == 403 and refused.json()["error"]["code"] == "forbidden"
    assert viewer.put(f"/api/v1/projects/{project.id}/members/viewer", {"role": "owner"}, **JSON).status_code == 403


def test_an_editor_starts_runs_but_owners_alone_choose_members_and_delete(project: Project, cast: Cast) -> None:
    editor = member(project, "editor", Membership.EDITOR)
    owner = member(project, "owner", Membership.OWNER)
    started = editor.post(f"/api/v1/graphs/{cast.ended['graph_id']}/runs", RUN, **JSON)
    assert started.status_code == 202
    assert AuditEntry.objects.filter(action="api:start_run", username="editor").count() == 1
    assert editor.delete(f"/api/v1/projects/{project.id}").status_code == 403
    members = f"/api/v1/projects/{project.id}/members"
    assert editor.put(f"{members}/editor", {"role": "owner"}, **JSON).status_code == 403
    assert owner.put(f"{members}/Editor", {"role": "viewer"}, **JSON).json() == {"username": "editor", "role": "viewer"}
    assert [row["role"] for row in owner.get(members).json()["items"]] == ["viewer", "owner"]
    assert owner.put(f"{members}/owner", {"role": "viewer"}, **JSON).status_code == 400
    assert owner.delete(f"{members}/nobody").status_code == 404
    assert owner.delete(f"{members}/editor").status_code == 204
    assert editor.get(f"/api/v1/projects/{project.id}").status_code == 404
    assert owner.delete(f"/api/v1/projects/{project.id}").status_code == 204


@pytest.mark.parametrize(("scope", "statuses"), [("read", (200, 403, 403)), ("write", (200, 202, 403))])
def test_a_scope_lowers_what_an_owner_may(scope: str, statuses: tuple[int, ...], project: Project, cast: Cast) -> None:
    owner = member(project, "owner", Membership.OWNER, scope)
    graph = f"/api/v1/graphs/{cast.ended['graph_id']}"
    answers = (
        owner.get(graph),
        owner.post(f"{graph}/runs", RUN, **JSON),
        owner.delete(f"/api/v1/projects/{project.id}"),
    )
    assert tuple(answer.status_code for answer in answers) == statuses


def test_an_expired_or_revoked_token_opens_nothing(project: Project) -> None:
    user = User.objects.create_user("Ann")
    late = with_token(user, expires_at=timezone.now() - timedelta(seconds=1))
    revoked = with_token(user)
    assert revoked.get("/api/v1/me").status_code == 200
    ApiToken.objects.filter(expires_at=None).delete()
    assert [client.get("/api/v1/me").status_code for client in (late, revoked)] == [401, 401]


def test_who_makes_a_project_owns_it_and_others_do_not_see_it() -> None:
    ann, ben = member(None, "ann"), member(None, "ben")
    made = ann.post("/api/v1/projects", {"name": "hers"}, **JSON).json()
    assert made["role"] == "owner"
    assert ben.get(f"/api/v1/projects/{made['id']}").status_code == 404
    assert ann.put(f"/api/v1/projects/{made['id']}/open-to-all", {"open_to_all": True}, **JSON).status_code == 200
    assert ben.get(f"/api/v1/projects/{made['id']}").json()["role"] == "viewer"


def test_two_users_may_have_the_same_key(cast: Cast) -> None:
    ann, ben = member(None, "ann"), member(None, "ben")
    made = [
        each.post("/api/v1/projects", {"name": "x"}, headers={"Idempotency-Key": "k"}, **JSON) for each in (ann, ben)
    ]
    assert [answer.status_code for answer in made] == [201, 201]
    assert made[0].json()["id"] != made[1].json()["id"]


def test_a_policy_belongs_to_a_project_in_which_one_may_add(project: Project, cast: Cast) -> None:
    editor, stranger = member(project, "editor", Membership.EDITOR), member(None, "stranger")
    training = {"name": "new", "graphs": [str(cast.ended["graph_id"])], "clusters": "2xK80"}
    assert editor.post("/api/v1/policies/train", training, **JSON).status_code == 400
    training["project_id"] = str(project.id)
    refused = stranger.post("/api/v1/policies/train", training, **JSON)
    assert refused.status_code == 400 and refused.json()["error"]["field"] == "project_id"
    made = editor.post("/api/v1/policies/train", training, **JSON)
    assert made.status_code == 202 and made.json()["project_id"] == str(project.id)
    assert stranger.get(made.headers["Location"]).status_code == 404
    assert [row["id"] for row in editor.get("/api/v1/policies?limit=1").json()["items"]] == [made.json()["id"]]


def test_the_description_and_its_page_are_open(client: Client) -> None:
    assert client.get("/api/v1/openapi.json").status_code == 200
    assert client.get("/api/v1/docs").status_code == 200


def test_links_and_webhooks_need_the_scope_admin(project: Project, cast: Cast) -> None:
    run, hook = f"/api/v1/runs/{cast.ended['run_id']}/links", f"/api/v1/webhooks/{cast.ended['hook_id']}"
    statuses = []
    for scope in ("write", "admin"):
        editor = member(project, f"editor-{scope}", Membership.EDITOR, scope)
        answers = (editor.get(run), editor.post(run, {}, **JSON), editor.get(hook), editor.delete(hook))
        statuses.append([answer.status_code for answer in answers])
    assert statuses == [[403, 403, 403, 403], [200, 201, 200, 204]]


def test_a_link_shows_its_page_until_it_is_revoked(project: Project, cast: Cast, client: Client) -> None:
    editor = member(project, "editor", Membership.EDITOR)
    address = f"/api/v1/runs/{cast.ended['run_id']}/links"
    url = editor.post(address, {"days": "7", "query": "show=best"}, **JSON).json()["url"]
    assert url.startswith("http://testserver/shared/") and url.endswith("?show=best")
    assert client.get(url).status_code == 200
    [link] = editor.get(address).json()["items"]
    assert link["expires_at"] is not None
    assert editor.delete(f"/api/v1/links/{link['id']}").status_code == 204
    assert client.get(url).status_code == 404


def test_no_answer_that_is_kept_for_a_key_has_a_secret(project: Project, cast: Cast) -> None:
    editor = member(project, "editor", Membership.EDITOR)
    key = {"Idempotency-Key": "k"}
    editor.post(f"/api/v1/runs/{cast.ended['run_id']}/links", {}, headers=key, **JSON)
    hook = {"name": "new", "target": "https://hooks.example.org/y"}
    assert editor.post(f"/api/v1/projects/{project.id}/webhooks", hook, headers=key, **JSON).json()["secret"]
    assert KeptAnswer.objects.count() == 0


def test_an_upload_in_parts_counts_for_what_its_user_may_use(project: Project) -> None:
    editor = member(project, "editor", Membership.EDITOR)
    Quota.objects.create(user=User.objects.get(), disk_bytes=100)
    asked = {"name": "large.pb", "bytes": 101}
    refused = editor.post(f"/api/v1/projects/{project.id}/uploads", asked, **JSON)
    assert refused.status_code == 403 and "delete some" in refused.json()["error"]["message"]
    assert editor.post(f"/api/v1/projects/{project.id}/uploads", {**asked, "bytes": 99}, **JSON).status_code == 201
