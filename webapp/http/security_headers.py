"""Security headers: a page loads nothing from elsewhere, cannot be framed, and has no guessed content type."""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_SHARED = "/shared/"
_SECRET_HEADERS = {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}
"""of pages whose address is a secret, their errors included"""

Handler = Callable[[HttpRequest], HttpResponseBase] | Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def security_headers(get_response: Handler) -> Handler:
    """Set the headers on every answer."""
    if iscoroutinefunction(get_response):

        async def handle_async(request: HttpRequest) -> HttpResponseBase:
            return _with_headers(request, await get_response(request))

        return handle_async

    def handle(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        assert isinstance(response, HttpResponseBase)
        return _with_headers(request, response)

    return handle


def has_secret_address(request: HttpRequest) -> bool:
    """Whether the address is that of a secret link, or below one: its page leads nowhere else, errors included."""
    return request.path.startswith(_SHARED)


def _with_headers(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    secret = _SECRET_HEADERS if has_secret_address(request) else {}
    for name, value in {**_HEADERS, **secret}.items():
        response.headers.setdefault(name, value)
    return response
