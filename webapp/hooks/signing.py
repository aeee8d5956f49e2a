"""Secrets of webhooks, and signatures by them.

A signature needs the secret itself, not its digest. So that neither the database nor a backup holds it, it is made anew
each time, of the row's id, its salt and this installation's secret key. Another salt makes another secret.
"""

import base64
import hmac
import secrets

from django.utils.crypto import salted_hmac

from webapp.hooks.models import Webhook

PREFIX = "whsec_"
SALT_BYTES = 24
_PURPOSE = "webapp.hooks.secret"


def new_salt() -> str:
    """A salt for a new secret."""
    return secrets.token_urlsafe(SALT_BYTES)


def secret_of(hook: Webhook) -> str:
    """The secret, which the receiver has too: shown once, when it is made."""
    made = salted_hmac(_PURPOSE, f"{hook.id.hex}.{hook.secret_salt}", algorithm="sha256").digest()
    return PREFIX + base64.urlsafe_b64encode(made).decode("ascii").rstrip("=")


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """`sha256=…`: HMAC of `timestamp.body`, so that an old request cannot be sent again as a new one."""
    signed = str(timestamp).encode("ascii") + b"." + body
    return "sha256=" + hmac.new(secret.encode("ascii"), signed, "sha256").hexdigest()
