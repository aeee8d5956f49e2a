"""The database's settings from its address."""

from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

_SCHEMES = ("sqlite", "postgres", "postgresql")
_SQLITE_OPTIONS = {
    # Write locks are taken at the start of a transaction and waited for: no "database is locked" among several writers.
    "transaction_mode": "IMMEDIATE",
    "timeout": 30,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}


def database(address: str) -> dj_database_url.DBConfig:
    """Django's settings for `address` (DATABASE_URL)."""
    scheme = urlsplit(address).scheme
    if scheme not in _SCHEMES:
        raise ImproperlyConfigured(
            f"DATABASE_URL begins with {scheme!r}; allowed: sqlite:///PATH, postgres://USER:PASSWORD@HOST:PORT/NAME"
        )
    try:
        settings = dj_database_url.parse(address)
    except ValueError as error:
        raise ImproperlyConfigured(f"DATABASE_URL is invalid: {error}") from None
    if scheme == "sqlite":
        settings["OPTIONS"] = settings.get("OPTIONS", {}) | _SQLITE_OPTIONS
    return settings
