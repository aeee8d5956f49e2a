"""A machine asks whether the parts answer."""

import pytest
from django.db import DatabaseError
from django.test import Client

from webapp.celery import app
from webapp.pages import health


def test_it_says_ok_for_each_part(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "broker_fault", lambda: "")
    response = client.get("/health/")
    assert response.status_code == 200
    assert response.json() == {"database": "ok", "broker": "ok"}
    assert "no-store" in response.headers["Cache-Control"]


def test_a_broker_that_is_away_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(app.conf, "broker_read_url", "redis+socket:///nowhere/redis.sock")
        response = client.get("/health/")
    assert response.status_code == 503
    assert response.json()["database"] == "ok"
    assert response.json()["broker"].startswith("OperationalError: ")


def test_a_database_that_is_away_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        def cursor(self) -> None:
            raise DatabaseError("unable to open database file")

    monkeypatch.setattr(health, "connection", Away())
    monkeypatch.setattr(health, "broker_fault", lambda: "")
    response = client.get("/health/")
    assert response.status_code == 503
    assert response.json() == {"database": "DatabaseError: unable to open database file", "broker": "ok"}
