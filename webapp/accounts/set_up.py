"""The one-time link by which the first operator of an installation with passwords comes in."""

import hmac
import logging
import secrets
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction

from webapp.accounts.models import User
from webapp.accounts_mode import LOCAL

log = logging.getLogger(__name__)

FILE = "set-up-token"


def is_set_up() -> bool:
    """Whether there is an operator."""
    return User.objects.filter(is_operator=True, is_active=True).exists()


def token() -> str:
    """The token of the link, made at its first use and kept in the data folder, readable by its owner alone."""
    path = _path()
    if not path.exists():
        draft = path.with_name(f".{FILE}.{secrets.token_hex(8)}")
        draft.touch(mode=0o600, exist_ok=False)
        draft.write_text(secrets.token_urlsafe(32), encoding="ascii")
        try:
            path.hardlink_to(draft)
        except FileExistsError:  # another process was faster
            pass
        finally:
            draft.unlink()
    return path.read_text(encoding="ascii").strip()


def opens(given: str) -> bool:
    """Whether `given` is the token of an installation that waits for its first operator."""
    waits = settings.ACCOUNTS == LOCAL and not is_set_up()
    return waits and hmac.compare_digest(given.encode("utf-8", "replace"), token().encode())


def make_first_operator(username: str, email: str, password: str) -> User | None:
    """Store the first operator, and end the link; None if somebody else was faster."""
    with transaction.atomic():
        _wait_for_others()
        if is_set_up():
            return None
        user = User.objects.create_superuser(username, email, password)
    _path().unlink(missing_ok=True)
    return user


def _wait_for_others() -> None:
    """Until the transaction ends no other one adds a user; SQLite has one at a time that writes anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {User._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")


def announce() -> None:
    """Say the link in the log, as long as there is no operator."""
    if settings.ACCOUNTS == LOCAL and not is_set_up():
        log.warning("nobody can log in yet: open /accounts/set-up/%s/ to name the first operator", token())


def _path() -> Path:
    return Path(settings.DATA_FOLDER) / FILE
