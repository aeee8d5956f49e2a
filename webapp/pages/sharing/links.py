"""Making and revoking links to a run, a comparison, a graph or a search for plans."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from webapp.access.marks import needs
from webapp.form_errors import form_errors
from webapp.http.user_errors import error_answer, row_or_404, wants_json
from webapp.jobs import deletion
from webapp.pages.comparisons.page import comparison_or_404
from webapp.pages.graphs.page import graph_or_404
from webapp.pages.plans.page import search_or_404
from webapp.pages.runs.page import run_or_404
from webapp.projects.access import Role
from webapp.sharing.models import COLUMNS, Shared, ShareLink, make_link

LONGEST_QUERY = 8000
NEVER = "never"
LIFETIMES = (("7", "7 days"), ("30", "30 days"), ("365", "a year"), (NEVER, "until it is revoked"))
USUAL_DAYS = "30"


class LinkForm(forms.Form):
    """A new link."""

    query = forms.CharField(required=False, strip=False)
    """the view that it opens"""
    days = forms.ChoiceField(choices=LIFETIMES, required=False, initial=USUAL_DAYS)
    """after which it opens nothing; without a value the usual ones"""

    def clean_query(self) -> str:
        """Without the question mark, and not too long for an address."""
        query: str = self.cleaned_data["query"].lstrip("?")
        if len(query) > LONGEST_QUERY:
            raise forms.ValidationError(
                f"What is shown takes {len(query):,} characters of a link; allowed: {LONGEST_QUERY:,}."
            )
        return query


@dataclass(frozen=True, slots=True)
class LinkKind:
    """What links can show."""

    name: str
    """in addresses' names, as the column: `run`"""
    address: str
    """the folder of its pages: `runs`"""
    key: str
    """the name of its id in addresses"""
    found: Callable[[uuid.UUID], Shared]
    """its row; raises Http404"""

    def paths(self) -> list[URLPattern]:
        """The addresses of its links: the page with them, which is also the part that its menu shows; and a new one."""

        @needs(Role.EDITOR)
        @require_safe
        @never_cache
        def links(request: HttpRequest, **ids: uuid.UUID) -> HttpResponse:
            return _links_page(request, self.found(ids[self.key]))

        @require_POST
        @never_cache
        def share(request: HttpRequest, **ids: uuid.UUID) -> HttpResponse:
            return _share(request, self.found(ids[self.key]))

        at = f"{self.address}/<uuid:{self.key}>/links/"
        return [path(at, links, name=f"of-{self.name}"), path(f"{at}new", share, name=f"share-{self.name}")]


KINDS = (
    LinkKind("run", "runs", "run_id", run_or_404),
    LinkKind("comparison", "comparisons", "comparison_id", comparison_or_404),
    LinkKind("graph", "graphs", "graph_id", graph_or_404),
    LinkKind("search", "plans", "search_id", search_or_404),
)


@require_POST
def revoke(request: HttpRequest, link_id: uuid.UUID) -> HttpResponse:
    """Revoke a link: it opens nothing from now on."""
    link = row_or_404(ShareLink.objects.select_related(*COLUMNS.values()), link_id, "link")
    deletion.delete(link)
    if wants_json(request):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return redirect(links_address(link.target))


def links_address(target: Shared) -> str:
    """The address of the page with the links of `target`."""
    return reverse(f"sharing:of-{COLUMNS[type(target)]}", args=[target.id])


def _share(request: HttpRequest, target: Shared) -> HttpResponse:
    form = LinkForm(request.POST)
    if not form.is_valid():
        return error_answer(request, HTTPStatus.BAD_REQUEST, form_errors(form))
    address = new_link(request, target, **form.cleaned_data)
    if wants_json(request):
        return JsonResponse({"url": address}, status=HTTPStatus.CREATED)
    return _links_page(request, target, address, HTTPStatus.CREATED)


def new_link(request: HttpRequest, target: Shared, query: str, days: str) -> str:
    """The address of a new link that opens the view `query` for so many `days`, or the usual ones if it is empty."""
    ends = None if days == NEVER else timezone.now() + timedelta(days=int(days or USUAL_DAYS))
    token, shown = make_link(target, ends), QueryDict(query).urlencode()
    return request.build_absolute_uri(reverse("sharing:page", args=[token])) + (f"?{shown}" if shown else "")


def _links_page(
    request: HttpRequest, target: Shared, address: str = "", status: HTTPStatus = HTTPStatus.OK
) -> HttpResponse:
    """Context: target, kind, new_link (shown this once, or empty)."""
    context: dict[str, Any] = {"target": target, "kind": COLUMNS[type(target)], "new_link": address}
    return render(request, "sharing/links.html", context, status=status)
