"""A person adds, tries, changes, switches and deletes webhooks of a project."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from tests.webapp.conftest import MemoryBroker
from tests.webapp.hooks.conftest import added
from webapp.hooks.bodies import ADDRESSES
from webapp.hooks.lifecycle import MOST_HOOKS
from webapp.hooks.models import Delivery, Webhook
from webapp.hooks.signing import secret_of
from webapp.jobs.models import Event
from webapp.projects.models import Project
from webapp.runs.models import Run

JSON = {"accept": "application/json"}
TARGET = "https://hooks.example.org/services/T0/TOKEN"


def posted(**changes: object) -> dict[str, Any]:
    return {"name": "Ours", "target": TARGET, "events": ["run.finished", "run.failed"], **changes}


@pytest.fixture
def stored(project: Project) -> Webhook:
    return added(project, TARGET, "run.finished")


def shown_secrets(page: bytes) -> set[str]:
    return set(re.findall(r"whsec_[\w-]+", page.decode()))


def test_it_is_added_and_its_secret_shown_this_once(client: Client, project: Project) -> None:
    answer = client.post(f"/projects/{project.id}/hooks/", posted(), headers={"host": "localhost"})
    assert answer.status_code == 201
    hook = Webhook.objects.get()
    assert (hook.name, hook.target, hook.kind) == ("Ours", TARGET, Webhook.WEBHOOK)
    assert hook.event_names == ("run.finished", "run.failed")
    assert hook.origin == "http://localhost"
    assert shown_secrets(answer.content) == {secret_of(hook)}
    for address in (f"/projects/{project.id}/hooks/", f"/hooks/{hook.id}/", f"/hooks/{hook.id}/edit/"):
        page = client.get(address)
        assert page.status_code == 200
        assert shown_secrets(page.content) == set()
        assert b"TOKEN" not in page.content, "an address may hold a token"
        assert b"hooks.example.org" in page.content
        assert "no-store" in page["Cache-Control"]


def test_the_database_has_no_secret(client: Client, project: Project) -> None:
    answer = client.post(f"/projects/{project.id}/hooks/", posted())
    [secret] = shown_secrets(answer.content)
    columns = Webhook.objects.values().get()
    assert not any(secret in str(value) or secret.removeprefix("whsec_") in str(value) for value in columns.values())


def test_a_new_secret_replaces_the_old_one(client: Client, stored: Webhook) -> None:
    old = secret_of(stored)
    [new] = shown_secrets(client.post(f"/hooks/{stored.id}/secret/").content)
    stored.refresh_from_db()
    assert new == secret_of(stored) != old


def test_another_secret_key_makes_another_secret(stored: Webhook, settings: Settings) -> None:
    old = secret_of(stored)
    settings.SECRET_KEY = "another key, as of another installation"
    assert secret_of(stored) != old


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"target": "https://127.0.0.1/"}, "target"),
        ({"target": "https://user:SECRET@example.org/"}, "target"),
        ({"target": ""}, "target"),
        ({"target": "json://SECRET/"}, "target"),
        ({"name": ""}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"events": []}, "events"),
        ({"events": ["test"]}, "events"),
        ({"events": ["run.finished", "made.up"]}, "events"),
    ],
)
def test_what_is_refused_stores_nothing_and_is_not_repeated(
    client: Client, project: Project, changes: dict[str, object], field: str
) -> None:
    address = f"/projects/{project.id}/hooks/"
    answer = client.post(address, posted(**changes), headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["errors"].keys() == {field}
    assert "SECRET" not in answer.content.decode()
    page = client.post(address, posted(**changes))
    assert page.status_code == 400 and b"errorlist" in page.content
    assert not Webhook.objects.exists()


def test_no_field_but_those_of_the_form_is_taken(client: Client, project: Project) -> None:
    other = Project.objects.create(name="Other")
    more = {"project": other.id, "project_id": other.id, "secret_salt": "x", "origin": "https://evil.example"}
    client.post(f"/projects/{project.id}/hooks/", posted(**more, kind="apprise", is_active=""))
    hook = Webhook.objects.get()
    assert (hook.project, hook.kind, hook.is_active) == (project, Webhook.WEBHOOK, True)
    assert hook.secret_salt != "x" and hook.origin == "http://testserver"


def test_edited_without_an_address_it_keeps_its_own(client: Client, stored: Webhook) -> None:
    answer = client.post(f"/hooks/{stored.id}/edit/", posted(name="Other", target="", events=["run.failed"]))
    assert answer.status_code == 302
    stored.refresh_from_db()
    assert (stored.name, stored.target, stored.event_names) == ("Other", TARGET, ("run.failed",))
    client.post(f"/hooks/{stored.id}/edit/", posted(target="https://else.example/"))
    stored.refresh_from_db()
    assert stored.target == "https://else.example/"


def test_a_test_is_queued_once(client: Client, stored: Webhook, broker: MemoryBroker) -> None:
    assert client.post(f"/hooks/{stored.id}/test/").status_code == 302
    assert broker.messages("cpu") == [["cpu"]]
    assert client.post(f"/hooks/{stored.id}/test/", headers=JSON).status_code == 409
    assert Delivery.objects.get().event == "test"


def test_it_is_switched_off_and_on(client: Client, stored: Webhook) -> None:
    client.post(f"/hooks/{stored.id}/switch/", {"on": "no"})
    assert not Webhook.objects.filter(is_active=True).exists()
    assert client.post(f"/hooks/{stored.id}/test/", headers=JSON).status_code == 409
    before = stored.listens_since
    client.post(f"/hooks/{stored.id}/switch/", {"on": "yes"})
    stored.refresh_from_db()
    assert (stored.is_active, stored.listens_since > before) == (True, True)


def test_it_is_deleted_with_its_log(client: Client, stored: Webhook) -> None:
    Delivery.objects.create(webhook=stored, event="run.finished", key="1", body="{}")
    page = client.get(f"/hooks/{stored.id}/delete/").content.decode()
    assert "Delete webhook" in page and "1 delivery" in page
    answer = client.post(f"/hooks/{stored.id}/delete/")
    assert answer["Location"] == f"/projects/{stored.project_id}/hooks/"
    assert not Webhook.objects.exists() and not Delivery.objects.exists()
    assert client.get(f"/hooks/{stored.id}/").status_code == 404


def test_the_log_shows_untrusted_text_as_text(client: Client, stored: Webhook) -> None:
    evil = '<script src="//evil"></script>'
    ended = {"status": Delivery.FAILED, "status_code": 500, "error": "It refuses the body (status 500)."}
    Delivery.objects.create(
        webhook=stored, event="run.finished", key="1", body=f'{{"x": "{evil}"}}', answer=evil, **ended
    )
    page = client.get(f"/hooks/{stored.id}/").content.decode()
    assert evil not in page and "&lt;script" in page
    assert "It refuses the body (status 500)." in page


def test_a_delivery_is_sent_again_once_it_has_ended(client: Client, stored: Webhook, broker: MemoryBroker) -> None:
    delivery = Delivery.objects.create(webhook=stored, event="run.finished", key="1", body="{}")
    address = f"/hooks/{stored.id}/deliveries/{delivery.id}/again/"
    assert client.post(address, headers=JSON).status_code == 409
    Delivery.objects.filter(id=delivery.id).update(status=Delivery.FAILED, tries=6)
    assert client.post(address).status_code == 302
    delivery.refresh_from_db()
    assert (delivery.status, delivery.tries) == (Delivery.QUEUED, 0)
    assert broker.messages("cpu") == [["cpu"]]


def test_a_delivery_of_another_webhook_is_not_there(client: Client, stored: Webhook, project: Project) -> None:
    other = added(project, TARGET)
    delivery = Delivery.objects.create(webhook=other, event="run.finished", key="1", body="{}", status=Delivery.FAILED)
    assert client.post(f"/hooks/{stored.id}/deliveries/{delivery.id}/again/").status_code == 404


def test_a_project_has_a_limit(client: Client, project: Project) -> None:
    for _ in range(MOST_HOOKS):
        added(project, TARGET)
    answer = client.post(f"/projects/{project.id}/hooks/", posted(), headers=JSON)
    assert answer.status_code == 413
    assert Webhook.objects.count() == MOST_HOOKS


def test_the_project_page_leads_there(client: Client, project: Project) -> None:
    address = f"/projects/{project.id}/hooks/"
    assert f'href="{address}"' in client.get(f"/projects/{project.id}/").content.decode()
    assert b"Add a webhook" in client.get(address).content


def test_links_lead_to_the_pages(run: Run) -> None:
    names = {"run": "runs:detail", "comparison": "comparisons:detail", "plansearch": "plans:detail"} | {
        "policy": "policies:detail"
    }
    for model, pattern in ADDRESSES.items():
        assert pattern.format(run.id) == reverse(names[str(model._meta.model_name)], args=[run.id])
    assert not Event.objects.exists()
