"""Who may call the API: without accounts everybody on this machine, but no page of another site."""

from http import HTTPStatus
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from webapp.api.refusals import RefusedError

SAFE = ("GET", "HEAD", "OPTIONS")
OWN_SITES = ("same-origin", "none")
"""values of Sec-Fetch-Site of requests that no other site has made a browser send"""
OTHER_SITE = "A page of another site has sent this request; allowed: scripts, and pages of this server."


def require_own_site(request: HttpRequest) -> bool:
    """Raise RefusedError for a request that changes something and that a browser marks as another site's."""
    if request.method not in SAFE and _is_of_other_site(request):
        raise RefusedError(HTTPStatus.FORBIDDEN, {"": [OTHER_SITE]})
    return True


def _is_of_other_site(request: HttpRequest) -> bool:
    if request.headers.get("Sec-Fetch-Site", "none") not in OWN_SITES:
        return True
    origin = request.headers.get("Origin")
    return origin is not None and origin not in settings.CSRF_TRUSTED_ORIGINS and not _is_own(request, origin)


def _is_own(request: HttpRequest, origin: str) -> bool:
    own = f"{request.scheme}://{request.get_host()}"
    try:
        return urlsplit(origin)[:2] == urlsplit(own)[:2]
    except ValueError:
        return False
