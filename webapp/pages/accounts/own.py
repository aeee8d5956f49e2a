"""One's own account: sessions, tokens of the API, limits."""

import uuid
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from allauth.usersessions.models import UserSession
from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from webapp.access.marks import AccessRule, ruled
from webapp.accounts import audit
from webapp.accounts.models import ApiToken, TokenScope, User
from webapp.accounts.quotas import quota_of
from webapp.accounts.visitor import visitor_of
from webapp.http.user_errors import refused_form

own_only = ruled(AccessRule(accounts=True))
MOST_TOKENS = 50
NEVER = "never"
LIFETIMES = (("30", "30 days"), ("90", "90 days"), ("365", "a year"), (NEVER, "no end"))
USUAL_DAYS = "90"


class TokenForm(forms.Form):
    """A new token."""

    name = forms.CharField(label="Name", max_length=100, help_text="What will use it, such as the name of a script.")
    scope = forms.ChoiceField(label="It may", choices=TokenScope.choices)
    days = forms.ChoiceField(label="It ends after", choices=LIFETIMES, required=False, initial=USUAL_DAYS)

    def clean_name(self) -> str:
        """One printable line."""
        name: str = self.cleaned_data["name"]
        if not name.isprintable():
            raise forms.ValidationError("The name has characters that cannot be shown; allowed: printable ones.")
        return name


@own_only
@require_safe
@never_cache
def own(request: HttpRequest) -> HttpResponse:
    """The page."""
    return _page(request)


def _page(
    request: HttpRequest, form: TokenForm | None = None, new_token: str = "", status: int = HTTPStatus.OK
) -> HttpResponse:
    """Context: account, sessions, tokens, token_form, new_token (shown this once), quota."""
    user = _user_of(request)
    context = {
        "account": user,
        "sessions": UserSession.objects.purge_and_list(user),
        "tokens": user.tokens.all(),
        "token_form": form or TokenForm(),
        "new_token": new_token,
        "quota": quota_of(user),
    }
    return render(request, "accounts/own.html", context, status=status)


@own_only
@require_POST
@never_cache
def make_token(request: HttpRequest) -> HttpResponse:
    """Make a token, and show it this once."""
    form, user = TokenForm(request.POST), _user_of(request)
    if form.is_valid() and user.tokens.count() >= MOST_TOKENS:
        form.add_error(None, f"{MOST_TOKENS} tokens; allowed: fewer. Revoke one that is not used.")
    if not form.is_valid():
        return refused_form(request, form, lambda **named: _page(request, form, **named))
    asked: dict[str, Any] = form.cleaned_data
    days = asked["days"] or USUAL_DAYS
    ends = None if days == NEVER else timezone.now() + timedelta(days=int(days))
    row, token = ApiToken.make(user, asked["name"], asked["scope"], ends)
    audit.tell(request, "token", row.id, f"{row}, {row.scope}")
    return _page(request, new_token=token, status=HTTPStatus.CREATED)


@own_only
@require_POST
def revoke_token(request: HttpRequest, token_id: uuid.UUID) -> HttpResponse:
    """Revoke one's own token. Raises Http404 for any other."""
    if not _user_of(request).tokens.filter(id=token_id).delete()[0]:
        raise Http404("This token does not exist, or it has been revoked.")
    audit.tell(request, "token", token_id, "revoked")
    return redirect("accounts:own")


@own_only
@require_POST
def end_session(request: HttpRequest, session_number: int) -> HttpResponse:
    """End one's own session. Raises Http404 for any other."""
    session = UserSession.objects.filter(user=_user_of(request), id=session_number).first()
    if session is None:
        raise Http404("This session does not exist, or it has ended.")
    session.end()
    return redirect("accounts:own")


def _user_of(request: HttpRequest) -> User:
    user = visitor_of(request).user
    assert user is not None, "the gate lets users in, and nobody else"
    return user
