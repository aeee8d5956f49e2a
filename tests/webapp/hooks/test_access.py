"""Who may see and change webhooks: editors of the project, since addresses may hold tokens."""

from collections.abc import Callable

import pytest
from django.test import Client
from pytest_django import Settings

from tests.webapp.hooks.conftest import added
from webapp.access import gate
from webapp.accounts.models import User
from webapp.accounts.visitor import NOBODY, of_user
from webapp.hooks.models import Delivery, Webhook
from webapp.projects.models import Membership, Project

VISITORS = {None: (401, 401), "stranger": (404, 404), "viewer": (403, 403), "editor": (200, 302), "owner": (200, 302)}
"""who → the status of a page, and of a form that is sent"""


@pytest.fixture
def stored(project: Project) -> Webhook:
    return added(project, "https://hooks.example.org/TOKEN")


@pytest.fixture
def browser_of(
    settings: Settings, project: Project, client: Client, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str | None], Client]:
    """The browser, in which somebody of that role has logged in, or nobody."""
    settings.ACCOUNTS = "local"

    def browser(who: str | None) -> Client:
        visitor = NOBODY
        if who is not None:
            user = User.objects.create_user(who)
            visitor = of_user(user)
            if who != "stranger":
                Membership.objects.create(project=project, user=user, role=who)
        monkeypatch.setattr(gate, "visitor_who_sent", lambda _request: visitor)
        return client

    return browser


@pytest.mark.parametrize("who", VISITORS, ids=str)
def test_only_editors(who: str | None, browser_of: Callable[[str | None], Client], stored: Webhook) -> None:
    ended = {"status": Delivery.FAILED, "answer": "ANSWER"}
    delivery = Delivery.objects.create(webhook=stored, event="run.finished", key="1", body="{}", **ended)
    client, (page, sent) = browser_of(who), VISITORS[who]
    of_project, of_hook = f"/projects/{stored.project_id}/hooks/", f"/hooks/{stored.id}/"
    for address in (of_project, of_hook, f"{of_hook}edit/", f"{of_hook}delete/"):
        answer = client.get(address, headers={"accept": "application/json" if who is None else "text/html"})
        assert answer.status_code == page, address
        if page != 200:
            assert b"hooks.example.org" not in answer.content and b"ANSWER" not in answer.content
    again = f"{of_hook}deliveries/{delivery.id}/again/"
    for address in (f"{of_hook}test/", f"{of_hook}switch/", again, f"{of_hook}delete/"):
        headers = {"accept": "application/json"} if who is None else {}
        assert client.post(address, {"on": "yes"}, headers=headers).status_code == sent, address
    assert Webhook.objects.filter(id=stored.id).exists() == (sent != 302)


def test_a_delivery_of_a_project_that_is_not_ones_own_is_not_sent_by_ones_own_webhook(
    browser_of: Callable[[str | None], Client], project: Project
) -> None:
    elsewhere = added(Project.objects.create(name="Other"), "https://hooks.example.org/")
    ended = {"status": Delivery.FAILED}
    delivery = Delivery.objects.create(webhook=elsewhere, event="run.finished", key="1", body="{}", **ended)
    own = added(project, "https://hooks.example.org/")
    client = browser_of("editor")
    assert client.post(f"/hooks/{own.id}/deliveries/{delivery.id}/again/").status_code == 404
    assert client.post(f"/hooks/{elsewhere.id}/deliveries/{delivery.id}/again/").status_code == 404
    delivery.refresh_from_db()
    assert delivery.status == Delivery.FAILED
