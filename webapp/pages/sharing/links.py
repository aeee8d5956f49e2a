"""Making and revoking links to a run or a comparison."""

import uuid
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from webapp.access.marks import needs
from webapp.comparisons.models import Comparison
from webapp.http.user_errors import error_answer, row_or_404, wants_json
from webapp.jobs import deletion
from webapp.pages.comparisons.page import comparison_or_404
from webapp.pages.runs.page import run_or_404
from webapp.projects.access import Role
from webapp.runs.models import Run
from webapp.sharing.models import ShareLink, make_link

LONGEST_QUERY = 8000


@needs(Role.EDITOR)
@require_safe
@never_cache
def links_of_run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The links of a run: a page of its own, and the part that the run's menu shows."""
    return _links_page(request, run_or_404(run_id))


@needs(Role.EDITOR)
@require_safe
@never_cache
def links_of_comparison(request: HttpRequest, comparison_id: uuid.UUID) -> HttpResponse:
    """The same for a comparison."""
    return _links_page(request, comparison_or_404(comparison_id))


@require_POST
@never_cache
def share_run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Make a link to a run; `query` is the view that it opens."""
    return _share(request, run_or_404(run_id))


@require_POST
@never_cache
def share_comparison(request: HttpRequest, comparison_id: uuid.UUID) -> HttpResponse:
    """The same for a comparison."""
    return _share(request, comparison_or_404(comparison_id))


@require_POST
def revoke(request: HttpRequest, link_id: uuid.UUID) -> HttpResponse:
    """Revoke a link: it opens nothing from now on."""
    link = row_or_404(ShareLink.objects.select_related("run", "comparison"), link_id, "link")
    deletion.delete(link)
    if wants_json(request):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return redirect(links_address(link.run or link.comparison))


def links_address(target: Run | Comparison | None) -> str:
    """The address of the page with the links of a run or a comparison."""
    if isinstance(target, Run):
        return reverse("sharing:of-run", args=[target.id])
    assert target is not None
    return reverse("sharing:of-comparison", args=[target.id])


def _share(request: HttpRequest, target: Run | Comparison) -> HttpResponse:
    view = request.POST.get("query", "").lstrip("?")
    if len(view) > LONGEST_QUERY:
        refusal = f"What is shown takes {len(view):,} characters of a link; allowed: {LONGEST_QUERY:,}."
        return error_answer(request, HTTPStatus.BAD_REQUEST, {"query": [refusal]})
    token = make_link(target)
    query = QueryDict(view).urlencode()
    address = request.build_absolute_uri(reverse("sharing:page", args=[token])) + (f"?{query}" if query else "")
    if wants_json(request):
        return JsonResponse({"url": address}, status=HTTPStatus.CREATED)
    return _links_page(request, target, address, HTTPStatus.CREATED)


def _links_page(
    request: HttpRequest, target: Run | Comparison, address: str = "", status: HTTPStatus = HTTPStatus.OK
) -> HttpResponse:
    """Context: target (a run or a comparison), kind, graph, project, new_link (shown this once, or empty)."""
    context = {
        "target": target,
        "kind": "run" if isinstance(target, Run) else "comparison",
        "graph": target.graph,
        "project": target.graph.project,
        "new_link": address,
    }
    return render(request, "sharing/links.html", context, status=status)
