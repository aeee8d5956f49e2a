"""Finds the user of an API token."""

from datetime import timedelta
from typing import Any

from django.db.models import F, QuerySet
from django.utils import timezone

from webapp.accounts.models import TOKEN_PREFIX, ApiToken, User, digest_of
from webapp.prepared_query import PreparedQuery

USE_IS_NOTED_EVERY = timedelta(minutes=1)
"""for each token: not every request of a busy script writes"""

_OF_TOKEN = [field.attname for field in ApiToken._meta.concrete_fields]
_OF_USER = [field.attname for field in User._meta.concrete_fields]


def _token_and_user(digest: str) -> QuerySet[Any, tuple[Any, ...]]:
    found = ApiToken.objects.filter(digest=digest, user__is_active=True)
    return found.values_list(*_OF_TOKEN, *(F(f"user__{name}") for name in _OF_USER))


_TOKEN_AND_USER = PreparedQuery(_token_and_user, digest=str)


def token_of(text: str) -> ApiToken | None:
    """The living token `text` of an active user; None for any other.

    The time that this takes reveals nothing about stored tokens: what is looked up is a digest, which a caller cannot
    choose.
    """
    if not text.startswith(TOKEN_PREFIX):
        return None
    row = _TOKEN_AND_USER.first(digest=digest_of(text))
    if row is None:
        return None
    found = ApiToken.from_db(None, _OF_TOKEN, row[: len(_OF_TOKEN)])
    found.user = User.from_db(None, _OF_USER, row[len(_OF_TOKEN) :])
    return None if found.has_expired else found


def note_use(row: Any) -> None:
    """Note that a token, or a link, was used now; at most once a minute, since one page asks many times."""
    now = timezone.now()
    if row.last_used_at is None or row.last_used_at < now - USE_IS_NOTED_EVERY:
        type(row)._default_manager.filter(id=row.id).update(last_used_at=now)
