"""What django-allauth asks of the application at every log-in, whatever the mode."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from webapp.accounts.addresses import client_address
from webapp.accounts.models import User

NO_ADDRESS = "0.0.0.0"  # noqa: S104  not listened on: the list of sessions needs one, and a socket of the machine has none


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Believes proxies as the rest does, and sends nobody to another site."""

    def get_client_ip(self, request: HttpRequest) -> str:
        """The client's address."""
        return client_address(request) or NO_ADDRESS

    def login(self, request: HttpRequest, user: User) -> None:
        """Log `user` in, for as long as everybody: the session that a log-in begins with is a short one."""
        request.session.set_expiry(None)
        super().login(request, user)

    def is_safe_url(self, url: str | None) -> bool:
        """Whether a log-in may lead there: to this host alone."""
        request = context.request
        return url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())

    def add_message(self, *_arguments: Any, **_named: Any) -> None:
        """Nothing: the page that follows shows who is logged in."""
