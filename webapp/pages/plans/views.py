"""Searches for plans: form, start, page, report, opening a replica, cancel, rename, delete."""

import json
import uuid
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.access.marks import needs
from webapp.capacity import a_slot_to_explain
from webapp.form_errors import form_errors
from webapp.graphs.models import Graph
from webapp.http.handler import WAITING, in_threads
from webapp.http.user_errors import conflict, error_answer, refused_form
from webapp.jobs import deletion
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.pages.deleting import deletion_page
from webapp.pages.graphs.page import graph_or_404
from webapp.pages.plans.page import context_of, report_of, search_or_404
from webapp.pages.renaming import rename as rename_row
from webapp.plans import lifecycle
from webapp.plans.forms import PlanForm, first_values_of_search
from webapp.plans.models import PlanSearch
from webapp.plans.opening import NO_PLAN, run_of_replica
from webapp.projects.access import Role
from webapp.runs import first_values

KEPT_FIELDS = ("cluster", "drop_devices", "pipeline", "contiguous", "recompute")
"""that the form of a run gives this form in its address"""
NOTE = "Its plans go with it; runs that show replicas stay."


@needs(Role.EDITOR)
@in_threads(WAITING)
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """The form; a valid one starts a search."""
    graph = graph_or_404(graph_id)
    if request.method != "POST":
        return _form_page(request, graph, PlanForm(initial=_first_values(request, graph), graph=graph))
    form = PlanForm(request.POST, graph=graph)
    if form.is_valid():
        return redirect("plans:detail", search_id=lifecycle.start(graph, form.second_row, form.request).id)
    return refused_form(request, form, partial(_form_page, request, graph, form))


def _first_values(request: HttpRequest, graph: Graph) -> dict[str, Any]:
    """The first values of the form: those of the search that the address names, or else the devices used last; and then
    what the address gives itself, as the form of a run sends it.
    """
    search = _search_in_address(request, graph)
    initial = first_values.of_project(graph.project) if search is None else first_values_of_search(search)
    return initial | {name: request.GET[name] for name in KEPT_FIELDS if request.GET.get(name)}


def _search_in_address(request: HttpRequest, graph: Graph) -> PlanSearch | None:
    try:
        search_id = uuid.UUID(request.GET.get("search", ""))
    except ValueError:
        return None
    return PlanSearch.objects.filter(graph=graph, id=search_id).first()


def _form_page(request: HttpRequest, graph: Graph, form: PlanForm, status: HTTPStatus = HTTPStatus.OK) -> HttpResponse:
    """Context: graph, project, form."""
    context = {"graph": graph, "project": graph.project, "form": form}
    return render(request, "plans/form.html", context, status=status)


@require_safe
@never_cache
def detail(request: HttpRequest, search_id: uuid.UUID) -> HttpResponse:
    """The page; a script updates it while the search works."""
    return render(request, "plans/detail.html", context_of(search_or_404(search_id)))


@require_safe
@never_cache
def report(request: HttpRequest, search_id: uuid.UUID) -> HttpResponse:
    """The report of `python -m engine plan`. Raises Http404 until there is one."""
    search = search_or_404(search_id)
    found = report_of(search)
    if found is None:
        raise Http404("This search has no report yet.")
    stem = slugify(Path(search.graph.name).stem)[:60] or "graph"
    headers = {"Content-Disposition": f'attachment; filename="{stem}-plan.json"'}
    return HttpResponse(json.dumps(found, indent=1), content_type="application/json", headers=headers)


class ReplicaForm(forms.Form):
    """A replica of a plan."""

    plan = forms.CharField(max_length=64)
    replica = forms.IntegerField(min_value=0)


@in_threads(WAITING)
@require_POST
def open_replica(request: HttpRequest, search_id: uuid.UUID) -> HttpResponse:
    """Open the replica `replica` of the plan `plan` in the explorer: the page of a run that shows it."""
    search = search_or_404(search_id)
    form = ReplicaForm(request.POST)
    if not form.is_valid():
        return error_answer(request, HTTPStatus.BAD_REQUEST, form_errors(form))
    if report_of(search) is None:
        raise Http404(NO_PLAN)
    with a_slot_to_explain():
        run = run_of_replica(search, form.cleaned_data["plan"], form.cleaned_data["replica"])
    return redirect("runs:detail", run_id=run.id)


@require_POST
def cancel(request: HttpRequest, search_id: uuid.UUID) -> HttpResponse:
    """Cancel it; the plans found so far are kept."""
    search = search_or_404(search_id)
    page = redirect("plans:detail", search_id=search_id)
    return page if cancel_job(search) else conflict(request, "This search had already ended.", page)


@require_POST
def rename(request: HttpRequest, search_id: uuid.UUID) -> HttpResponse:
    """Give it another name, or none."""
    page = redirect("plans:detail", search_id=search_id)
    return rename_row(request, search_or_404(search_id), page, may_be_empty=True)


@needs(Role.EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, search_id: uuid.UUID) -> HttpResponse:
    """Ask; a POST deletes it; a worker notices and stops."""
    search = search_or_404(search_id)
    if request.method != "POST":
        back = reverse("plans:detail", args=[search_id])
        return deletion_page(request, search, str(search), back, NOTE, search.event_bytes)
    deletion.delete(search)
    return redirect("graphs:detail", graph_id=search.graph_id)
