"""Logging in through an OpenID provider: who comes in, as whom, and what is refused."""

import html
import json
import logging
import re
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
import requests
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tests.webapp.open_id_provider import ADA, CLIENT_ID, CLIENT_SECRET, Provider, running_provider
from webapp.accounts.models import AuditEntry, User
from webapp.accounts.old_sessions import remove_old_sessions
from webapp.accounts.provider_adapter import ProviderAdapter
from webapp.projects.models import Membership, Project

BEGIN, ANSWER = "/accounts/provider/", "/accounts/provider/answer/"
BEA = {"sub": "bea", "preferred_username": "bea", "email": "bea@example.org", "email_verified": True}


@pytest.fixture
def provider(settings: Settings) -> Iterator[Provider]:
    """A provider, and an installation that lets in whom it knows."""
    cache.clear()
    with running_provider() as running:
        settings.ACCOUNTS = "oidc"
        settings.AXES_ENABLED = False
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
        settings.AUTHENTICATION_BACKENDS = settings.BACKENDS_WITHOUT_PASSWORDS
        settings.OIDC_ADDRESS = running.address
        settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
        settings.OIDC_NAME, settings.OIDC_DOMAINS, settings.OPERATORS = "Example", [], []
        yield running


def address_there(client: Client, **fields: str) -> str:
    """The provider's page to which the button leads."""
    page = client.post(BEGIN, fields)
    assert page.status_code == 200
    [address] = re.findall('<a class="button is-primary" href="([^"]+)"', page.content.decode())
    return html.unescape(str(address))


def sent_back(address: str) -> str:
    """Where the provider sends a browser that has logged in there: path and query here."""
    location = requests.get(address, allow_redirects=False, timeout=10).headers["Location"]
    parts = urlsplit(location)
    assert (parts.scheme, parts.netloc, parts.path) == ("http", "testserver", ANSWER)
    return f"{parts.path}?{parts.query}"


def logged_in(client: Client, **fields: str) -> HttpResponse:
    """The answer to a whole log-in."""
    return client.get(sent_back(address_there(client, **fields)))  # type: ignore[return-value]


def is_in(client: Client) -> bool:
    """Whether the pages are open to the client."""
    return client.get("/projects/", headers={"accept": "application/json"}).status_code == 200


def entries(action: str) -> list[AuditEntry]:
    """Of the log."""
    return list(AuditEntry.objects.filter(action=action))


def refused(client: Client, response: Any, status: int, words: str) -> None:
    """Assert a refusal in words, on a page of ours, that leaves nothing but an entry in the log."""
    assert response.status_code == status
    page = response.content.decode()
    assert words in page.replace("&#x27;", "'") and "<main" in page
    assert not is_in(client)
    assert not User.objects.exists() and not UserSession.objects.exists()


def test_a_first_log_in_makes_a_user(provider: Provider, client: Client) -> None:
    response = logged_in(client)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert is_in(client)
    [user] = User.objects.all()
    assert (user.username, user.email, user.is_operator) == ("ada", "ada@example.org", False)
    assert not user.has_usable_password()
    [entry] = entries("log-in")
    assert (entry.user_id, entry.address) == (user.id, "127.0.0.1")
    [session] = UserSession.objects.all()
    assert (session.user, session.session_key) == (user, client.session.session_key)


def test_the_second_log_in_finds_the_same_user(provider: Provider, client: Client) -> None:
    logged_in(client)
    provider.person = {**ADA, "preferred_username": "ada.l", "email": "ada.l@example.org"}
    logged_in(Client())
    [user] = User.objects.all()
    assert (user.username, user.email) == ("ada", "ada.l@example.org")
    assert len(entries("log-in")) == UserSession.objects.count() == 2


def test_what_goes_to_the_provider(provider: Provider, client: Client) -> None:
    logged_in(client)
    [asked] = provider.asked_at("/authorize")
    assert asked["redirect_uri"] == f"http://testserver{ANSWER}"
    assert asked["code_challenge_method"] == "S256" and len(asked["code_challenge"]) == 43
    assert len(asked["state"]) >= 16 and len(asked["nonce"]) == 64
    [token] = provider.asked_at("/token")
    assert len(token["code_verifier"]) == 128
    assert "client_secret" not in asked


def test_each_log_in_has_its_own_state_nonce_and_challenge(provider: Provider, client: Client) -> None:
    first, second = (dict(parse_qsl(urlsplit(address_there(client)).query)) for _ in range(2))
    for name in ("state", "nonce", "code_challenge"):
        assert first[name] != second[name]


@pytest.mark.parametrize("field", ["process", "auth_params", "scope", "action"])
def test_a_request_chooses_nothing_but_where_to_go_on(provider: Provider, client: Client, field: str) -> None:
    values = {"process": "connect", "auth_params": "prompt=none", "scope": "admin", "action": "rerequest"}
    page = client.post(f"{BEGIN}?{urlencode({field: values[field]})}", values)
    asked = parse_qs(urlsplit(page.context["address"]).query)
    names = {"client_id", "redirect_uri", "scope", "response_type", "state", "nonce"}
    assert set(asked) == names | {"code_challenge", "code_challenge_method"}
    assert set(asked["scope"][0].split()) == {"openid", "profile", "email"}


def test_the_log_in_begins_with_a_form_of_ours(provider: Provider) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.get(BEGIN).status_code == 405
    assert client.post(BEGIN).status_code == 403
    assert provider.asked == []


@pytest.mark.parametrize("mode", ["off", "local", "proxy"])
def test_without_a_provider_there_is_nothing(provider: Provider, client: Client, settings: Settings, mode: str) -> None:
    settings.ACCOUNTS = mode
    assert client.post(BEGIN).status_code == client.get(f"{ANSWER}?code=1&state=1").status_code == 404
    assert provider.asked == []


TOO_OLD = "too old, was used already, or was begun in another browser"


@pytest.mark.parametrize("state", ["", "wrong"])
def test_a_wrong_state(provider: Provider, client: Client, state: str) -> None:
    parts = urlsplit(sent_back(address_there(client)))
    asked = {**dict(parse_qsl(parts.query)), "state": state}
    refused(client, client.get(f"{ANSWER}?{urlencode(asked)}"), 403, TOO_OLD)
    assert provider.asked_at("/token") == []


def test_the_answer_of_another_browser(provider: Provider, client: Client) -> None:
    """Nobody is logged in as somebody else by a link."""
    answer = sent_back(address_there(client))
    refused(Client(), Client().get(answer), 403, TOO_OLD)


def test_an_answer_twice(provider: Provider, client: Client) -> None:
    answer = sent_back(address_there(client))
    assert client.get(answer).status_code == 302
    again = client.get(answer)
    assert again.status_code == 403 and TOO_OLD in again.content.decode()
    assert len(provider.asked_at("/token")) == 1


def test_a_used_code_in_a_new_log_in(provider: Provider, client: Client) -> None:
    used = dict(parse_qsl(urlsplit(sent_back(address_there(client))).query))
    assert client.get(f"{ANSWER}?{urlencode(used)}").status_code == 302
    other = Client()
    new = dict(parse_qsl(urlsplit(sent_back(address_there(other))).query))
    response = other.get(f"{ANSWER}?{urlencode({**new, 'code': used['code']})}")
    assert response.status_code == 502 and not is_in(other)


def test_a_stolen_code_in_ones_own_log_in(provider: Provider, client: Client) -> None:
    """PKCE: the code of another browser is worth nothing without its verifier."""
    stolen = dict(parse_qsl(urlsplit(sent_back(address_there(Client()))).query))["code"]
    own = dict(parse_qsl(urlsplit(sent_back(address_there(client))).query))
    refused(client, client.get(f"{ANSWER}?{urlencode({**own, 'code': stolen})}"), 502, "Example has not answered as it")


WRONG_TOKENS: dict[str, dict[str, Any]] = {
    "nonce of another log-in": {"nonce": "0" * 64},
    "no nonce": {"nonce": None},
    "other audience": {"aud": "another client"},
    "for another party": {"aud": [CLIENT_ID, "other"], "azp": "other"},
    "other issuer": {"iss": "https://evil.example"},
    "expired": {"exp": int(time.time()) - 3600},
    "without expiry": {"exp": None},
    "of the future": {"iat": int(time.time()) + 3600, "nbf": int(time.time()) + 3600},
    "without subject": {"sub": None},
    "other subject than userinfo": {"sub": "mallory"},
}


@pytest.mark.parametrize("wrong", WRONG_TOKENS.values(), ids=WRONG_TOKENS)
def test_a_wrong_token(provider: Provider, client: Client, wrong: dict[str, Any]) -> None:
    provider.token = wrong
    refused(client, logged_in(client), 502, "Example has not answered as it should")
    assert len(entries("log-in refused")) == 1


@pytest.mark.parametrize("signs_with", ["other key", "secret", "none"])
def test_a_token_that_the_provider_has_not_signed(provider: Provider, client: Client, signs_with: str) -> None:
    provider.signs_with = signs_with
    refused(client, logged_in(client), 502, "Example has not answered as it should")


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/keys", "/userinfo"])
def test_a_provider_that_fails(provider: Provider, client: Client, path: str) -> None:
    begun = sent_back(address_there(client))
    cache.clear()
    provider.fails_at = path
    refused(client, client.get(begun), 502, "Example has not answered as it should")


def test_a_provider_that_is_away(provider: Provider, client: Client, settings: Settings) -> None:
    settings.OIDC_ADDRESS = "http://127.0.0.1:9"
    refused(client, client.post(BEGIN), 502, "Example has not answered as it should")


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"token_endpoint": "http://provider.example/token"},
        {"jwks_uri": None},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
def test_a_provider_that_describes_itself_wrongly(provider: Provider, client: Client, wrong: dict[str, Any]) -> None:
    provider.discovery = wrong
    refused(client, client.post(BEGIN), 502, "Example has not answered as it should")


def test_a_log_in_that_was_given_up(provider: Provider, client: Client) -> None:
    provider.error = "access_denied"
    refused(client, logged_in(client), 403, "You have given up the log-in")


def test_the_secret_is_in_no_log(provider: Provider, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    provider.fails_at = "/token"
    logged_in(client)
    assert "the provider answers 500 server_error at /token" in caplog.text
    assert CLIENT_SECRET not in caplog.text
    [token] = provider.asked_at("/token")
    assert token["code_verifier"] not in caplog.text


@pytest.mark.parametrize(
    ("person", "comes_in"),
    [
        ({}, True),
        ({"email": "ada@EXAMPLE.org"}, True),
        ({"email_verified": False}, False),
        ({"email_verified": None}, False),
        ({"email_verified": "false"}, False),
        ({"email": "ada@evil.example"}, False),
        ({"email": "ada@sub.example.org"}, False),
        ({"email": "ada@evil.example@example.org"}, False),
        ({"email": None}, False),
    ],
)
def test_domains(
    provider: Provider, client: Client, settings: Settings, person: dict[str, Any], comes_in: bool
) -> None:
    settings.OIDC_DOMAINS = ["Example.org", "other.example"]
    provider.person = {**ADA, **person}
    response = logged_in(client)
    if comes_in:
        assert is_in(client)
    else:
        refused(client, response, 403, "Only who has a verified e-mail address of example.org or other.example")
        assert [entry.username for entry in entries("log-in refused")] == ["ada"]


def test_a_domain_is_asked_at_each_log_in(provider: Provider, client: Client, settings: Settings) -> None:
    logged_in(client)
    settings.OIDC_DOMAINS = ["other.example"]
    assert logged_in(Client()).status_code == 403


@pytest.mark.parametrize(
    ("person", "name"),
    [
        ({}, "ada"),
        ({"preferred_username": None}, "ada@example.org"),
        ({"preferred_username": None, "email_verified": False}, "user"),
        ({"preferred_username": "Ada  L<script>"}, "Ada-L-script"),
        ({"preferred_username": "\u202eada"}, "ada@example.org"),
        ({"preferred_username": ["ada"]}, "ada@example.org"),
        ({"preferred_username": "a" * 200}, "a" * 140),
        ({"preferred_username": "//"}, "user"),
    ],
)
def test_names(provider: Provider, client: Client, person: dict[str, Any], name: str) -> None:
    provider.person = {**ADA, **person}
    logged_in(client)
    assert [user.username for user in User.objects.all()] == [name]


@pytest.mark.parametrize("email", ["ada@example.org", ""])
def test_nobody_becomes_somebody_who_is_there(provider: Provider, client: Client, email: str) -> None:
    """Neither by the name nor by the address, be it verified."""
    local = User.objects.create_user("Ada", "ada@example.org", "a password of hers", is_operator=True)
    provider.person = {**ADA, "email": email or None}
    logged_in(client)
    new = User.objects.exclude(id=local.id).get()
    assert (new.username, new.is_operator) == ("ada-2", False)
    assert SocialAccount.objects.get().user == new
    local.refresh_from_db()
    assert local.has_usable_password()


def test_the_same_subject_of_another_provider_is_somebody_else(
    provider: Provider, client: Client, settings: Settings
) -> None:
    logged_in(client)
    with running_provider() as other:
        settings.OIDC_ADDRESS = other.address
        logged_in(Client())
    assert [user.username for user in User.objects.all()] == ["ada", "ada-2"]


def test_an_inactive_user_stays_out(provider: Provider, client: Client) -> None:
    logged_in(client)
    User.objects.update(is_active=False)
    assert not is_in(client)
    other = Client()
    response = logged_in(other)
    assert response.status_code == 403 and "The account ada is not active" in response.content.decode()
    assert not is_in(other)
    assert [entry.username for entry in entries("log-in refused")] == ["ada"]


@pytest.mark.parametrize(
    ("listed", "person", "is_operator"),
    [
        ("ada", {}, True),
        ("Ada", {}, True),
        ("ada@example.org", {}, True),
        ("248289761001", {}, True),
        ("ada@example.org", {"email_verified": False}, False),
        ("ada@example.org", {"preferred_username": "ada@example.org", "email": "eve@example.org"}, False),
        ("ada-", {"preferred_username": "ada-"}, False),
        ("ada", {"preferred_username": "ada?"}, False),
        ("user", {"preferred_username": None, "email_verified": False}, False),
        ("bea", {}, False),
    ],
)
def test_the_list_of_operators(
    provider: Provider, client: Client, settings: Settings, listed: str, person: dict[str, Any], is_operator: bool
) -> None:
    provider.person = {**ADA, **person}
    settings.OPERATORS = ["somebody", listed]
    logged_in(client)
    assert User.objects.get().is_operator is is_operator


def test_a_taken_name_of_an_operator_makes_none(provider: Provider, client: Client, settings: Settings) -> None:
    settings.OPERATORS = ["ada"]
    User.objects.create_user("ada")
    logged_in(client)
    assert not User.objects.filter(is_operator=True).exists()


def test_the_list_is_asked_at_each_log_in(provider: Provider, client: Client, settings: Settings) -> None:
    for operators, is_operator in ((["ada"], True), ([], False), (["ada@example.org"], True)):
        settings.OPERATORS = operators
        logged_in(client)
        assert User.objects.get().is_operator is is_operator


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "http://testserver@evil.example/",
        "http://localhost/",
        "\thttps://evil.example/",
    ],
)
def test_no_log_in_leads_to_another_site(
    provider: Provider, client: Client, settings: Settings, elsewhere: str
) -> None:
    settings.ALLOWED_HOSTS = ["testserver", "localhost"]
    answer = sent_back(address_there(client, next=elsewhere))
    assert client.get(f"{answer}&{urlencode({'next': elsewhere})}")["Location"] == "/"


def test_a_log_in_leads_back_to_the_page_that_was_wanted(provider: Provider, client: Client) -> None:
    assert logged_in(client, next="/projects/?page=2")["Location"] == "/projects/?page=2"


def test_the_session_is_a_new_one(provider: Provider, client: Client) -> None:
    """Whoever has planted a session in a browser is not logged in with it."""
    begun = sent_back(address_there(client))
    planted = str(client.session.session_key)
    client.get(begun)
    assert client.session.session_key != planted
    thief = Client()
    thief.cookies["placeto_session"] = planted
    assert is_in(client) and not is_in(thief)


def test_a_log_in_that_is_begun_leaves_nothing_for_long(provider: Provider, client: Client) -> None:
    """Each costs a row; whoever begins many fills no disk."""
    address_there(client)
    assert client.session.get_expiry_age() == 600
    logged_in(other := Client())
    assert other.session.get_expiry_age() == 14 * 24 * 3600
    assert not remove_old_sessions()
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert remove_old_sessions() and not remove_old_sessions()
    assert not Session.objects.exists() and not UserSession.objects.exists()


def test_somebody_else_logs_in_in_the_same_browser(provider: Provider, client: Client) -> None:
    logged_in(client)
    first = str(client.session.session_key)
    provider.person = BEA
    logged_in(client)
    assert client.session.session_key != first
    assert client.session["_auth_user_id"] == str(User.objects.get(username="bea").id)
    assert not client.session.__class__(first).exists(first)


def test_no_password_lets_anybody_in(provider: Provider, client: Client) -> None:
    User.objects.create_user("bea", password="a password of hers")
    assert not client.login(username="bea", password="a password of hers")


def test_the_first_operator_owns_what_nobody_owns(provider: Provider, client: Client, settings: Settings) -> None:
    settings.OPERATORS = ["bea"]
    old, owned = Project.objects.create(name="old"), Project.objects.create(name="owned")
    user = User.objects.create_user("cy")
    Membership.objects.create(project=owned, user=user, role=Membership.VIEWER)
    logged_in(client)
    assert Membership.objects.count() == 1
    provider.person = BEA
    for _ in range(2):
        logged_in(Client())
        found = Membership.objects.exclude(user=user).values_list("user__username", "project", "role")
        assert list(found) == [("bea", old.id, Membership.OWNER)]
    [entry] = entries("adopted projects")
    assert entry.note == "projects without a member: 1"


def test_an_operator_gives_a_subject_to_a_user_who_was_there(
    provider: Provider, client: Client, settings: Settings
) -> None:
    """In Django's admin: nothing else links them."""
    settings.OPERATORS = ["bea"]
    local = User.objects.create_user("Ada", password="a password of hers")
    logged_in(client)
    new, operator = User.objects.get(username="ada-2"), Client()
    provider.person = BEA
    logged_in(operator)
    account = SocialAccount.objects.get(user=new)
    listed = operator.get("/admin/socialaccount/socialaccount/")
    assert str(ADA["sub"]) in listed.content.decode()
    form = {
        "user": str(local.id),
        "provider": account.provider,
        "uid": account.uid,
        "extra_data": json.dumps(account.extra_data),
    }
    address = f"/admin/socialaccount/socialaccount/{account.id}/change/"
    assert operator.post(address, form).status_code == 302
    assert client.get(address).status_code == 403
    provider.person = ADA
    other = Client()
    logged_in(other)
    assert other.session["_auth_user_id"] == str(local.id)


def test_two_first_log_ins_at_once(provider: Provider, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one finds the subject taken when it stores it, and leaves no user behind."""
    answer, whole = sent_back(address_there(client)), ProviderAdapter.save_user

    def stored_meanwhile(self: ProviderAdapter, *more: Any, **named: Any) -> User:
        monkeypatch.undo()
        logged_in(Client())
        return whole(self, *more, **named)

    monkeypatch.setattr(ProviderAdapter, "save_user", stored_meanwhile)
    response = client.get(answer)
    assert response.status_code == 409 and "two log-ins at once" in response.content.decode()
    assert not is_in(client)
    assert [user.username for user in User.objects.all()] == ["ada"]
