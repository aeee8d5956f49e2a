"""The log of who did what is only added to: by the models, by the database, on SQLite and on PostgreSQL."""

import psycopg
import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, transaction

from tests.chaos.services import PostgreSQL
from tests.webapp.access.belongings import Belongings
from tests.webapp.access.people import Team, client_of
from webapp.accounts import audit
from webapp.accounts.models import AuditEntry, User

REFUSAL = "neither changed nor deleted"


@pytest.fixture
def entry(team: Team) -> AuditEntry:
    """One."""
    audit.note("test", words="as it was")
    found = AuditEntry.objects.filter(action="test").first()
    assert found is not None
    return found


def test_a_model_refuses(entry: AuditEntry) -> None:
    entry.note = "changed"
    with pytest.raises(ValidationError, match="never changed"):
        entry.save()
    with pytest.raises(ValidationError, match="never deleted"):
        entry.delete()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_auditentry SET note = 'changed'",
        "UPDATE accounts_auditentry SET username = 'somebody else' WHERE id = {}",
        "DELETE FROM accounts_auditentry",
        "DELETE FROM accounts_auditentry WHERE id = {}",
        "INSERT INTO accounts_auditentry (id, at, username, action, kind, note) VALUES "
        "({}, '2030-01-01', 'x', 'x', 'x', 'x') ON CONFLICT (id) DO UPDATE SET note = 'changed'",
    ],
)
def test_the_database_refuses(statement: str, entry: AuditEntry) -> None:
    with pytest.raises(DatabaseError, match=REFUSAL), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format(entry.id))
    assert AuditEntry.objects.get(id=entry.id).note == "as it was"


def test_querysets_are_refused_by_the_database(entry: AuditEntry) -> None:
    rows = AuditEntry.objects.filter(id=entry.id)
    for change in (lambda: rows.update(note="changed"), lambda: rows._raw_delete(rows.db), rows.delete):
        with pytest.raises((DatabaseError, ValidationError)), transaction.atomic():
            change()
    assert AuditEntry.objects.get(id=entry.id).note == "as it was"


def test_a_deleted_user_s_entries_stay(team: Team, entry: AuditEntry) -> None:
    """Nobody deletes a user, but a program may."""
    audit.note("by the stranger", username=team.stranger.username)
    User.objects.filter(id=team.stranger.id).delete()
    assert AuditEntry.objects.filter(username="stranger").exists()


def test_no_page_changes_it(team: Team, entry: AuditEntry) -> None:
    client = client_of(team.operator)
    for place in ("add/", f"{entry.id}/change/", f"{entry.id}/delete/", f"{entry.id}/history/"):
        client.post(f"/admin/accounts/auditentry/{place}", {"note": "changed", "post": "yes"})
    client.post(
        "/admin/accounts/auditentry/", {"action": "delete_selected", "_selected_action": [entry.id], "post": "yes"}
    )
    assert AuditEntry.objects.get(id=entry.id).note == "as it was"


def test_what_changes_something_is_logged_and_what_looks_is_not(team: Team, rows: Belongings) -> None:
    client = client_of(team.editor)
    before = AuditEntry.objects.count()
    client.get(f"/runs/{rows.run.id}/")
    client.post(f"/runs/{rows.run.id}/step", {"placement": "[]"})
    client.post(f"/projects/{rows.project.id}/delete/")
    assert AuditEntry.objects.count() == before, "looking, and what was refused"
    client.post(f"/runs/{rows.run.id}/rename/", {"name": "other"})
    entry = AuditEntry.objects.first()
    assert entry is not None and AuditEntry.objects.count() == before + 1
    said = (entry.user, entry.username, entry.action, entry.kind, entry.row_id, entry.project_id, entry.address)
    name = team.editor.username
    assert said == (team.editor, name, "runs:rename", "run", rows.run.id, rows.project.id, "127.0.0.1")


@pytest.mark.slow
def test_postgresql_refuses_too(postgresql: PostgreSQL) -> None:
    columns = "at, username, action, kind, note"
    insert = f"INSERT INTO accounts_auditentry ({columns}) VALUES (now(), 'x', 'test', '', 'as it was')"
    with psycopg.connect(postgresql.url, autocommit=True) as found:
        found.execute(insert)
        for statement in (
            "UPDATE accounts_auditentry SET note = 'changed'",
            "DELETE FROM accounts_auditentry",
            f"INSERT INTO accounts_auditentry (id, {columns}) "
            "SELECT id, at, 'y', action, kind, 'changed' FROM accounts_auditentry "
            "ON CONFLICT (id) DO UPDATE SET note = 'changed'",
        ):
            with pytest.raises(psycopg.Error, match=REFUSAL):
                found.execute(statement)
        assert found.execute("SELECT note FROM accounts_auditentry").fetchall() == [("as it was",)]
