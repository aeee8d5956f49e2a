"""Notes log-ins and log-outs in the log, and keeps the list of a user's sessions."""

from typing import Any

from allauth.usersessions.models import UserSession
from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from webapp.accounts import audit
from webapp.accounts.account_adapter import NO_ADDRESS
from webapp.accounts.addresses import client_address
from webapp.accounts.audit import printable
from webapp.accounts.models import User
from webapp.accounts.visitor import NOBODY, of_user

LONGEST_BROWSER = 200


@receiver(user_logged_in)
def _logged_in(request: HttpRequest, user: User, **_: Any) -> None:
    list_session(request, user)
    audit.note("log-in", request=request, visitor=of_user(user))


def list_session(request: HttpRequest, user: User) -> None:
    """Add the session to those that the user sees and may end."""
    if not request.session.session_key:
        request.session.save()
    where = {
        "ip": client_address(request) or NO_ADDRESS,
        "user_agent": printable(_browser(request), LONGEST_BROWSER),
    }
    UserSession.objects.update_or_create(session_key=request.session.session_key, defaults={"user": user, **where})


def _browser(request: HttpRequest) -> str:
    return str(request.headers.get("User-Agent", ""))


@receiver(user_logged_out)
def _logged_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    if user is not None:
        audit.note("log-out", request=request, visitor=of_user(user))


@receiver(user_login_failed)
def _failed(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    if request is not None and settings.AXES_ENABLED and AxesProxyHandler.is_locked(request, credentials):
        return  # an address that waits fills no log
    tried = str(credentials.get("username", ""))
    audit.note("log-in refused", request=request, visitor=NOBODY, username=tried)
