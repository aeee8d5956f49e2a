"""Attacks on the log-in: a session that was fixed before, redirects elsewhere, names that are tried, many passwords."""

import threading
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings as configured
from django.contrib.auth.hashers import BasePasswordHasher, get_hasher
from django.contrib.sessions.backends.db import SessionStore
from django.core import mail
from django.test import Client
from pytest_django import Settings

from tests.webapp.access.people import PASSWORD, Team, client_of, log_in, without_form_tokens
from webapp.accounts.models import AuditEntry, User
from webapp.pages.accounts.passwords import mails as mails_of_pages

LOG_IN = "/accounts/log-in/"


def key_of(client: Client) -> str:
    return client.cookies[configured.SESSION_COOKIE_NAME].value


def test_the_session_gets_another_key_at_log_in(team: Team) -> None:
    """Somebody who has put their own session into a browser does not have the one of whoever logs in there."""
    planted = SessionStore()
    planted["planted"] = "yes"
    planted.create()
    client = Client()
    client.cookies[configured.SESSION_COOKIE_NAME] = str(planted.session_key)
    assert log_in(client, team.owner.username).status_code == 302
    assert key_of(client) != planted.session_key
    assert client.get(f"/projects/{team.project.id}/").status_code == 200
    attacker = Client()
    attacker.cookies[configured.SESSION_COOKIE_NAME] = str(planted.session_key)
    assert attacker.get(f"/projects/{team.project.id}/").status_code == 302


def test_a_key_that_nobody_made_is_not_taken(team: Team) -> None:
    client = Client()
    client.cookies[configured.SESSION_COOKIE_NAME] = chosen = "a" * 32
    log_in(client, team.owner.username)
    assert key_of(client) != chosen


def test_another_user_in_the_same_browser_gets_a_session_of_their_own(team: Team) -> None:
    client = client_of(team.owner)
    first = key_of(client)
    client.post("/accounts/log-out/")
    log_in(client, team.viewer.username)
    assert key_of(client) != first
    assert client.post(f"/projects/{team.project.id}/rename/", {"name": "mine"}).status_code == 403


def test_after_log_out_the_old_key_opens_nothing(team: Team) -> None:
    client, thief = client_of(team.owner), Client()
    thief.cookies[configured.SESSION_COOKIE_NAME] = key_of(client)
    assert thief.get("/account/").status_code == 200
    client.post("/accounts/log-out/")
    assert thief.get("/account/").status_code == 302


def test_a_new_password_ends_the_other_sessions(team: Team) -> None:
    client, elsewhere = client_of(team.owner), client_of(team.owner)
    new = "another horse of that colour"
    fields = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert client.post("/accounts/password/", fields).status_code == 302
    assert client.get("/account/").status_code == 200
    assert elsewhere.get("/account/").status_code == 302


def test_a_session_cookie_is_for_the_server_alone(team: Team) -> None:
    cookie = client_of(team.owner).cookies[configured.SESSION_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"], cookie["domain"]) == (True, "Lax", "")


ELSEWHERE = [
    *(
        "//evil.example",
        "///evil.example",
        "////evil.example",
        "\\\\evil.example",
        "/\\evil.example",
        "\\/evil.example",
    ),
    *(
        "https://evil.example",
        "https:evil.example",
        "https:/evil.example",
        "http:///evil.example",
        "HTTPS://evil.example",
    ),
    *("javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "ftp://evil.example"),
    *("//testserver@evil.example", "https://testserver@evil.example/", "http://testserver:80@evil.example"),
    *("//testserver.evil.example", "https://testserver.evil.example", "http://testserver:8080/"),
    *("/\n/evil.example", "/\t/evil.example", "\r\n//evil.example", " //evil.example", "\x00//evil.example"),
    *(
        "//evil.example\\@testserver",
        "https://evil.example#@testserver",
        "http:\\\\evil.example",
        "//[evil",
        "%2F%2Fevil.example",
    ),
]


@pytest.mark.parametrize("where", ELSEWHERE)
@pytest.mark.parametrize("how", ["in the form", "in the address", "already logged in"])
def test_nobody_is_led_to_another_site(where: str, how: str, team: Team) -> None:
    client = Client()
    fields = {"username": team.owner.username, "password": PASSWORD}
    if how == "in the form":
        answer = client.post(LOG_IN, {**fields, "next": where})
    elif how == "in the address":
        answer = client.post(LOG_IN, fields, query_params={"next": where})
    else:
        log_in(client, team.owner.username)
        answer = client.get(LOG_IN, {"next": where})
    assert answer.status_code == 302
    location = answer["Location"]
    assert location == "/" or (location == where == "%2F%2Fevil.example"), location  # a path below this page


def test_log_out_leads_nowhere_else_either(team: Team) -> None:
    for where in ELSEWHERE[:-1]:
        answer = client_of(team.owner).post("/accounts/log-out/", {"next": where})
        assert answer["Location"] == LOG_IN, where


def test_a_page_of_this_site_is_come_back_to(team: Team) -> None:
    answer = log_in(Client(), team.owner.username, query_params={"next": f"/projects/{team.project.id}/?page=1"})
    assert answer["Location"] == f"/projects/{team.project.id}/?page=1"


def refused(name: str, password: str = "a wrong password") -> Any:
    return log_in(Client(), name, password)


def without_what_was_typed(answer: Any, name: str) -> str:
    """The page without the name that is shown in the form again."""
    return without_form_tokens(answer.content.decode().replace(name, "NAME"))


@pytest.fixture
def unusual(team: Team) -> dict[str, User]:
    """Users who cannot log in: one who is not active, with the right password; one without a password."""
    asleep = User.objects.create_user("asleep", "asleep@example.org", PASSWORD, is_active=False)
    return {"asleep": asleep, "without": User.objects.create_user("without", "without@example.org")}


def test_a_refused_log_in_says_nothing_of_who_there_is(team: Team, unusual: dict[str, User]) -> None:
    known = refused(team.owner.username)
    for name, password in (("nobody-here", PASSWORD), ("asleep", PASSWORD), ("asleep", "wrong"), ("without", PASSWORD)):
        answer = refused(name, password)
        assert answer.status_code == known.status_code == 200
        assert without_what_was_typed(answer, name) == without_what_was_typed(known, team.owner.username), name
    assert "do not go together" in known.content.decode()


def test_a_refused_log_in_costs_the_same_for_every_name(team: Team, unusual: dict[str, User]) -> None:
    """One hash of a password is computed, be there a user or not: what takes the time."""
    hasher = get_hasher()
    counts = {}
    for name in (team.owner.username, "nobody-here", "asleep", "without"):
        with patch.object(type(hasher), "encode", autospec=True, side_effect=type(hasher).encode) as encode:
            refused(name)
        counts[name] = encode.call_count
    assert isinstance(hasher, BasePasswordHasher)
    assert set(counts.values()) == {1}, counts


@pytest.mark.parametrize("name", ["", " ", "x" * 10_000, "\x00", "owner\x00", "'; --", "‮owner", "ﬃ", "<b>", "%s%n"])
def test_odd_names_are_refused_like_others(name: str, team: Team) -> None:
    answer = refused(name)
    assert answer.status_code == 200
    assert configured.SESSION_COOKIE_NAME not in answer.cookies


def all_sent() -> list[Any]:
    """The mails, once those that wait are sent too."""
    mails_of_pages.submit(lambda: None).result(timeout=30)
    return mail.outbox


@pytest.fixture
def mails(local: Settings) -> Settings:
    """An installation that sends mail."""
    local.SENDS_MAIL = True
    return local


def test_asking_for_a_mail_says_nothing_of_who_there_is(mails: Settings, team: Team, unusual: dict[str, User]) -> None:
    def asked(address: str) -> tuple[int, str, str]:
        client = Client()
        answer = client.post("/accounts/password/mail/", {"email": address})
        return (
            answer.status_code,
            answer["Location"],
            without_form_tokens(client.get(answer["Location"]).content.decode()),
        )

    known = asked(team.owner.email)
    assert [message.to for message in all_sent()] == [[team.owner.email]]
    for address in ("nobody@example.org", "asleep@example.org", "without@example.org"):
        assert asked(address) == known, address
    assert len(all_sent()) == 1


def test_a_mail_for_a_known_address_is_not_waited_for(
    mails: Settings, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer does not take longer because a mail is sent: it is sent beside it."""
    sent_in: list[str] = []

    def send(*_: object, **__: object) -> None:
        sent_in.append(threading.current_thread().name)

    monkeypatch.setattr("django.core.mail.EmailMultiAlternatives.send", send)
    Client().post("/accounts/password/mail/", {"email": team.owner.email})
    all_sent()
    assert sent_in and "MainThread" not in sent_in


def test_a_mail_shows_no_text_of_a_stranger(mails: Settings, team: Team) -> None:
    """Neither a host that the request names, nor a line that would become a header."""
    answer = Client().post("/accounts/password/mail/", {"email": team.owner.email}, headers={"host": "evil.example"})
    assert answer.status_code == 400
    for address in (f"{team.owner.email}\nBcc: evil@evil.example", f"{team.owner.email}, evil@evil.example"):
        Client().post("/accounts/password/mail/", {"email": address})
    assert all_sent() == []
    Client().post("/accounts/password/mail/", {"email": team.owner.email})
    [message] = all_sent()
    assert (message.to, message.cc, message.bcc) == ([team.owner.email], [], [])
    assert "\n" not in message.subject and "http://testserver/accounts/password/" in str(message.body)


MOST = configured.AXES_FAILURE_LIMIT


def spray(count: int, **headers: Any) -> Any:
    """So many log-ins, each with another name; the last answer."""
    for number in range(count):
        answer = log_in(Client(), f"name-{number}", "the same password", **headers)
    return answer


def test_many_names_from_one_address_have_to_wait(team: Team) -> None:
    assert spray(MOST - 1).status_code == 200
    answer = spray(2)
    assert (answer.status_code, answer["Retry-After"]) == (429, "900")
    assert log_in(Client(), team.owner.username).status_code == 429, "with the right password too"
    known, unknown = (log_in(Client(), name, "wrong") for name in (team.owner.username, "nobody-here"))
    assert (known.status_code, known.content) == (unknown.status_code, unknown.content)
    assert log_in(Client(), team.owner.username, REMOTE_ADDR="198.51.100.7").status_code == 302


def test_while_an_address_waits_no_password_is_looked_at(team: Team) -> None:
    spray(MOST + 1)
    hasher = get_hasher()
    with patch.object(type(hasher), "encode", autospec=True, side_effect=type(hasher).encode) as encode:
        log_in(Client(), team.owner.username)
    assert encode.call_count == 0


def test_a_success_in_between_does_not_start_the_count_again(team: Team) -> None:
    spray(MOST - 1)
    assert log_in(Client(), team.stranger.username).status_code == 302
    assert spray(2).status_code == 429


def test_those_who_are_in_stay_in_while_their_address_waits(team: Team) -> None:
    client = client_of(team.owner)
    spray(MOST + 1)
    assert client.get(f"/projects/{team.project.id}/").status_code == 200


def test_an_address_that_a_stranger_claims_does_not_count(team: Team) -> None:
    """Each log-in names another address in X-Forwarded-For; nobody trusts who sends it."""
    for number in range(MOST + 1):
        forwarded = {"HTTP_X_FORWARDED_FOR": f"198.51.100.{number}"}
        answer = log_in(Client(), f"name-{number}", "wrong", **forwarded)
    assert answer.status_code == 429


def test_behind_a_trusted_proxy_each_client_is_counted_alone(team: Team, settings: Settings) -> None:
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    proxy = {"REMOTE_ADDR": "10.0.0.1"}
    answer = spray(MOST + 1, **proxy, HTTP_X_FORWARDED_FOR="198.51.100.7")
    assert answer.status_code == 429
    other = log_in(Client(), team.owner.username, **proxy, HTTP_X_FORWARDED_FOR="198.51.100.8")
    assert other.status_code == 302


def test_behind_a_trusted_proxy_a_client_cannot_claim_another_address(team: Team, settings: Settings) -> None:
    """What the client sends stands before what the proxy adds."""
    settings.TRUSTED_PROXIES = ["10.0.0.1"]
    for number in range(MOST + 1):
        forwarded = f"203.0.113.{number}, 198.51.100.7"
        answer = log_in(Client(), f"name-{number}", "x", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=forwarded)
    assert answer.status_code == 429


def test_the_log_has_who_was_tried_and_from_where(team: Team) -> None:
    refused("nobody\n\x1b[31m-here")
    entry = AuditEntry.objects.filter(action="log-in refused").first()
    assert entry is not None
    assert (entry.user, entry.address) == (None, "127.0.0.1")
    assert entry.username.isprintable() and "nobody" in entry.username
    assert "a wrong password" not in f"{entry.username}{entry.note}{entry.action}"
