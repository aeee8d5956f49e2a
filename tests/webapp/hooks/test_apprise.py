"""Messages to people by Apprise: the same rules of the network, plain text, and no need to have it installed."""

import builtins
import json
import logging
import subprocess
import sys
from typing import Any

import pytest
from pytest_django import Settings

from engine import api
from tests.webapp.hooks.conftest import Names, added
from tests.webapp.hooks.deliveries import ended, look_and_send, only
from tests.webapp.hooks.receiver import Receiver, receiving
from webapp.graphs.models import Graph
from webapp.hooks import reachable
from webapp.hooks.apprise_post import NOT_INSTALLED, one_line, plain, require_apprise_target, send_message
from webapp.hooks.forms import WebhookForm
from webapp.hooks.http_post import NotTakenError
from webapp.hooks.models import Delivery, Webhook
from webapp.projects.models import Project
from webapp.runs.models import Run


@pytest.fixture(autouse=True)
def _services(settings: Settings) -> None:
    settings.HOOKS_APPRISE = ["ntfy", "ntfys", "slack", "mailto"]


def ntfy(receiver: Receiver, host: str = "127.0.0.1") -> str:
    return f"ntfy://{host}:{receiver.port}/topic"


@pytest.mark.usefixtures("loopback_allowed")
def test_a_service_gets_title_and_text(receiver: Receiver) -> None:
    send_message(ntfy(receiver), "Title", "First line\nSecond line")
    [got] = receiver.got
    message = json.loads(got.body)
    assert (message["title"], message["message"]) == ("Title", "First line\nSecond line")


def test_a_service_inside_is_refused_before_it_is_reached(receiver: Receiver) -> None:
    with pytest.raises(NotTakenError, match=r"^The address 127\.0\.0\.1 is not a public one\.") as refused:
        send_message(ntfy(receiver), "Title", "Text")
    assert refused.value.is_final
    assert receiver.connections == 0


def test_a_name_is_judged_at_the_connection_whatever_it_resolved_to_before(receiver: Receiver, names: Names) -> None:
    names("rebinding.example", ["127.0.0.1"])
    with pytest.raises(NotTakenError, match="not a public one"):
        send_message(ntfy(receiver, "rebinding.example"), "Title", "Text")
    assert receiver.connections == 0


def test_an_address_of_this_machine_is_refused(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachable, "is_public", lambda _address: True)
    with pytest.raises(NotTakenError, match="is this machine's own"):
        send_message(ntfy(receiver), "Title", "Text")
    assert receiver.connections == 0


def test_mail_is_judged_too(receiver: Receiver) -> None:
    with pytest.raises(NotTakenError, match="not a public one"):
        send_message(f"mailto://a:b@example.org?smtp=127.0.0.1&port={receiver.port}&to=c@example.org", "T", "Text")
    assert receiver.connections == 0


def test_a_redirect_is_not_followed(receiver: Receiver, settings: Settings) -> None:
    settings.HOOKS_ALLOWED = ["127.0.0.1", "127.0.0.2"]
    with receiving(host="127.0.0.2") as inside:
        receiver.status, receiver.headers = 307, {"Location": inside.address("127.0.0.2")}
        with pytest.raises(NotTakenError, match="did not take the message"):
            send_message(ntfy(receiver), "Title", "Text")
        assert (receiver.connections, inside.connections) == (1, 0)


@pytest.mark.usefixtures("loopback_allowed")
def test_a_service_that_refuses(receiver: Receiver) -> None:
    receiver.status = 403
    with pytest.raises(NotTakenError, match="did not take the message") as refused:
        send_message(ntfy(receiver), "Title", "Text")
    assert not refused.value.is_final


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("json://127.0.0.1/", "the service json"),
        ("file:///etc/passwd", "the service file"),
        ("syslog://", "the service syslog"),
        ("dbus://", "the service dbus"),
        ("nonsense", "the service without a name"),
        ("ntfy://host/topic?verify=no", "the option verify"),
        ("ntfy://host/topic?Redirect=yes", "the option redirect"),
        ("ntfy://host/topic?rto=300", "the option rto"),
        ("ntfy://host/a b", "blanks"),
        ("ntfy://host/\r\nX: y", "blanks"),
        ("slack://", "no address of slack"),
    ],
)
def test_what_is_not_allowed_is_refused_in_one_line(target: str, what: str) -> None:
    with pytest.raises(api.SettingsError) as refused:
        require_apprise_target(target)
    assert what in str(refused.value) and "\n" not in str(refused.value)
    assert refused.value.field == "target"


def test_the_default_services_are_known_and_use_tls(settings: Settings) -> None:
    from apprise.manager_plugins import NotificationManager

    from webapp import settings as ours

    manager: Any = NotificationManager()  # type: ignore[no-untyped-call]  # Apprise is untyped
    for scheme in ours.HOOKS_APPRISE:
        assert scheme in manager, scheme
        plain_schemes = manager[scheme].protocol or ()
        assert scheme not in plain_schemes, f"{scheme} is without TLS"


def test_names_become_one_line_of_harmless_text() -> None:
    evil = "a\r\nBcc: all@example.org\x00\x1b[31m\u202eb\u2028c <!channel> @everyone"
    line = one_line(evil, 200)
    assert line == "a Bcc: all＠example.org [31m b c ‹!channel> ＠everyone"
    assert one_line("x" * 500, 120) == "x" * 119 + "…"
    assert plain("one\ntwo\r\nthree", 100) == "one\ntwo\nthree"


@pytest.mark.usefixtures("loopback_allowed", "transactional_db")
def test_a_run_is_told_to_people(project: Project, receiver: Receiver, ready_graph: Graph, run: Run) -> None:
    hook = added(project, ntfy(receiver), kind=Webhook.APPRISE)
    Run.objects.filter(id=run.id).update(name="first\r\nBcc: x\nhttp://evil", best_step_time_us=1234.5)
    ended(run, Run.DONE)
    [delivery] = look_and_send()
    assert (delivery.status, delivery.error, delivery.status_code) == (Delivery.DONE, "", None)
    message = json.loads(receiver.got[0].body)
    assert message["title"] == "A run has finished: first Bcc: x http://evil"
    assert message["message"].split("\n") == [
        "A run has finished in the project Placements.",
        "Graph: small.json",
        "Best step time: 1.234 ms",
        f"https://placeto.example.org/runs/{run.id}/",
    ]
    assert only(hook).status == Delivery.DONE


@pytest.mark.usefixtures("transactional_db")
def test_no_log_has_the_address(
    project: Project, receiver: Receiver, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    added(project, f"ntfy://user:TOKEN@127.0.0.1:{receiver.port}/SECRET", kind=Webhook.APPRISE)
    ended(run, Run.DONE)
    with caplog.at_level(logging.DEBUG):
        [delivery] = look_and_send()
    assert delivery.status == Delivery.FAILED
    assert "TOKEN" not in caplog.text + delivery.error and "SECRET" not in caplog.text + delivery.error


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = builtins.__import__

    def importing(name: str, *more: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "apprise":
            raise ImportError(name)
        return whole(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", importing)


@pytest.mark.usefixtures("not_installed")
def test_without_apprise_the_form_says_so_in_one_sentence() -> None:
    form = WebhookForm(_posted("ntfys://ntfy.example/topic"))
    assert not form.is_valid()
    assert form.errors["target"] == [NOT_INSTALLED]


@pytest.mark.usefixtures("not_installed", "transactional_db")
def test_without_apprise_a_delivery_fails_with_the_sentence(project: Project, run: Run) -> None:
    added(project, "ntfys://ntfy.example/topic", kind=Webhook.APPRISE)
    ended(run, Run.DONE)
    [delivery] = look_and_send()
    assert (delivery.status, delivery.error) == (Delivery.FAILED, f"{NOT_INSTALLED}.")


@pytest.mark.slow
def test_it_is_loaded_when_it_is_used_and_not_before() -> None:
    code = (
        "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'webapp.settings'; django.setup();"
        "import webapp.urls, webapp.hooks.sending; sys.exit('apprise' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def _posted(target: str) -> Any:
    from django.http import QueryDict

    posted = QueryDict(mutable=True)
    posted.update({"name": "Ours", "target": target, "events": "run.finished"})
    return posted
