"""Logging in through an OpenID provider: the way there, and the answer that a browser brings back."""

from collections.abc import Callable
from functools import wraps
from urllib.parse import urlsplit

import requests
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from webapp.access.marks import AccessRule, ruled
from webapp.accounts import audit
from webapp.accounts.open_id import PROVIDER, OpenIDClient
from webapp.accounts.provider_adapter import LogInRefusedError, failed
from webapp.accounts.visitor import NOBODY
from webapp.accounts_mode import OIDC
from webapp.http.handler import WAITING, in_threads
from webapp.http.user_errors import error_answer

BEGUN_FOR_SECONDS = 600
"""for which the provider's answer is waited for, and the session of somebody unknown is kept"""
NO_PROVIDER = "This installation does not log people in through a provider."

ProviderStep = Callable[[HttpRequest], HttpResponse]


def _with_own_errors(view: ProviderStep) -> ProviderStep:
    """`view` where there is a provider; what goes wrong there has a page of ours, and stands in the log."""

    @wraps(view)
    def answered(request: HttpRequest) -> HttpResponse:
        if settings.ACCOUNTS != OIDC:
            raise Http404(NO_PROVIDER)
        try:
            return view(request)
        except LogInRefusedError as error:
            return _refusal(request, error)
        except (OAuth2Error, requests.RequestException) as error:
            return _refusal(request, failed(error))

    return answered


def _refusal(request: HttpRequest, error: LogInRefusedError) -> HttpResponse:
    audit.note("log-in refused", request=request, visitor=NOBODY, username=error.username, words=str(error))
    return error_answer(request, error.status, {"": [str(error)]})


@ruled(AccessRule(anyone=True, accounts=True))
@in_threads(WAITING)
@never_cache
@require_POST
@_with_own_errors
def log_in(request: HttpRequest) -> HttpResponse:
    """A page that goes on to the provider: browsers let no form lead to another site, where the provider may be."""
    if not request.user.is_authenticated:
        request.session.set_expiry(BEGUN_FOR_SECONDS)
    way = get_adapter().get_provider(request, PROVIDER).redirect_from_request(request)
    context = {"address": way.url, "name": settings.OIDC_NAME, "host": urlsplit(way.url).hostname}
    return render(request, "accounts/to_provider.html", context)


@ruled(AccessRule(anyone=True, accounts=True))
@in_threads(WAITING)
@never_cache
@require_GET
@_with_own_errors
def answer(request: HttpRequest) -> HttpResponse:
    """Log in whom the provider has let in, and go to the page that they wanted."""
    response = OAuth2CallbackView.adapter_view(OpenIDClient(request, PROVIDER))(request)
    assert isinstance(response, HttpResponse)
    return response


app_name = "provider"
urlpatterns = [
    path("accounts/provider/", log_in, name="log-in"),
    path("accounts/provider/answer/", answer, name="answer"),
]
