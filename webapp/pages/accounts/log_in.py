"""Logging in and out, and the answer to an address that has tried too often."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth import views
from django.contrib.auth.forms import AuthenticationForm
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from webapp.access.marks import AccessRule, ruled
from webapp.accounts.set_up import is_set_up
from webapp.accounts_mode import LOCAL
from webapp.http.user_errors import error_answer

WAIT = "Too many log-ins were refused from your address. Try again in a quarter of an hour."
REFUSED = "This name and password do not go together, or the account is not active."
NO_PASSWORDS = "Nobody logs in by a password here."
public = ruled(AccessRule(anyone=True, accounts=True))


class LogInForm(AuthenticationForm):
    """Name and password; whatever is wrong, the same sentence."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.error_messages = {"invalid_login": REFUSED, "inactive": REFUSED}


@method_decorator(never_cache, name="dispatch")
class LogIn(views.LoginView):
    """The page; a POST logs in. It leads back to where the visitor came from, on this site alone."""

    template_name = "accounts/log_in.html"
    authentication_form = LogInForm
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        """Answer; without passwords the page says who lets people in."""
        if request.method == "POST" and settings.ACCOUNTS != LOCAL:
            raise Http404(NO_PASSWORDS)
        return super().dispatch(request, *arguments, **named)

    def get_context_data(self, **named: Any) -> dict[str, Any]:
        """Context: mode, is_set_up, sends_mail, provider_name, form, next."""
        context = super().get_context_data(**named)
        is_ready = settings.ACCOUNTS != LOCAL or is_set_up()
        words = {"sends_mail": settings.SENDS_MAIL, "provider_name": settings.OIDC_NAME}
        return context | {"mode": settings.ACCOUNTS, "is_set_up": is_ready, **words}


log_in = public(LogIn.as_view())
log_out = ruled(AccessRule(anyone=True, accounts=True))(views.LogoutView.as_view())


def locked_out(request: HttpRequest, _response: Any = None, _credentials: Any = None) -> HttpResponse:
    """429: the same answer whether the name exists or not."""
    answer = error_answer(request, HTTPStatus.TOO_MANY_REQUESTS, {"": [WAIT]})
    answer["Retry-After"] = str(int(settings.AXES_COOLOFF_TIME * 3600))
    return answer
