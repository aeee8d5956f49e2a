"""A link shows its own page and nothing else; no other text opens anything; none that has ended does."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.webapp.access.addresses import all_addresses
from tests.webapp.access.asking import content_of, values_of
from tests.webapp.access.belongings import Belongings
from tests.webapp.access.people import Team, client_of
from tests.webapp.access.table import TABLE
from webapp.accounts.models import digest_of
from webapp.jobs import deletion
from webapp.sharing.models import ShareLink

pytestmark = pytest.mark.usefixtures("read_here")
BELOW = [address for address in all_addresses() if address.pattern.startswith("shared/")]
NO_LINK = "This link does not open anything"
OPENS = {
    "run": {
        *(
            "sharing:page",
            "events.json",
            "events",
            "graph.json",
            "ops.json",
            "costs.json",
            "drawing.json",
            "scope.json",
        ),
        *("flat/<str:of>", "blocks/<int:number>", "blocks/ops", "explanations/<int:seq>", "exports/run/run.html"),
        *("exports/run/<str:name>", "exports/<str:name>", "placement.json", "report.json", "view.json", "status.json"),
    },
    "comparison": {
        *("sharing:page", "events.json", "events", "table.html", "comparison.md", "comparison.json"),
        *("comparison.svg", "comparison.png"),
    },
    "graph": {
        *("sharing:page", "events.json", "events", "ops.json", "costs.json", "drawing.json", "scope.json"),
        *("flat/<str:of>", "blocks/<int:number>", "blocks/ops", "view.json", "status.json"),
    },
    "search": {"sharing:page", "events.json", "events", "plan.json"},
}
"""what a link shows → addresses below it that answer, at most"""


def short(name: str) -> str:
    return name.removeprefix("shared/<str:token>/")


def asked_below(token: str, rows: Belongings, client: Client | None = None) -> dict[str, Any]:
    """Name of an address below the link → the answer to a GET."""
    values = {**values_of(rows), "token": token}
    answers = {}
    for address in BELOW:
        names = {"exports/run/<str:name>": "episodes.csv"}
        place = address.filled({**values, "name": names.get(short(address.name), "groups.csv")})
        place += "?group=0" if place.endswith("scope.json") else ""
        answers[short(address.name)] = (client or Client()).get(place)
    return answers


@pytest.mark.parametrize("kind", OPENS)
def test_a_link_opens_what_its_page_needs_and_nothing_else(kind: str, team: Team, rows: Belongings) -> None:
    answers = asked_below(rows.tokens[kind], rows)
    opened = {name for name, answer in answers.items() if answer.status_code == 200}
    assert opened <= OPENS[kind]
    assert {"sharing:page", "events.json"} <= opened
    for name in answers.keys() - opened:
        assert answers[name].status_code in (404, 405), name


@pytest.mark.parametrize("kind", OPENS)
def test_a_link_leads_to_no_other_row(kind: str, team: Team, rows: Belongings) -> None:
    """Neither names nor ids of what is beside it, nor of those who work on it."""
    others = {name: str(value) for name, value in rows.ids().items()}
    names = {"run": "Quokka run", "comparison": "Quokka comparison", "search": "Quokka plans"}
    names |= {"policy": "Quokka policy", "placement": "Quokka placement", "hook": "Quokka hook"}
    names |= {"upload": "Quokka upload", "owner": "Quokkaowner", "editor": "Quokkaeditor", "viewer": "Quokkaviewer"}
    names.pop(kind, None)
    own = str(getattr(rows, kind).id)
    others = {name: value for name, value in others.items() if value != own}
    found = {}
    for address, answer in asked_below(rows.tokens[kind], rows).items():
        text = content_of(answer).decode("utf-8", "replace")
        traces = [trace for trace in (*names.values(), *others.values()) if trace in text]
        if answer.status_code == 200 and traces:
            found[address] = traces
    assert found == {}


@pytest.mark.parametrize("kind", OPENS)
def test_the_holder_of_a_link_is_nobody_elsewhere(kind: str, team: Team, rows: Belongings) -> None:
    """The browser that has opened it, and the address of it as a token, a password, a session."""
    token, client = rows.tokens[kind], Client()
    assert client.get(f"/shared/{token}/").status_code == 200
    assert "placeto_session" not in client.cookies
    values = values_of(rows)
    for name in ("projects:detail", "graphs:detail", "runs:detail", "comparisons:detail", "plans:detail", "home:page"):
        [address] = [each for each in all_addresses() if each.name == name]
        assert client.get(address.filled(values)).status_code == 302, name
        assert client.get(address.filled(values), {"token": token}).status_code == 302, name
        headers = {"authorization": f"Bearer {token}", "cookie": f"placeto_session={token}"}
        assert client.get(address.filled(values), headers=headers).status_code == 302, name


def near_misses(token: str) -> list[str]:
    other = "A" if token[0] != "A" else "B"
    return [
        *(token[:-1], token[1:], token + "A", token.swapcase(), token[::-1], other + token[1:], token[:-1] + "!"),
        *(digest_of(token), "", " ", "*", "%25", "%00", "null", "None", "0", "..", "%2e%2e", "' OR 1=1 --", "\udcff"),
        *(f"{token}%00", f" {token}", f"{token} ", f"{token}%0a", token.replace("-", "_") + "=", token * 50),
    ]


def test_near_misses_open_nothing(team: Team, rows: Belongings) -> None:
    client = Client()
    for token in rows.tokens.values():
        for guess in near_misses(token):
            answer = client.get(f"/shared/{guess.encode('utf-8', 'surrogateescape').decode('latin-1')}/")
            assert answer.status_code == 404, guess


def test_what_is_looked_up_is_a_digest(team: Team, rows: Belongings) -> None:
    """The database compares no part of a token: the time of an answer says nothing of how near a guess was."""
    token = rows.tokens["run"]
    for guess in (token, token[:-1] + "A", "short"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            Client().get(f"/shared/{guess}/status.json")
        said = " ".join(query["sql"] for query in queries)
        assert digest_of(guess) in said
        assert guess not in said
    link = ShareLink.objects.get(id=rows.link.id)
    assert token not in repr({field.name: getattr(link, field.name) for field in link._meta.fields})


@pytest.mark.parametrize("kind", OPENS)
@pytest.mark.parametrize("end", ["revoked", "expired", "target deleted", "project deleted"])
def test_a_link_that_has_ended_opens_nothing(kind: str, end: str, team: Team, rows: Belongings) -> None:
    token = rows.tokens[kind]
    link = ShareLink.objects.get(digest=digest_of(token))
    if end == "revoked":
        assert client_of(team.editor).post(f"/links/{link.id}/revoke").status_code == 302
    elif end == "expired":
        ShareLink.objects.filter(id=link.id).update(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        deletion.delete(link.target if end == "target deleted" else rows.project)
    for name, answer in asked_below(token, rows).items():
        assert answer.status_code in (404, 405), name
        assert answer.status_code == 405 or NO_LINK in content_of(answer).decode(), name


def test_a_link_that_expires_later_still_opens(team: Team, rows: Belongings) -> None:
    ShareLink.objects.filter(id=rows.link.id).update(expires_at=timezone.now() + timedelta(hours=1))
    assert Client().get(f"/shared/{rows.tokens['run']}/").status_code == 200


def test_nothing_below_a_link_changes_anything(team: Team, rows: Belongings) -> None:
    assert {short(address.name) for address in BELOW if TABLE[address.name][1] is not None} == {
        "step",
        "gains.json",
        "exports/<str:name>",
    }
    for method in ("post", "put", "patch", "delete"):
        for kind, token in rows.tokens.items():
            assert getattr(Client(), method)(f"/shared/{token}/").status_code == 405, kind


def test_below_a_link_a_form_names_no_other_row(team: Team, rows: Belongings) -> None:
    """A placement by hand is not made of a kept one, nor of another run's."""
    groups = rows.groups
    for base in (str(rows.placement.id), f"run-{rows.ids()['other_id']}"):
        fields = {"placement": str([-1] * groups), "base": base}
        for name in ("step", "gains.json", "exports/groups.csv"):
            assert Client().post(f"/shared/{rows.tokens['run']}/{name}", fields).status_code == 404, (base, name)


def test_a_removed_editor_makes_and_sees_no_links(team: Team, rows: Belongings) -> None:
    client = client_of(team.editor)
    assert client.get(f"/runs/{rows.run.id}/links/").status_code == 200
    team.project.memberships.filter(user=team.editor).delete()
    assert client.get(f"/runs/{rows.run.id}/links/").status_code == 404
    assert client.post(f"/runs/{rows.run.id}/links/new").status_code == 404
    assert client.post(f"/links/{rows.link.id}/revoke").status_code == 404
