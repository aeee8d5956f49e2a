"""What a visitor sees never names, counts or leads to what they may not see: two teams side by side."""

import re
from typing import Any

import pytest
from django.test import Client

from tests.webapp.access.asking import OTHERS, bearer, content_of, pages_of
from tests.webapp.access.belongings import Belongings, belongings_of, policy_of
from tests.webapp.access.people import Team, client_of, team_of
from tests.webapp.run_rows import started
from webapp.accounts.visitor import of_user
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.models import Run

pytestmark = pytest.mark.usefixtures("read_here")


@pytest.fixture
def other_team(rows: Belongings) -> Team:
    """Another project, of the same age, with people of its own."""
    return team_of(Project.objects.create(name=f"{OTHERS} project"), OTHERS)


@pytest.fixture
def others(other_team: Team, rows: Belongings, prepared_blob: bytes) -> Belongings:
    """What they have; their runs use policies that everybody may use, of which one is the first team's."""
    theirs = belongings_of(other_team.project, prepared_blob, OTHERS, of_user(other_team.owner))
    Policy.objects.filter(id=rows.policy.id).update(is_published=True)
    for policy in (rows.policy, policy_of(None, "the installation's")):
        named: dict[str, Any] = {"policy": policy, "policy_name": policy.name, "policy_digest": policy.digest}
        started(theirs.graph, name=f"{OTHERS} run with a policy", **named)
    return theirs


def traces_in(content: bytes, others: Belongings) -> list[str]:
    """What names the other team's rows, or leads to them; a search shows its own word again."""
    text = content.decode("utf-8", "replace")
    text = re.sub(rf'value="{OTHERS}"|earch={OTHERS}|for “{OTHERS}”|{OTHERS}”', "", text)
    ids = [str(value) for value in others.ids().values()]
    return [trace for trace in (OTHERS, *ids) if trace in text]


@pytest.mark.parametrize("who", ["viewer", "owner"])
def test_no_page_names_what_belongs_to_others(who: str, team: Team, rows: Belongings, others: Belongings) -> None:
    user = getattr(team, who)
    browser, script = client_of(user), Client()
    headers = bearer(user)
    found, asked = {}, 0
    for place in pages_of(rows):
        is_api = place.startswith("/api/")
        answer = (script if is_api else browser).get(place, headers=headers if is_api else {})
        traces = traces_in(content_of(answer), others)
        asked += answer.status_code == 200
        if traces:
            found[place] = traces
    assert found == {}
    assert asked > 110


def test_the_same_pages_do_name_them_to_an_operator(team: Team, rows: Belongings, others: Belongings) -> None:
    """So the test above would see them."""
    browser = client_of(team.operator)
    seen = {
        place
        for place in ("/", "/projects/", "/policies/", f"/policies/{rows.policy.id}/", "/status/", "/users/")
        if traces_in(browser.get(place).content, others)
    }
    assert seen >= {"/", "/projects/", "/policies/", f"/policies/{rows.policy.id}/", "/users/"}


def test_lists_count_and_number_what_is_seen_alone(team: Team, rows: Belongings, others: Belongings) -> None:
    for number in range(70):
        Project.objects.create(name=f"{OTHERS} {number}")
    client = client_of(team.viewer)
    answer = client.get("/projects/")
    page = answer.context["projects"]
    assert (page.paginator.count, page.paginator.num_pages) == (1, 1)
    assert client.get("/projects/?page=2").status_code == 404
    assert client.get("/").context["more"] is False
    listed = Client().get("/api/v1/projects", headers=bearer(team.viewer)).json()
    assert ([row["name"] for row in listed["items"]], listed["next"]) == ([team.project.name], None)


@pytest.mark.parametrize("name", ["Project 1", "Project 2"])
def test_a_proposed_name_says_nothing_of_others_names(name: str, team: Team, rows: Belongings) -> None:
    """The stranger sees no project: theirs is the first."""
    Project.objects.create(name=name)
    client = client_of(team.stranger)
    assert client.get("/projects/").context["form"].fields["name"].widget.attrs["placeholder"] == "Project 1"
    client.post("/projects/", {"name": ""})
    assert [row.name for row in Project.objects.filter(memberships__user=team.stranger)] == ["Project 1"]


def test_states_leave_out_what_is_hidden(team: Team, rows: Belongings, others: Belongings) -> None:
    def query_of(belongings: Belongings) -> str:
        ids = {"run": belongings.run, "graph": belongings.graph, "comparison": belongings.comparison}
        ids |= {"plans": belongings.search, "policy": belongings.policy, "profile": belongings.profile}
        return "&".join(f"{kind}={row.id}" for kind, row in (ids | {"measurement": belongings.measurement}).items())

    client = client_of(team.viewer)
    hidden = client.get(f"/states.json?{query_of(others)}").json()
    assert {kind: states for kind, states in hidden.items() if states} == {}
    seen = client.get(f"/states.json?{query_of(rows)}").json()
    assert all(seen.values()) and len(seen) == 7


def test_a_policy_s_page_counts_the_runs_that_one_may_see(team: Team, rows: Belongings, others: Belongings) -> None:
    """Those of others use it too."""
    started(rows.graph, policy=rows.policy, policy_name=rows.policy.name, policy_digest=rows.policy.digest)
    lines = client_of(team.viewer).get(f"/policies/{rows.policy.id}/").context["lines"]
    assert lines.paginator.count == 1
    assert [line.run.graph_id for line in lines.object_list] == [rows.graph.id]
    assert Run.objects.filter(policy=rows.policy).count() == 2
