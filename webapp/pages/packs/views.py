"""Packs as files: kept by the browser for as long as their address has the digest of what they hold."""

from functools import lru_cache

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from webapp.access.marks import open_to_anyone
from webapp.pages.compressed import answer_of, compressed, takes_gzip
from webapp.pages.packs.packs import digest_of, script_of, sheets_of, style_of

FOR_EVER = "public, max-age=31536000, immutable"
CHECKED = "no-cache"
"""of an address without the digest of today's content, as from a page that an older version has made"""


@open_to_anyone
@require_safe
def script(request: HttpRequest, entry: str) -> HttpResponse:
    """The modules that a page's own module needs, and itself."""
    try:
        text = script_of(f"{entry}.js")
    except LookupError as error:
        raise Http404(str(error)) from None
    return _answer(request, text, "text/javascript; charset=utf-8")


@open_to_anyone
@require_safe
def styles(request: HttpRequest, names: str) -> HttpResponse:
    """Style sheets one after the other."""
    try:
        text = style_of(sheets_of(names))
    except LookupError as error:
        raise Http404(str(error)) from None
    return _answer(request, text, "text/css; charset=utf-8")


def _answer(request: HttpRequest, text: str, content_type: str) -> HttpResponse:
    content = _compressed(text) if takes_gzip(request) else text.encode()
    response = answer_of(content, content_type)
    response["Cache-Control"] = FOR_EVER if request.GET.get("v") == digest_of(text) else CHECKED
    return response


_compressed = lru_cache(maxsize=64)(lambda text: compressed(text.encode()))
