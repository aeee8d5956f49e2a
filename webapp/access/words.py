"""What templates know of the visitor's rights."""

from django.conf import settings
from django.http import HttpRequest

from webapp.access.identity import OFF
from webapp.accounts.visitor import visitor_of
from webapp.projects.access import Role


def rights(request: HttpRequest) -> dict[str, object]:
    """Context: with_accounts, visitor, may_edit and may_own (in the project of the page), is_operator."""
    visitor = visitor_of(request)
    passage = getattr(request, "passage", None)
    role = Role.OWNER if passage is None else passage.role
    return {
        "with_accounts": settings.ACCOUNTS != OFF,
        "visitor": visitor,
        "may_edit": visitor.is_known and role >= Role.EDITOR,
        "may_own": visitor.is_known and role >= Role.OWNER,
        "is_operator": visitor.may_everything,
    }
