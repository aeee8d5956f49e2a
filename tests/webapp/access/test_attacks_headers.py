"""Names that people give to files and rows never become a header, a second line, or somebody else's text."""

import re

import pytest
from django.test import Client

from tests.webapp.access.asking import pages_of
from tests.webapp.access.belongings import Belongings
from tests.webapp.access.people import Team, client_of
from webapp.accounts.models import AuditEntry
from webapp.graphs.models import Graph
from webapp.policies.models import Policy

pytestmark = pytest.mark.usefixtures("read_here")

NAMES = [
    'a"; filename="evil.exe',
    "a\r\nSet-Cookie: placeto_session=stolen",
    "a\nX-Injected: yes\n\n<script>",
    "..\\..\\evil.pb",
    "../../etc/passwd",
    "\u202egpj.exe",
    "名前\u2028\u2029",
    "a;b,c=d%0d%0aX: y",
    "\x00\x1b[31m\x7f",
    "'" * 200,
]


def named(rows: Belongings, name: str) -> None:
    """Each row whose name a download could take."""
    Graph.objects.filter(id=rows.graph.id).update(name=f"{name}.pb"[:200])
    Policy.objects.filter(id=rows.policy.id).update(name=name[:200])
    for row in (rows.run, rows.comparison, rows.search, rows.placement, rows.project):
        type(row).objects.filter(pk=row.pk).update(name=name[:200])


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_no_header(name: str, team: Team, rows: Belongings) -> None:
    named(rows, name)
    client, seen = client_of(team.owner), 0
    for place in pages_of(rows):
        if place.startswith("/api/"):
            continue
        answer = client.get(place)
        for header, value in answer.headers.items():
            assert "\n" not in value and "\r" not in value, (place, header)
            assert value.isascii() and value.isprintable(), (place, header, value)
        assert "X-Injected" not in answer.headers and "placeto_session" not in answer.cookies, place
        disposition = answer.headers.get("Content-Disposition")
        if disposition:
            assert re.fullmatch(r'attachment; filename="[\w.+-]+"', disposition), (place, disposition)
            seen += 1
    assert seen > 10


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_one_line_of_the_log(name: str, team: Team, rows: Belongings) -> None:
    client = client_of(team.owner)
    client.post(f"/runs/{rows.run.id}/rename/", {"name": name})
    Client().post(
        "/accounts/log-in/",
        {"username": name, "password": "x"},
        headers={"user-agent": name.replace("\n", "").replace("\r", "")},
    )
    for entry in AuditEntry.objects.all():
        for text in (entry.username, entry.note, entry.action, entry.kind):
            assert text.isprintable(), repr(text)
    page = client_of(team.operator).get("/users/log/").content.decode()
    assert "<script>" not in page.partition("<main")[2].partition("</main>")[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_redirect_takes_no_name(name: str, team: Team, rows: Belongings) -> None:
    named(rows, name)
    client = client_of(team.editor)
    for place in (f"/graphs/{rows.graph.id}/delete/", f"/policies/{rows.policy.id}/delete/"):
        answer = client.post(place)
        assert re.fullmatch(r"/(projects/[0-9a-f-]+/|policies/)", answer["Location"]), answer["Location"]
