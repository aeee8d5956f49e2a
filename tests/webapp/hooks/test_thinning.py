"""The log of deliveries does not grow for ever, and nothing is told twice because of that."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from tests.webapp.hooks.conftest import added
from webapp.hooks import thinning
from webapp.hooks.models import Delivery, Webhook
from webapp.hooks.noting import OVERLAP
from webapp.hooks.thinning import thin_deliveries
from webapp.projects.models import Project


@pytest.fixture
def stored(project: Project) -> Webhook:
    return added(project, "https://hooks.example.org/")


def delivery(hook: Webhook, key: str, age: timedelta, status: str = Delivery.DONE) -> Delivery:
    row = Delivery.objects.create(webhook=hook, event="run.finished", key=key, body="{}", status=status)
    Delivery.objects.filter(id=row.id).update(created_at=Now() - age)
    return row


def left() -> set[str]:
    while thin_deliveries():
        pass
    return set(Delivery.all_rows.values_list("key", flat=True))


def test_old_ones_go_and_unended_ones_stay(stored: Webhook) -> None:
    delivery(stored, "old", timedelta(days=31))
    delivery(stored, "young", timedelta(days=29))
    delivery(stored, "waiting", timedelta(days=31), Delivery.QUEUED)
    assert left() == {"young", "waiting"}


def test_of_many_the_newest_stay(stored: Webhook, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinning, "KEPT_ROWS", 3)
    monkeypatch.setattr(thinning, "ROWS_A_STEP", 2)
    for hours in range(10):
        delivery(stored, f"{hours}", timedelta(hours=hours + 2))
    delivery(added(project, "https://hooks.example.org/"), "another's", timedelta(days=9))
    assert left() == {"0", "1", "2", "another's"}


def test_what_a_look_may_find_again_stays(stored: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinning, "KEPT_ROWS", 1)
    for number in range(5):
        delivery(stored, f"{number}", 2 * OVERLAP)
    assert len(left()) == 5
