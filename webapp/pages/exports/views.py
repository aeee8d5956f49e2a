"""Exports of a run, as files."""

import uuid

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from webapp.access.marks import needs
from webapp.http.handler import EXPLAINING, WAITING, in_threads
from webapp.pages.exports.placements import OF_PLACEMENT, shown_placement
from webapp.pages.exports.run_file import run_file
from webapp.pages.exports.tables import OF_RUN
from webapp.pages.runs.downloads import attachment
from webapp.pages.runs.page import run_or_404
from webapp.projects.access import Role

NO_SUCH_EXPORT = "There is no such file of a run."


@needs(Role.VIEWER)
@in_threads(EXPLAINING)
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def of_placement(request: HttpRequest, run_id: uuid.UUID, name: str) -> HttpResponse | StreamingHttpResponse:
    """The file `name` of a placement: see `shown_placement`."""
    run = run_or_404(run_id)
    if name not in OF_PLACEMENT:
        raise Http404(NO_SUCH_EXPORT)
    content_type, make = OF_PLACEMENT[name]
    return attachment(run.graph, name, content_type, sent(make(shown_placement(request, run))))


@in_threads(WAITING)
@require_safe
@never_cache
def of_run(_request: HttpRequest, run_id: uuid.UUID, name: str) -> HttpResponse | StreamingHttpResponse:
    """The file `name` of the whole run."""
    run = run_or_404(run_id)
    if name not in OF_RUN:
        raise Http404(NO_SUCH_EXPORT)
    content_type, make = OF_RUN[name]
    return attachment(run.graph, name, content_type, sent(make(run)))


@in_threads(EXPLAINING)
@require_safe
@never_cache
def html_file(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse | StreamingHttpResponse:
    """The run as one file that opens without a server."""
    run = run_or_404(run_id)
    return attachment(run.graph, "run.html", "application/octet-stream", sent(run_file(request, run)))


def sent(text: str) -> bytes:
    """In UTF-8; half characters become `?`."""
    return text.encode("utf-8", "replace")
