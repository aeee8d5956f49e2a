"""Finds out who sends a request."""

import uuid
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from webapp.accounts import audit
from webapp.accounts.addresses import is_from_trusted_proxy, peer_of
from webapp.accounts.models import LONGEST_USERNAME, User
from webapp.accounts.operators import is_listed
from webapp.accounts.tokens import note_use, token_of
from webapp.accounts.visitor import NOBODY, THE_PERSON, Visitor, of_user
from webapp.accounts_mode import OFF, PROXY
from webapp.projects.adopting import adopt_projects

API = "/api/"
BEARER = "bearer"
COME_BY_PROXY = "Come in through the proxy in front of this installation: it alone says who you are."
NOT_BY_PROXY = (
    "This request names a user in {header}, but it comes from {peer}, which is none of PLACETO_TRUSTED_PROXIES: "
    "it is not believed."
)
NAMES_NOBODY = "The proxy in front of this installation does not say who you are: it must set {header}."
NOT_ACTIVE = "The account {name} is not active: ask an operator."
ODD_NAME = "The proxy names {name}, which is no name here: at most 150 letters, digits and @ . + - _"


def visitor_who_sent(request: HttpRequest) -> Visitor:
    """Who sent it. Cookies do not count for the API, so that no other site can use them there."""
    if settings.ACCOUNTS == OFF:
        return THE_PERSON
    if request.path.startswith(API):
        return _by_token(request)
    if settings.ACCOUNTS == PROXY:
        request.user = _named_by_proxy(request) or AnonymousUser()  # a session says nothing
    user = request.user
    if isinstance(user, AnonymousUser) or not user.is_active:
        return NOBODY
    assert isinstance(user, User)
    return of_user(user)


def living_session(request: HttpRequest, visitor: Visitor) -> Callable[[], bool]:
    """A function that says whether the session that `visitor` came by still counts: it ends when they log out, when it
    is ended in the list of sessions, and when the password changes. True for whoever came without one.
    """
    if visitor.user is None or visitor.token is not None or settings.ACCOUNTS == PROXY:
        return lambda: True
    user_id, session = visitor.user.id, request.session
    key, of_password = str(session.session_key), str(session.get(HASH_SESSION_KEY, ""))

    def lives() -> bool:
        user = User.objects.filter(id=user_id).first()
        same = user is not None and constant_time_compare(of_password, user.get_session_auth_hash())
        return same and session.exists(key)

    return lives


def _by_token(request: HttpRequest) -> Visitor:
    given = request.headers.get("Authorization", "")
    scheme, _, text = given.partition(" ")
    token = token_of(text.strip()) if scheme.lower() == BEARER else None
    if token is None:
        return NOBODY
    note_use(token)
    return of_user(token.user, token)


def _named_by_proxy(request: HttpRequest) -> User | None:
    """The user whom a trusted proxy names; a new one at their first visit."""
    name = _name_in_header(request)
    if not name or not is_from_trusted_proxy(request):
        return None
    user = User.objects.filter(username__iexact=name).first() or _new_user(request, name)
    if user is not None and user.is_active:
        _bring_up_to_date(user)
    return user


def _name_in_header(request: HttpRequest) -> str:
    """The name as a proxy has sent it, in UTF-8; in place of what cannot be shown, a character that no name has."""
    sent = request.headers.get(settings.PROXY_USER_HEADER, "").strip()
    try:
        name = sent.encode("latin-1").decode()
    except UnicodeError:
        return "\N{REPLACEMENT CHARACTER}"
    return audit.printable(User.normalize_username(name), LONGEST_USERNAME + 1)


def _new_user(request: HttpRequest, name: str) -> User | None:
    """Store the user `name`; None if it is no name."""
    user = User(username=name, is_operator=is_listed(name))
    user.set_unusable_password()
    try:
        user.clean_fields(exclude=["password"])
        with transaction.atomic():
            user.save(force_insert=True)
    except ValidationError:
        return None
    except IntegrityError:
        return User.objects.filter(username__iexact=name).first()  # another request has just stored it
    audit.note("first visit", request=request, visitor=of_user(user))
    return user


_looked_for_orphans: set[uuid.UUID] = set()
"""operators who have come in since this process began: projects without a member are none any more"""


def _bring_up_to_date(user: User) -> None:
    """Let PLACETO_OPERATORS decide who is an operator; the first one who comes in owns what is there."""
    if user.is_operator != is_listed(user.username):
        user.is_operator = is_listed(user.username)
        user.save(update_fields=["is_operator"])
    if user.is_operator and user.id not in _looked_for_orphans:
        adopt_projects(user)
        _looked_for_orphans.add(user.id)


def why_nobody(request: HttpRequest) -> str:
    """Why a request has no visitor, where a proxy names them."""
    header, name = settings.PROXY_USER_HEADER, _name_in_header(request)
    if not is_from_trusted_proxy(request):
        return NOT_BY_PROXY.format(header=header, peer=peer_of(request) or "a socket") if name else COME_BY_PROXY
    if not name:
        return NAMES_NOBODY.format(header=header)
    if User.objects.filter(username__iexact=name).exists():
        return NOT_ACTIVE.format(name=name)
    return ODD_NAME.format(name=name)
