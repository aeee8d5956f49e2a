"""Forms that another site sends: every address that takes a POST wants the token of the page, with accounts too."""

import pytest
from django.test import Client

from tests.webapp.access.addresses import all_addresses
from tests.webapp.access.asking import values_of
from tests.webapp.access.belongings import Belongings
from tests.webapp.access.people import Team, client_of
from tests.webapp.access.table import TABLE
from webapp.accounts.models import AuditEntry

FROM_ANOTHER_SITE = "The form is too old, or it came from another site."
TAKES_POST = [address for address in all_addresses() if TABLE[address.name][1] is not None]


@pytest.mark.parametrize("who", ["anonymous", "owner", "operator"])
def test_every_post_without_the_token_is_refused(who: str, team: Team, rows: Belongings) -> None:
    client = client_of(getattr(team, who, None), enforce_csrf_checks=True)
    values = {**values_of(rows), "user_id": team.viewer.id, "token_id": rows.run.id, "session_number": 1}
    values |= {"name": "placement.json", "token": rows.tokens["run"]}
    before = AuditEntry.objects.count()
    passed = []
    for address in TAKES_POST:
        answer = client.post(address.filled(values))
        if answer.status_code != 403 or FROM_ANOTHER_SITE not in answer.content.decode():
            passed.append((address.name, answer.status_code))
    assert passed == []
    assert len(TAKES_POST) > 60
    assert AuditEntry.objects.count() == before, "nothing was done"


def test_a_token_of_another_browser_does_not_count(team: Team) -> None:
    theirs = Client(enforce_csrf_checks=True)
    theirs.get("/accounts/log-in/")
    token = theirs.cookies["placeto_csrftoken"].value
    client = client_of(team.owner, enforce_csrf_checks=True)
    del client.cookies["placeto_csrftoken"]
    answer = client.post(f"/projects/{team.project.id}/rename/", {"name": "stolen", "csrfmiddlewaretoken": token})
    assert answer.status_code == 403
    client.cookies["placeto_csrftoken"] = "b" * 32
    answer = client.post(f"/projects/{team.project.id}/rename/", {"name": "stolen", "csrfmiddlewaretoken": token})
    assert answer.status_code == 403


def test_the_token_changes_at_log_in(team: Team) -> None:
    """One that somebody knew before is of no use then."""
    client = Client(enforce_csrf_checks=True)
    client.get("/accounts/log-in/")
    before = client.cookies["placeto_csrftoken"].value
    fields = {"username": team.owner.username, "password": "a horse of another colour", "csrfmiddlewaretoken": before}
    assert client.post("/accounts/log-in/", fields).status_code == 302
    assert client.cookies["placeto_csrftoken"].value != before
    answer = client.post(f"/projects/{team.project.id}/rename/", {"name": "x", "csrfmiddlewaretoken": before})
    assert answer.status_code == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://testserver.evil.example"])
def test_a_form_that_names_another_site_is_refused_with_the_token_too(origin: str, team: Team) -> None:
    client = client_of(team.owner, enforce_csrf_checks=True)
    client.get("/projects/")
    token = client.cookies["placeto_csrftoken"].value
    fields = {"name": "other", "csrfmiddlewaretoken": token}
    place = f"/projects/{team.project.id}/rename/"
    assert client.post(place, fields, headers={"origin": origin}).status_code == 403
    assert client.post(place, fields, headers={"origin": "http://testserver"}).status_code == 302
    team.project.refresh_from_db()
    assert team.project.name == "other"


def test_nobody_is_logged_in_or_out_by_another_site(team: Team) -> None:
    """Logged in as somebody else, a person would give away what they add."""
    client = Client(enforce_csrf_checks=True)
    fields = {"username": team.stranger.username, "password": "a horse of another colour"}
    assert client.post("/accounts/log-in/", fields).status_code == 403
    assert "placeto_session" not in client.cookies
    owner = client_of(team.owner, enforce_csrf_checks=True)
    assert owner.post("/accounts/log-out/").status_code == 403
    assert owner.get("/accounts/log-out/").status_code == 405
    assert owner.get("/account/").status_code == 200
