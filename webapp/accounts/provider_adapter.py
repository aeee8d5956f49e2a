"""Whom an OpenID provider lets in, and who they are here. Nobody becomes somebody who is there already."""

import logging
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import requests
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from django.conf import settings
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from engine import api
from webapp.accounts.audit import printable
from webapp.accounts.claims import Claims
from webapp.accounts.free_names import store_under_free_name, wanted_name
from webapp.accounts.models import User
from webapp.accounts.open_id import OpenIDError, OpenIDProvider, the_client
from webapp.accounts.operators import is_operator

log = logging.getLogger(__name__)

GIVEN_UP = "You have given up the log-in. Begin it again when you like."
TOO_OLD = "This log-in is too old, was used already, or was begun in another browser. Begin it again."
NOT_AS_IT_SHOULD = "{name} has not answered as it should, so it logs nobody in now. The server's log has the details."
AT_ONCE = "You have begun two log-ins at once. Begin one again."
NOT_ACTIVE = "The account {name} is not active: ask an operator."
DOMAINS = "Only who has a verified e-mail address of {domains} may come in."

LONGEST_REASON = 200


class LogInRefusedError(api.PlacetoError):
    """Somebody is not let in."""

    def __init__(self, sentence: str, status: HTTPStatus = HTTPStatus.FORBIDDEN, *, username: str = "") -> None:
        super().__init__(sentence)
        self.status = status
        self.username = username
        """who it seems to be; empty if nobody has said it"""


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Lets people in whom the provider knows, each as a user of their own."""

    def list_apps(self, *_arguments: Any, **_named: Any) -> list[SocialApp]:
        """The provider of the settings, and none of the database."""
        return [the_client()]

    def get_provider(self, request: HttpRequest, *_arguments: Any, **_named: Any) -> OpenIDProvider:
        """The same."""
        return OpenIDProvider(request, app=the_client())

    def get_requests_session(self) -> requests.Session:
        """What asks the provider; a refusal goes to the log, without what was asked."""
        session: requests.Session = super().get_requests_session()
        session.hooks["response"].append(_log_refusal)
        return session

    def authenticate_by_email(self, _login: SocialLogin) -> None:
        """Nobody: an e-mail address makes nobody a user who is there."""

    def is_open_for_signup(self, _request: HttpRequest, _login: SocialLogin) -> bool:
        """Whether new people may come in: `pre_social_login` has decided it."""
        return True

    def populate_user(self, _request: HttpRequest, login: SocialLogin, _data: dict[str, Any]) -> User:
        """The user that somebody new becomes."""
        claims = Claims.of(login.account.extra_data)
        user: User = login.user
        user.username, user.email = wanted_name(claims), claims.verified_email
        return user

    def pre_social_login(self, _request: HttpRequest, login: SocialLogin) -> None:
        """Bring a user who is there up to date. Raises LogInRefusedError for whoever stays out."""
        claims = Claims.of(login.account.extra_data)
        user: User = login.user
        _require_domain(claims, user.username)
        if login.is_existing:
            if not user.is_active:
                raise LogInRefusedError(NOT_ACTIVE.format(name=user.username), username=user.username)
            user.email, user.is_operator = claims.verified_email, is_operator(claims, user.username)
            user.save(update_fields=["email", "is_operator"])

    def save_user(self, _request: HttpRequest, login: SocialLogin, _form: None = None, **_named: Any) -> User:
        """Store somebody new under a free name. Raises LogInRefusedError if another log-in has just done it."""
        claims = Claims.of(login.account.extra_data)
        user: User = login.user
        try:
            with transaction.atomic():
                store_under_free_name(user, wanted_name(claims))
                if is_operator(claims, user.username):
                    user.is_operator = True
                    user.save(update_fields=["is_operator"])
                login.account.user = user
                login.account.save()
        except IntegrityError:
            raise LogInRefusedError(AT_ONCE, HTTPStatus.CONFLICT) from None
        return user

    def on_authentication_error(
        self,
        _request: HttpRequest,
        _provider: object,
        error: str | None = None,
        exception: Exception | None = None,
        **_named: object,
    ) -> None:
        """Raise LogInRefusedError: every failure has the application's own page."""
        if exception is not None:
            raise failed(exception)
        raise LogInRefusedError(GIVEN_UP if error == AuthError.CANCELLED else TOO_OLD)

    def send_notification_mail(self, *_arguments: Any, **_named: Any) -> None:
        """Nothing."""


def failed(exception: Exception) -> LogInRefusedError:
    """The refusal for what went wrong between this installation and the provider."""
    reason = str(exception) if isinstance(exception, OpenIDError) else type(exception).__name__
    log.warning("OpenID: nobody is let in: %s", printable(reason, LONGEST_REASON))
    return LogInRefusedError(NOT_AS_IT_SHOULD.format(name=settings.OIDC_NAME), HTTPStatus.BAD_GATEWAY)


def _require_domain(claims: Claims, username: str) -> None:
    allowed = [domain.lower() for domain in settings.OIDC_DOMAINS]
    if allowed and claims.domain not in allowed:
        raise LogInRefusedError(DOMAINS.format(domains=" or ".join(allowed)), username=username)


def _log_refusal(response: requests.Response, *_arguments: Any, **_named: Any) -> None:
    if response.ok:
        return
    try:
        answer = response.json()
    except ValueError:
        answer = {}
    reason = str(answer.get("error", "")) if isinstance(answer, dict) else ""
    where = urlsplit(response.url).path
    log.warning(
        "OpenID: the provider answers %d %s at %s", response.status_code, printable(reason, LONGEST_REASON), where
    )
