"""Adds entries to the log of who did what."""

import uuid
from dataclasses import dataclass

from django.http import HttpRequest

from webapp.accounts.addresses import client_address
from webapp.accounts.models import LONGEST_USERNAME, AuditEntry
from webapp.accounts.visitor import Visitor, acting

LONGEST_NOTE = 300


def note(
    action: str,
    *,
    request: HttpRequest | None = None,
    visitor: Visitor | None = None,
    username: str | None = None,
    kind: str = "",
    row_id: uuid.UUID | None = None,
    project_id: uuid.UUID | None = None,
    words: str = "",
) -> None:
    """Add an entry. `visitor`: else who acts now. `username`: a name that was tried, in place of the visitor's."""
    who = acting() if visitor is None else visitor
    AuditEntry.objects.create(
        user=who.user,
        username=printable(who.username if username is None else username, LONGEST_USERNAME),
        token_id=None if who.token is None else who.token.id,
        action=action,
        kind=kind,
        row_id=row_id,
        project_id=project_id,
        address=None if request is None else client_address(request),
        note=printable(words, LONGEST_NOTE),
    )


def printable(text: str, longest: int) -> str:
    """One line of at most `longest` characters: what a stranger types is shown to operators."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text[:longest]
    )


@dataclass(frozen=True, slots=True)
class AuditSubject:
    """What a request was about, where its address does not say it."""

    kind: str
    row_id: uuid.UUID | None
    words: str


def tell(request: HttpRequest, kind: str, row_id: uuid.UUID | None, words: str) -> None:
    """Have the entry of `request` say what it was done to, and what exactly: `bob: owner`."""
    request.audit_subject = AuditSubject(kind, row_id, words)  # type: ignore[attr-defined]


def subject_of(request: HttpRequest) -> AuditSubject | None:
    """What a view has told of it."""
    found = getattr(request, "audit_subject", None)
    assert found is None or isinstance(found, AuditSubject)
    return found
