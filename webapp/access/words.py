"""What templates know of the visitor's rights."""

from django.conf import settings
from django.http import HttpRequest

from webapp.accounts.visitor import visitor_of
from webapp.accounts_mode import LOCAL, OFF, OIDC, PROXY
from webapp.http.security_headers import has_secret_address
from webapp.projects.access import Role


def rights(request: HttpRequest) -> dict[str, object]:
    """Context: with_accounts, visitor, may_edit and may_own (in the project of the page), is_operator;
    has_log_out, and proxy_log_out, the address at which a proxy logs people out."""
    visitor = visitor_of(request)
    passage = getattr(request, "passage", None)
    may_anything = visitor.is_known and not has_secret_address(request)
    role = Role.OWNER if passage is None else passage.role
    return {
        "with_accounts": settings.ACCOUNTS != OFF,
        "visitor": visitor,
        "may_edit": may_anything and role >= Role.EDITOR,
        "may_own": may_anything and role >= Role.OWNER,
        "is_operator": visitor.may_everything,
        "has_log_out": settings.ACCOUNTS in (LOCAL, OIDC),
        "proxy_log_out": settings.PROXY_LOG_OUT if settings.ACCOUNTS == PROXY else "",
    }
