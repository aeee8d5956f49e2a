"""What a view says of who may ask it. Without a mark, a request that only reads needs a viewer, any other an editor."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.http import HttpRequest

from webapp.projects.access import Role

View = TypeVar("View", bound=Callable[..., Any])
READING = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class AccessRule:
    """Who may ask a view."""

    role: Role | None = None
    """in the project of the address, whatever the method; None: as without a mark"""
    reading: Role | None = None
    """the role for a request that only reads, where it is another one"""
    anyone: bool = False
    """also who is not known: the view shows nothing of anybody, or checks a secret itself"""
    operators: bool = False
    """operators alone"""
    accounts: bool = False
    """only where there are accounts"""
    admin_scope: bool = False
    """a token needs the scope `admin`, whatever the role"""

    def role_for(self, request: HttpRequest) -> Role:
        """The role that a request needs."""
        if self.reading is not None and request.method in READING:
            return self.reading
        if self.role is not None:
            return self.role
        return Role.VIEWER if request.method in READING else Role.EDITOR


USUAL = AccessRule()


def ruled(rule: AccessRule) -> Callable[[View], View]:
    """Mark a view with `rule`."""

    def marked(view: View) -> View:
        view.access = rule  # type: ignore[attr-defined]
        return view

    return marked


def needs(role: Role) -> Callable[[View], View]:
    """Mark a view that needs `role`, whatever the method."""
    return ruled(AccessRule(role))


open_to_anyone = ruled(AccessRule(anyone=True))
operators_only = ruled(AccessRule(operators=True))
