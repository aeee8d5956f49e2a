"""Decides whether a request may reach its view, notes who acts while it is answered, and logs what was done.

Who may not see a row gets the answer of a row that is not there; who may see it, but not do this, is told so.
"""

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from webapp.access.identity import API, living_session, visitor_who_sent, why_nobody
from webapp.access.marks import READING, USUAL, AccessRule
from webapp.access.rows import KINDS, Named, named_row
from webapp.accounts import audit
from webapp.accounts.addresses import is_forwarded, is_from_this_machine
from webapp.accounts.models import TokenScope, User
from webapp.accounts.visitor import Visitor, acting_as, of_user, visitor_of
from webapp.accounts_mode import OFF, PROXY
from webapp.http.operations import name_of, operation_of
from webapp.http.user_errors import error_answer, wants_json
from webapp.projects.access import Role, role_in

LOG_IN_FIRST = "Log in first."
ASKS_FOR_TOKEN = "Send a valid token: Authorization: Bearer plx_…"  # noqa: S105  not a secret
VIEWERS_LOOK = "You may look at this project, but not do this in it: ask one of its owners."
OPERATORS_ONLY = "Only operators may do this."
SCOPE_TOO_LOW = "This token allows less than this needs: make one with a higher scope."
NETWORK_CLOSED = (
    "This installation has no accounts, so it answers on its own machine alone. To let others in, set "
    "PLACETO_ACCOUNTS; or PLACETO_OPEN_TO_NETWORK=yes, and everybody who reaches it may do everything."
)
OTHER_SITE = "Another site has sent this request: the API takes such requests from programs alone."
ADMIN = AccessRule(operators=True, accounts=True)


@dataclass(slots=True)
class Passage:
    """What the gate has found out of a request; `request.passage`."""

    rule: AccessRule
    named: list[Named] = field(default_factory=list)
    role: Role = Role.OWNER
    """of the visitor in the project of the address; without one, the highest"""


class Gate:
    """Middleware, in front of every view."""

    sync_capable, async_capable = True, False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer it for its visitor, and log it if it has changed something."""
        visitor = visitor_who_sent(request)
        request.visitor = visitor  # type: ignore[attr-defined]
        with acting_as(visitor):
            response = self._get_response(request)
            if settings.ACCOUNTS != OFF and request.method not in READING and _has_done_something(response):
                _log(request)
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _arguments: Any, named: dict[str, Any]
    ) -> HttpResponse | None:
        """The refusal; None where the request may pass. Raises Http404."""
        rule = rule_of(request, view)
        passage = Passage(rule)
        request.passage = passage  # type: ignore[attr-defined]
        if settings.ACCOUNTS == OFF:
            return _without_accounts(request, rule)
        visitor = visitor_of(request)
        if rule.anyone:
            return None
        if not visitor.is_known:
            return _log_in_first(request)
        if rule.operators and not visitor.may_everything:
            return error_answer(request, HTTPStatus.FORBIDDEN, {"": [OPERATORS_ONLY]})
        passage.named = [_visible(visitor, name, key) for name, key in named.items() if name in KINDS]
        passage.role = min((row.role for row in passage.named), default=Role.OWNER)
        return _refusal(request, visitor, passage)


def _without_accounts(request: HttpRequest, rule: AccessRule) -> HttpResponse | None:
    if rule.accounts:
        raise Http404("This installation has no accounts.")
    is_near = is_from_this_machine(request) and not is_forwarded(request)
    if not settings.OPEN_TO_NETWORK and not is_near and not rule.anyone:
        return error_answer(request, HTTPStatus.FORBIDDEN, {"": [NETWORK_CLOSED]})
    if request.path.startswith(API) and request.method not in READING and _is_of_other_site(request):
        return error_answer(request, HTTPStatus.FORBIDDEN, {"": [OTHER_SITE]})
    return None


def _is_of_other_site(request: HttpRequest) -> bool:
    """Whether a browser says that another site has sent it; programs say nothing of sites."""
    site = request.headers.get("Sec-Fetch-Site", "none")
    origin = request.headers.get("Origin")
    own = f"{request.scheme}://{request.get_host()}"
    return site not in ("none", "same-origin") or origin not in (None, own)


def rule_of(request: HttpRequest, view: Callable[..., Any]) -> AccessRule:
    """The rule of the view that answers: its own mark, or that of the package that it is of."""
    match = request.resolver_match
    assert match is not None
    if match.app_name == "admin":
        return ADMIN
    rule = getattr(operation_of(view, request.method), "access", USUAL)
    assert isinstance(rule, AccessRule)
    return rule


def _visible(visitor: Visitor, name: str, row_id: object) -> Named:
    """The row that the address names. Raises Http404, with the same words if it is not there and if it is hidden."""
    row = named_row(visitor, name, uuid.UUID(str(row_id)))
    if row is None or not row.role:
        raise Http404(f"This {KINDS[name].what} does not exist, or it has been deleted.")
    return row


def _refusal(request: HttpRequest, visitor: Visitor, passage: Passage) -> HttpResponse | None:
    needed = passage.rule.role_for(request)
    as_much_as = Role.OWNER if passage.rule.admin_scope else needed
    scope_is_too_low = visitor.token is not None and not _allows(visitor.scope, as_much_as)
    if scope_is_too_low:
        return error_answer(request, HTTPStatus.FORBIDDEN, {"": [SCOPE_TOO_LOW]})
    if passage.role < needed:
        return error_answer(request, HTTPStatus.FORBIDDEN, {"": [VIEWERS_LOOK]})
    return None


def _allows(scope: str, needed: Role) -> bool:
    """Whether a token of `scope` is enough, be there a project or not."""
    if scope == TokenScope.ADMIN:
        return True
    if scope == TokenScope.WRITE:
        return needed < Role.OWNER
    return needed <= Role.VIEWER


def _log_in_first(request: HttpRequest) -> HttpResponse:
    if request.path.startswith(API):
        answer = error_answer(request, HTTPStatus.UNAUTHORIZED, {"": [ASKS_FOR_TOKEN]})
        answer["WWW-Authenticate"] = 'Bearer realm="Placeto Explorer"'
        return answer
    if settings.ACCOUNTS == PROXY:
        return error_answer(request, HTTPStatus.UNAUTHORIZED, {"": [why_nobody(request)]})
    if request.method in READING and not wants_json(request):
        return redirect_to_login(request.get_full_path())
    return error_answer(request, HTTPStatus.UNAUTHORIZED, {"": [LOG_IN_FIRST]})


def _has_done_something(response: HttpResponseBase) -> bool:
    """No, if it is an error, or the page of a form that was not valid."""
    is_page = response.headers.get("Content-Type", "").startswith("text/html")
    return response.status_code < HTTPStatus.BAD_REQUEST and not (is_page and response.status_code == HTTPStatus.OK)


def _log(request: HttpRequest) -> None:
    passage, match = getattr(request, "passage", None), request.resolver_match
    if passage is None or match is None or passage.rule.anyone or passage.rule.role_for(request) <= Role.VIEWER:
        return
    row, subject = passage.named[-1] if passage.named else None, audit.subject_of(request)
    action = name_of(match, request.method) or f"{request.method} {re.sub('<[^>]*>', '…', match.route)}"
    audit.note(
        action[:80],
        request=request,
        kind=subject.kind if subject else row.kind if row else "",
        row_id=subject.row_id if subject else row.row_id if row else None,
        project_id=row.project_id if row else None,
        words=subject.words if subject else "",
    )


def still_allowed(request: HttpRequest) -> Callable[[], bool] | None:
    """A function that says whether the visitor may still see what they asked for; None where nothing can change it."""
    if settings.ACCOUNTS == OFF:
        return None
    visitor, passage = visitor_of(request), getattr(request, "passage", Passage(USUAL))
    session_lives = living_session(request, visitor)

    def allowed() -> bool:
        now = visitor_now(visitor)
        return now is not None and session_lives() and all(_role_now(now, row) for row in passage.named)

    return allowed


def _role_now(visitor: Visitor, row: Named) -> bool:
    return row.is_shared or row.project_id is None or role_in(visitor, row.project_id) >= Role.VIEWER


def visitor_now(visitor: Visitor) -> Visitor | None:
    """The same visitor with today's rights; None for one who may nothing any more."""
    if visitor.user is None:
        return visitor
    user = User.objects.filter(id=visitor.user.id, is_active=True).first()
    if user is None:
        return None
    if visitor.token is not None and (token := user.tokens.filter(id=visitor.token.id).first()) is not None:
        return None if token.has_expired else of_user(user, token)
    return None if visitor.token is not None else of_user(user)
