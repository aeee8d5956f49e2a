"""Users whom a proxy names: whom it is believed, who comes in, and what is refused in which words."""

import asyncio
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import HttpResponse
from django.test import Client, RequestFactory
from pytest_django import Settings

from webapp.access import identity
from webapp.access.identity import visitor_who_sent
from webapp.access.words import rights
from webapp.accounts.models import ApiToken, AuditEntry, User
from webapp.accounts.visitor import NOBODY
from webapp.http.handler import PooledHandler
from webapp.projects.models import Membership, Project

PROXY, INNER, STRANGER = "10.0.0.7", "10.1.2.3", "192.0.2.9"


@pytest.fixture(autouse=True)
def _by_proxy(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ACCOUNTS = "proxy"
    settings.AXES_ENABLED = False
    settings.AUTHENTICATION_BACKENDS = settings.BACKENDS_WITHOUT_PASSWORDS
    settings.TRUSTED_PROXIES = [PROXY, "10.1.0.0/16", "fd00::/8"]
    settings.PROXY_USER_HEADER, settings.OPERATORS = "Remote-User", []
    monkeypatch.setattr(identity, "_looked_for_orphans", set())


def asked(name: str | None, peer: str = PROXY, path: str = "/projects/", **more: Any) -> HttpResponse:
    """The answer to a request in which `peer` names `name`, as its bytes reach Django."""
    headers = {} if name is None else {"Remote-User": name.encode().decode("latin-1")}
    answer: HttpResponse = Client().get(path, REMOTE_ADDR=peer, headers={**headers, **more})  # type: ignore[assignment]
    return answer


def words_of(answer: HttpResponse) -> str:
    """The page, as people read it."""
    return answer.content.decode().replace("&#x27;", "'")


NOT_BELIEVED = "which is none of PLACETO_TRUSTED_PROXIES: it is not believed"
COME_BY_PROXY = "Come in through the proxy in front of this installation"
NAMES_NOBODY = "does not say who you are: it must set Remote-User"
ODD = "which is no name here"


@pytest.mark.parametrize(
    ("peer", "name", "refusal"),
    [
        (PROXY, "ada", None),
        (INNER, "ada", None),
        ("fd00::7", "ada", None),
        ("::ffff:10.0.0.7", "ada", None),
        (PROXY, "ada@example.org", None),
        (PROXY, " ada ", None),
        (PROXY, "müller", None),
        (PROXY, None, NAMES_NOBODY),
        (PROXY, "", NAMES_NOBODY),
        (PROXY, "  ", NAMES_NOBODY),
        (PROXY, "ada,bea", ODD),
        (PROXY, "ada bea", ODD),
        (PROXY, "../ada", ODD),
        (PROXY, "<script>", ODD),
        (PROXY, "ada\u202e", ODD),
        (PROXY, "a" * 151, ODD),
        (PROXY, "(null)", ODD),
        (STRANGER, "ada", NOT_BELIEVED),
        (STRANGER, None, COME_BY_PROXY),
        ("127.0.0.1", "ada", NOT_BELIEVED),
        ("::ffff:192.0.2.9", "ada", NOT_BELIEVED),
        ("", "ada", NOT_BELIEVED),
    ],
)
def test_who_comes_in(peer: str, name: str | None, refusal: str | None) -> None:
    answer = asked(name, peer)
    assert answer.status_code == (401 if refusal else 200)
    assert (refusal or "Projects") in words_of(answer)
    assert [user.username for user in User.objects.all()] == ([] if refusal else [str(name).strip()])
    assert AuditEntry.objects.filter(action="first visit").count() == (0 if refusal else 1)


def test_bytes_that_are_no_text_are_no_name() -> None:
    answer = Client().get("/projects/", REMOTE_ADDR=PROXY, headers={"Remote-User": "m\xfcller"})
    assert answer.status_code == 401 and not User.objects.exists()


def test_a_script_gets_the_sentence_as_json() -> None:
    answer = asked("ada", STRANGER, Accept="application/json")
    assert answer.status_code == 401
    assert NOT_BELIEVED in answer.json()["errors"][""][0]  # type: ignore[attr-defined]


def test_forwarded_for_makes_nobody_a_proxy() -> None:
    assert asked("ada", STRANGER, **{"X-Forwarded-For": PROXY}).status_code == 401


def test_a_second_visit_is_of_the_same_user() -> None:
    for name in ("ada", "Ada", "ADA"):
        assert asked(name).status_code == 200
    assert [user.username for user in User.objects.all()] == ["ada"]
    assert not User.objects.get().has_usable_password()


def test_an_inactive_user_stays_out(settings: Settings) -> None:
    settings.OPERATORS = ["ada"]
    User.objects.create_user("ada", is_active=False)
    answer = asked("ada")
    assert answer.status_code == 401 and "The account ada is not active" in words_of(answer)
    assert not User.objects.get().is_operator


def test_the_list_of_operators_is_asked_at_each_visit(settings: Settings) -> None:
    for operators, is_operator in (([], False), (["ADA"], True), (["bea"], False)):
        settings.OPERATORS = operators
        assert asked("ada").context["is_operator"] is is_operator  # type: ignore[attr-defined]
        assert User.objects.get().is_operator is is_operator


def test_the_first_operator_owns_what_nobody_owns(settings: Settings) -> None:
    settings.OPERATORS = ["bea"]
    project = Project.objects.create(name="old")
    asked("ada")
    assert not Membership.objects.exists()
    for _ in range(2):
        asked("bea")
        [membership] = Membership.objects.all()
        assert (membership.user.username, membership.project, membership.role) == ("bea", project, Membership.OWNER)


def test_a_session_of_somebody_else_says_nothing() -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("bea"), "webapp.accounts.backends.KnownUsers")
    assert client.get("/projects/", REMOTE_ADDR=PROXY).status_code == 401
    assert client.get("/projects/", REMOTE_ADDR=PROXY, headers={"Remote-User": "ada"}).status_code == 200
    assert client.get("/admin/", REMOTE_ADDR=PROXY, headers={"Remote-User": "ada"}).status_code in (403, 404)


def test_the_log_has_the_clients_own_address() -> None:
    client = Client()
    headers = {"Remote-User": "ada", "X-Forwarded-For": f"203.0.113.1, {STRANGER}, {INNER}"}
    client.post("/projects/", {"name": "new"}, REMOTE_ADDR=PROXY, headers=headers)
    assert Project.objects.filter(name="new").exists()
    for entry in AuditEntry.objects.all():
        assert (entry.username, entry.address) == ("ada", STRANGER)
    assert AuditEntry.objects.count() == 2


def test_csrf_is_checked_as_ever() -> None:
    """The proxy names whoever's browser it is, also if another site has made it ask."""
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/projects/", {"name": "new"}, REMOTE_ADDR=PROXY, headers={"Remote-User": "ada"})
    assert answer.status_code == 403 and not Project.objects.exists()


def test_the_api_takes_no_header_for_a_user(rf: RequestFactory) -> None:
    request = rf.get("/api/v1/me", REMOTE_ADDR=PROXY, headers={"Remote-User": "ada"})
    assert visitor_who_sent(request) == NOBODY
    _, token = ApiToken.make(User.objects.create_user("bea"), "script", "read")
    request = rf.get("/api/v1/me", headers={"Remote-User": "ada", "Authorization": f"Bearer {token}"})
    assert visitor_who_sent(request).username == "bea"
    assert not User.objects.filter(username="ada").exists()


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize("header", ["remote_user", "Remote_User"])
def test_a_header_that_only_looks_like_it(header: str) -> None:
    """Proxies remove the header that they set; a client may send its twin with an underscore."""

    async def status() -> int:
        headers = [(b"host", b"localhost"), (header.lower().encode(), b"ada")]
        scope = {"type": "http", "method": "GET", "path": "/projects/", "query_string": b"", "headers": headers}
        whole = {**scope, "client": (PROXY, 1), "server": ("x", 80)}
        communicator: Any = ApplicationCommunicator(PooledHandler(), whole)  # type: ignore[no-untyped-call]
        await communicator.send_input({"type": "http.request", "body": b""})
        return int((await communicator.receive_output(10))["status"])

    assert asyncio.run(status()) == 401
    assert not User.objects.exists()


def test_two_first_visits_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one finds the name taken when it stores it."""
    whole = User.clean_fields

    def stored_meanwhile(self: User, exclude: Any = None) -> None:
        whole(self, exclude)
        User.objects.create_user("ada")

    monkeypatch.setattr(User, "clean_fields", stored_meanwhile)
    assert asked("ada").status_code == 200
    assert User.objects.count() == 1


@pytest.mark.parametrize(("mode", "has_log_out", "address"), [("proxy", False, "/out"), ("oidc", True, "")])
def test_what_pages_show_of_logging_out(
    rf: RequestFactory, settings: Settings, mode: str, has_log_out: bool, address: str
) -> None:
    settings.ACCOUNTS, settings.PROXY_LOG_OUT = mode, "/out"
    context = rights(rf.get("/"))
    assert (context["has_log_out"], context["proxy_log_out"]) == (has_log_out, address)
