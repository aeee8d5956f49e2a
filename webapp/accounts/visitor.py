"""Who asks: the person of an installation without accounts, a user, or nobody known."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.http import HttpRequest

from webapp.accounts.models import ApiToken, TokenScope, User


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks, and with which rights."""

    user: User | None = None
    """None: the person of an installation without accounts, or nobody known"""
    may_everything: bool = False
    """in every project"""
    token: ApiToken | None = None
    """the API's token that the request came with"""

    @property
    def is_known(self) -> bool:
        """Whether it is somebody who may use this installation."""
        return self.may_everything or self.user is not None

    @property
    def user_id(self) -> uuid.UUID | None:
        """Of the user, if there is one."""
        return None if self.user is None else self.user.id

    @property
    def username(self) -> str:
        """Of the user; empty without one."""
        return "" if self.user is None else self.user.username

    @property
    def scope(self) -> str:
        """What the token allows; without a token everything that its user may."""
        return TokenScope.ADMIN if self.token is None else self.token.scope


THE_PERSON = Visitor(may_everything=True)
"""of an installation without accounts; and the application itself, in workers and commands"""
NOBODY = Visitor()
"""somebody who has not logged in"""

_acting: ContextVar[Visitor] = ContextVar("acting", default=THE_PERSON)


def acting() -> Visitor:
    """Who acts now: the visitor of the request that is answered; outside of requests, the application itself."""
    return _acting.get()


@contextmanager
def acting_as(visitor: Visitor) -> Iterator[None]:
    """Act for `visitor` within the block."""
    reset = _acting.set(visitor)
    try:
        yield
    finally:
        _acting.reset(reset)


def of_user(user: User, token: ApiToken | None = None) -> Visitor:
    """The visitor that `user` is."""
    return Visitor(user, may_everything=user.is_operator, token=token)


def visitor_of(request: HttpRequest) -> Visitor:
    """Who sent the request, as the gate has found out."""
    visitor = getattr(request, "visitor", NOBODY)
    assert isinstance(visitor, Visitor)
    return visitor
