"""The address of a mail server, as Django's settings."""

from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
ALLOWED = "smtp://host, smtp+tls://user:password@host:587 or smtps://user:password@host"


def mail_settings(address: str) -> dict[str, Any]:
    """Django's settings for `address`. Raises ImproperlyConfigured, without what may be a password."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in PORTS or not parts.hostname:
        raise ImproperlyConfigured(f"PLACETO_MAIL is invalid; allowed: {ALLOWED}")
    return {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port or PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_TIMEOUT": 10,
    }
