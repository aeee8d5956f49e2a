"""What a secret link opens: one run or one comparison with its data, read-only, and nothing else.

The addresses below the link are those of the page itself: the same views answer, for the one row that the token names.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe

from engine import api
from webapp.access.marks import open_to_anyone
from webapp.comparisons.state import ComparisonEvents
from webapp.http.handler import DATA, in_threads
from webapp.jobs.stream import JobEvents, Source, read
from webapp.pages.comparisons.page import comparison_or_404, context_of
from webapp.pages.events import event_stream, events_page
from webapp.pages.explorer.views import BaseKind, base_of
from webapp.pages.runs.page import run_context, run_or_404
from webapp.runs.models import Run
from webapp.sharing.models import ShareLink, link_of

View: TypeAlias = Callable[..., HttpResponseBase]

NO_LINK = "This link does not open anything: it is incomplete, or it has been revoked, or what it showed was deleted."


def link_or_404(token: str) -> ShareLink:
    """The link; raises Http404 with a sentence."""
    link = link_of(token)
    if link is None:
        raise Http404(NO_LINK)
    return link


def of_run(view: View) -> View:
    """The view of a run's data, for the run of a link."""

    @open_to_anyone
    @wraps(view)
    def shared(request: HttpRequest, token: str, **more: Any) -> HttpResponseBase:
        link = link_or_404(token)
        if link.run_id is None or _names_another_row(request):
            raise Http404(NO_LINK)
        return view(request, run_id=link.run_id, **more)

    return shared


def _names_another_row(request: HttpRequest) -> bool:
    """Whether a placement by hand is made of a row beside the run, such as a kept placement."""
    base = base_of(request)
    return base is not None and base[0] not in (BaseKind.EVENT, BaseKind.SIMPLEST)


def of_graph(view: View) -> View:
    """The view of a graph's data, for the graph of the run of a link."""

    @open_to_anyone
    @wraps(view)
    def shared(request: HttpRequest, token: str, **more: Any) -> HttpResponseBase:
        link = link_or_404(token)
        if link.run is None:
            raise Http404(NO_LINK)
        return view(request, graph_id=link.run.graph_id, **more)

    return shared


def of_comparison(view: View) -> View:
    """The view of a comparison's data, for the comparison of a link."""

    @open_to_anyone
    @wraps(view)
    def shared(request: HttpRequest, token: str, **more: Any) -> HttpResponseBase:
        link = link_or_404(token)
        if link.comparison_id is None:
            raise Http404(NO_LINK)
        return view(request, comparison_id=link.comparison_id, **more)

    return shared


@open_to_anyone
@require_safe
@never_cache
def page(request: HttpRequest, token: str) -> HttpResponseBase:
    """The page of the run or the comparison, without what changes anything and without links to other pages."""
    link = link_or_404(token)
    if link.run_id is not None:
        context = run_context(run_or_404(link.run_id))
        context["run_json"] = _without_names(context["run_json"])
        template = "runs/detail.html"
    else:
        assert link.comparison_id is not None
        context = context_of(comparison_or_404(link.comparison_id))
        template = "comparisons/detail.html"
    return render(request, template, {**context, "is_shared": True})


@open_to_anyone
@in_threads(DATA)
@require_safe
def events_json(request: HttpRequest, token: str) -> HttpResponse:
    """A page of events."""
    return events_page(request, _source_of(token))


@open_to_anyone
@require_GET
async def stream(request: HttpRequest, token: str) -> HttpResponseBase:
    """The stream of events. It ends with the job, or soon after the link is revoked or expires."""
    return await event_stream(request, await read(_source_of, token), lambda: link_of(token) is not None)


def _source_of(token: str) -> Source:
    link = link_or_404(token)
    if link.run_id is not None:
        return JobEvents(Run, link.run_id, "run")
    assert link.comparison_id is not None
    return ComparisonEvents(link.comparison_id)


def _without_names(run_json: object) -> dict[str, api.Json]:
    """Without ids and addresses, which lead to other pages."""
    assert isinstance(run_json, dict)
    kept = {name: value for name, value in run_json.items() if name not in ("id", "urls")}
    return {**kept, "policy": kept["policy"] and {**kept["policy"], "id": None}}
