"""Finds the user of an API token."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from webapp.accounts.models import TOKEN_PREFIX, ApiToken, digest_of

USE_IS_NOTED_EVERY = timedelta(minutes=1)
"""for each token: not every request of a busy script writes"""


def token_of(text: str) -> ApiToken | None:
    """The living token `text` of an active user; None for any other.

    The time that this takes reveals nothing about stored tokens: what is looked up is a digest, which a caller cannot
    choose.
    """
    if not text.startswith(TOKEN_PREFIX):
        return None
    found = ApiToken.objects.select_related("user").filter(digest=digest_of(text), user__is_active=True).first()
    return None if found is None or found.has_expired else found


def note_use(row: Any) -> None:
    """Note that a token, or a link, was used now; at most once a minute, since one page asks many times."""
    now = timezone.now()
    if row.last_used_at is None or row.last_used_at < now - USE_IS_NOTED_EVERY:
        type(row)._default_manager.filter(id=row.id).update(last_used_at=now)
