"""Finds out who sends a request."""

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from webapp.accounts.addresses import is_from_trusted_proxy
from webapp.accounts.models import User
from webapp.accounts.tokens import note_use, token_of
from webapp.accounts.visitor import NOBODY, THE_PERSON, Visitor, of_user

OFF, LOCAL, PROXY, OIDC = "off", "local", "proxy", "oidc"
API = "/api/"
BEARER = "Bearer "


def visitor_who_sent(request: HttpRequest) -> Visitor:
    """Who sent it. Cookies do not count for the API, so that no other site can use them there."""
    if settings.ACCOUNTS == OFF:
        return THE_PERSON
    if request.path.startswith(API):
        return _by_token(request)
    user = _named_by_proxy(request) if settings.ACCOUNTS == PROXY else request.user
    if isinstance(user, AnonymousUser) or user is None or not user.is_active:
        return NOBODY
    assert isinstance(user, User)
    return of_user(user)


def _by_token(request: HttpRequest) -> Visitor:
    given = request.headers.get("Authorization", "")
    token = token_of(given.removeprefix(BEARER).strip()) if given.startswith(BEARER) else None
    if token is None:
        return NOBODY
    note_use(token)
    return of_user(token.user, token)


def _named_by_proxy(request: HttpRequest) -> User | None:
    """The user whom a trusted proxy names; a new one at their first visit."""
    name = request.headers.get(settings.PROXY_USER_HEADER, "").strip()
    if not name or not is_from_trusted_proxy(request):
        return None
    user = User.objects.filter(username__iexact=name).first() or _new_user(name)
    if user is not None and user.is_operator != is_operator(name):
        user.is_operator = is_operator(name)
        user.save(update_fields=["is_operator"])
    return user


def _new_user(name: str) -> User | None:
    try:
        User(username=name).full_clean(exclude=["password"])
    except ValidationError:
        return None
    return User.objects.create_user(name)


def is_operator(name: str) -> bool:
    """Whether the operator's list has the name."""
    return name.casefold() in {each.casefold() for each in settings.OPERATORS}
