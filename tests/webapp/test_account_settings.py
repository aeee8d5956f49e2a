"""The settings of accounts: what is refused at the start, and what a check warns of."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from webapp import checks, environment


@pytest.mark.parametrize("words", ["10.0.0.300", "proxy.example.org", "10.0.0.0/33", "10.0.0.7;10.0.0.8"])
def test_proxies_that_are_no_networks_are_refused(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.setenv("PROXIES", f"10.0.0.7, {words}")
    with pytest.raises(ImproperlyConfigured, match=r"^PROXIES='.*' is invalid; allowed: addresses or networks"):
        environment.networks("PROXIES")


@pytest.mark.parametrize("name", ["Remote_User", "Remote User", "X:User"])
def test_odd_headers_are_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("HEADER", name)
    with pytest.raises(ImproperlyConfigured, match=r"^HEADER='.*' is invalid; allowed: the name of a header"):
        environment.header("HEADER", "Remote-User")


@pytest.mark.parametrize(
    ("value", "is_allowed"),
    [
        ("/oauth2/sign_out", True),
        ("https://auth.example.org/out?rd=/", True),
        ("javascript:alert(1)", False),
        ("//evil.example", False),
        ("oauth2/sign_out", False),
        ("", True),
    ],
)
def test_where_to_log_out(monkeypatch: pytest.MonkeyPatch, value: str, is_allowed: bool) -> None:
    monkeypatch.setenv("LOG_OUT", value)
    if is_allowed:
        assert environment.place("LOG_OUT") == value
        return
    with pytest.raises(ImproperlyConfigured, match=r"^LOG_OUT="):
        environment.place("LOG_OUT")


@pytest.mark.parametrize(
    ("value", "is_allowed"),
    [
        ("https://id.example.org/realms/team", True),
        ("http://127.0.0.1:5556/dex", True),
        ("http://id.example.org", False),
        ("https://", False),
        ("id.example.org", False),
        ("https://id.example.org/?a=b", False),
        ("https://user:password@id.example.org", False),
    ],
)
def test_the_address_of_a_provider(monkeypatch: pytest.MonkeyPatch, value: str, is_allowed: bool) -> None:
    monkeypatch.setenv("ADDRESS", value)
    if is_allowed:
        assert environment.web_address("ADDRESS") == value
        return
    with pytest.raises(ImproperlyConfigured, match=r"^ADDRESS="):
        environment.web_address("ADDRESS")


def test_what_a_mode_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE", "1")
    environment.require("MODE=a", "ONE")
    with pytest.raises(ImproperlyConfigured, match=r"^MODE=a also needs TWO and THREE$"):
        environment.require("MODE=a", "ONE", "TWO", "THREE")


def test_checks(settings: Settings) -> None:
    def ids() -> list[str | None]:
        every = (checks.check_operators, checks.check_trusted_proxies, checks.check_provider)
        return [message.id for check in every for message in check()]

    settings.ACCOUNTS, settings.OPERATORS, settings.TRUSTED_PROXIES = "proxy", [], ["10.0.0.7"]
    assert ids() == ["placeto.W003"]
    settings.OPERATORS = ["ada"]
    assert ids() == []
    settings.TRUSTED_PROXIES = ["10.0.0.7", "0.0.0.0/0"]
    assert ids() == ["placeto.E004"]
    settings.ACCOUNTS = "oidc"
    assert ids() == ["placeto.E005"]
    settings.OIDC_ADDRESS, settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = "https://id.example", "a", "secrets"
    assert ids() == []
