"""Links by which a user sets a password, once and for a few days: an operator hands them out, or a mail."""

from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from webapp.accounts.models import User


def password_path(user: User) -> str:
    """The path of a new link for `user`; it ends when it is used, or the password changes."""
    name = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("accounts:set-password", args=[name, default_token_generator.make_token(user)])
