"""Notes log-ins and log-outs in the log, and keeps the list of a user's sessions."""

from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from webapp.accounts import audit
from webapp.accounts.models import User
from webapp.accounts.visitor import NOBODY, of_user


@receiver(user_logged_in)
def _logged_in(request: HttpRequest, user: User, **_: Any) -> None:
    UserSession.objects.create_from_request(request, user=user)
    audit.note("log-in", request=request, visitor=of_user(user))


@receiver(user_logged_out)
def _logged_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    if user is not None:
        audit.note("log-out", request=request, visitor=of_user(user))


@receiver(user_login_failed)
def _failed(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    tried = str(credentials.get("username", ""))
    audit.note("log-in refused", request=request, visitor=NOBODY, username=tried)
