"""What a secret link opens: one run, comparison, graph or search for plans with its data, read-only, and nothing else.

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
from webapp.accounts.tokens import note_use
from webapp.comparisons.models import Comparison
from webapp.comparisons.state import ComparisonEvents
from webapp.graphs.models import Graph
from webapp.http.handler import DATA, in_threads
from webapp.jobs.stream import JobEvents, JobStages, Source, read
from webapp.pages.comparisons.page import comparison_or_404, context_of
from webapp.pages.events import event_stream, events_page
from webapp.pages.explorer.views import BaseKind, base_of
from webapp.pages.graphs.page import graph_context, graph_or_404
from webapp.pages.plans.page import context_of as context_of_search
from webapp.pages.plans.page import search_or_404
from webapp.pages.runs.page import run_context, run_or_404
from webapp.plans.models import PlanSearch
from webapp.runs.models import Run
from webapp.sharing.models import ShareLink, link_of

View: TypeAlias = Callable[..., HttpResponseBase]

NO_LINK = "This link does not open anything: it is incomplete, it has expired or was revoked, or its page was deleted."


def link_or_404(token: str) -> ShareLink:
    """The link; raises Http404 with a sentence."""
    link = link_of(token)
    if link is None:
        raise Http404(NO_LINK)
    return link


def ids_of(link: ShareLink) -> dict[str, Any]:
    """The ids of what it shows, by their names in addresses: of a run also that of its graph."""
    match link.target:
        case Run() as run:
            return {"run_id": run.id, "graph_id": run.graph_id}
        case Comparison() as comparison:
            return {"comparison_id": comparison.id}
        case Graph() as graph:
            return {"graph_id": graph.id}
        case PlanSearch() as search:
            return {"search_id": search.id}


def below(**views: View) -> View:
    """The view of a link's data: of `views`, id → view, the first one whose id the link has."""

    @open_to_anyone
    @wraps(next(iter(views.values())))
    def shared(request: HttpRequest, token: str, **more: Any) -> HttpResponseBase:
        ids = ids_of(link_or_404(token))
        name = next((name for name in views if name in ids), None)
        if name is None or _names_another_row(request):
            raise Http404(NO_LINK)
        return views[name](request, **{name: ids[name]}, **more)

    return shared


def _names_another_row(request: HttpRequest) -> bool:
    """Whether a placement by hand is made of a row beside the run, such as a kept placement."""
    base = base_of(request)
    return base is not None and base[0] not in (BaseKind.EVENT, BaseKind.SIMPLEST)


@open_to_anyone
@require_safe
@never_cache
def page(request: HttpRequest, token: str) -> HttpResponseBase:
    """The page, without what changes anything and without links to other pages."""
    link = link_or_404(token)
    note_use(link)
    template, context = _page_of(request, link)
    return render(request, template, {**context, "is_shared": True})


def _page_of(request: HttpRequest, link: ShareLink) -> tuple[str, dict[str, Any]]:
    """Template and context of what the link shows. Raises Http404."""
    match link.target:
        case Run(id=row_id):
            context = run_context(run_or_404(row_id))
            return "runs/detail.html", {**context, "run_json": _without_names(context["run_json"])}
        case Comparison(id=row_id):
            return "comparisons/detail.html", context_of(comparison_or_404(row_id))
        case Graph(id=row_id):
            return "graphs/detail.html", graph_context(request, graph_or_404(row_id))
        case PlanSearch(id=row_id):
            return "plans/detail.html", context_of_search(search_or_404(row_id))


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
    match link_or_404(token).target:
        case Run(id=row_id):
            return JobEvents(Run, row_id, "run")
        case Comparison(id=row_id):
            return ComparisonEvents(row_id)
        case Graph(id=row_id):
            return JobStages(Graph, row_id, "graph")
        case PlanSearch(id=row_id):
            return JobEvents(PlanSearch, row_id, "search for plans")


def _without_names(run_json: object) -> dict[str, api.Json]:
    """Without ids and addresses, which lead to other pages."""
    assert isinstance(run_json, dict)
    kept = {name: value for name, value in run_json.items() if name not in ("id", "urls")}
    return {**kept, "policy": kept["policy"] and {**kept["policy"], "id": None}}
